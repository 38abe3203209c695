//! The address families of Services in a cluster that has IPv4 only.

use serde_json::{Value, json};

use super::service::family;
use crate::field;
use crate::pointer::{list, said, set, text};

/// Fills in the policy and the families, and refuses what this cluster cannot do.
pub(super) fn settle(service: &mut Value, old: Option<&Value>) -> Result<(), Vec<field::Error>> {
    if text(service, "/spec/type") == "ExternalName" || old.is_some_and(|old| prefers_the_same(service, old))
    {
        return Ok(());
    }
    if said(service, "/spec/ipFamilyPolicy").is_none() {
        let policy = default_policy(service, old);
        set(service, "/spec/ipFamilyPolicy", policy);
    }
    if !are_in_order(service) {
        return Ok(());
    }
    if let Some(old) = old {
        release(service, old)?;
    }
    check_single(service)?;
    add_families_of_addresses(service)?;
    if is_headless_without_selector(service) {
        fill_both(service);
        return Ok(());
    }
    check_configured(service)?;
    if list(service, "/spec/ipFamilies").is_empty() {
        set(service, "/spec/ipFamilies", json!(["IPv4"]));
    }
    Ok(())
}

/// Whether addresses, families and policy make sense together. What does not is refused by validation, in its words.
pub(super) fn are_in_order(service: &Value) -> bool {
    let (address, addresses) = (text(service, "/spec/clusterIP"), list(service, "/spec/clusterIPs"));
    let families = list(service, "/spec/ipFamilies");
    let agrees = addresses.first().and_then(Value::as_str).unwrap_or_default() == address;
    let is_headless = addresses.len() == 1 && addresses[0] == "None";
    let of = |address: &Value| family(address.as_str().unwrap_or_default());
    let are_addresses = addresses.iter().all(|address| !of(address).is_empty());
    let are_apart = addresses.len() < 2 || (addresses.len() == 2 && of(&addresses[0]) != of(&addresses[1]));
    let match_families = addresses.iter().zip(families).all(|(address, family)| *family == of(address));
    let are_families = match families {
        [] => true,
        [one] => is_family(one),
        [one, other] => is_family(one) && is_family(other) && one != other,
        _ => false,
    };
    let is_policy = matches!(policy(service), "SingleStack" | "PreferDualStack" | "RequireDualStack");
    agrees && are_families && is_policy && (is_headless || (are_addresses && are_apart && match_families))
}

fn is_family(value: &Value) -> bool {
    *value == "IPv4" || *value == "IPv6"
}

fn policy(service: &Value) -> &str {
    text(service, "/spec/ipFamilyPolicy")
}

/// Somebody else finds the endpoints of a headless Service without selector, and they may have both families.
fn is_headless_without_selector(service: &Value) -> bool {
    let selects = service["spec"]["selector"].as_object().is_some_and(|selector| !selector.is_empty());
    text(service, "/spec/clusterIP") == "None" && !selects
}

fn default_policy(service: &Value, old: Option<&Value>) -> Value {
    let before = old.and_then(|old| said(old, "/spec/ipFamilyPolicy")).cloned();
    let default = if is_headless_without_selector(service) { "RequireDualStack" } else { "SingleStack" };
    before.unwrap_or_else(|| default.into())
}

/// An update that prefers both families and changes nothing about it stays with what it got.
fn prefers_the_same(new: &Value, old: &Value) -> bool {
    let is_prefer = |service: &Value| policy(service) == "PreferDualStack";
    let fields = ["type", "clusterIPs", "ipFamilies"];
    let is_known = matches!(text(new, "/spec/type"), "ClusterIP" | "NodePort" | "LoadBalancer");
    is_known
        && is_prefer(new)
        && is_prefer(old)
        && fields.iter().all(|field| new["spec"][field] == old["spec"][field])
}

/// Going back to one family gives up the second; nothing else does.
fn release(service: &mut Value, old: &Value) -> Result<(), Vec<field::Error>> {
    let parts = [("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")];
    let mut errors = Vec::new();
    for (field, what) in parts {
        let at = format!("/spec/{field}");
        let (now, before) = (list(service, &at).to_vec(), list(old, &at));
        if policy(service) == "SingleStack" {
            if now.len() > 1 && now == before {
                set(service, &at, json!([now[0]]));
            }
        } else if !now.is_empty() && now.len() < before.len() {
            errors.push(refused(service, &format!("must be 'SingleStack' to release the secondary {what}")));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn refused(service: &Value, detail: &str) -> field::Error {
    field::Error::invalid("spec.ipFamilyPolicy", policy(service), detail)
}

fn check_single(service: &Value) -> Result<(), Vec<field::Error>> {
    let parts = [("/spec/clusterIPs", "cluster IPs"), ("/spec/ipFamilies", "IP families")];
    let two =
        parts.into_iter().filter(|(at, _)| policy(service) == "SingleStack" && list(service, at).len() == 2);
    let errors: Vec<_> = two
        .map(|(_, what)| {
            format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified")
        })
        .map(|detail| refused(service, &detail))
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn add_families_of_addresses(service: &mut Value) -> Result<(), Vec<field::Error>> {
    let addresses = list(service, "/spec/clusterIPs").to_vec();
    let mut families = list(service, "/spec/ipFamilies").to_vec();
    let mut errors = Vec::new();
    for (index, address) in addresses.iter().enumerate().skip(families.len()) {
        match family(address.as_str().unwrap_or_default()) {
            "IPv4" => families.push("IPv4".into()),
            "IPv6" => errors.push(field::Error::invalid(
                format!("spec.clusterIPs[{index}]"),
                Value::from(addresses.clone()),
                "IPv6 is not configured on this cluster",
            )),
            _ => break,
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    if !families.is_empty() {
        set(service, "/spec/ipFamilies", families);
    }
    Ok(())
}

fn fill_both(service: &mut Value) {
    let mut families = list(service, "/spec/ipFamilies").to_vec();
    if families.is_empty() {
        families.push("IPv4".into());
    }
    if families.len() == 1 && policy(service) != "SingleStack" {
        families.push(if families[0] == "IPv4" { "IPv6".into() } else { "IPv4".into() });
    }
    set(service, "/spec/ipFamilies", families);
}

fn check_configured(service: &Value) -> Result<(), Vec<field::Error>> {
    let mut errors = Vec::new();
    if policy(service) == "RequireDualStack" {
        errors.push(refused(service, "this cluster is not configured for dual-stack services"));
    }
    for (index, family) in list(service, "/spec/ipFamilies").iter().enumerate() {
        if *family != "IPv4" {
            let place = format!("spec.ipFamilies[{index}]");
            errors.push(field::Error::invalid(place, family.clone(), "not configured on this cluster"));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}
