//! Volumes that a claim brings, beside the template's or instead of them, as far as the template lets it.

use asb_types::blueprint::VolumeClaimTemplatesPolicy;
use serde_json::Value;

use super::problem::Problem;

/// The volumeClaimTemplates of the claim's Sandbox.
pub(super) fn merge(
    template: &[Value],
    claim: &[Value],
    policy: VolumeClaimTemplatesPolicy,
) -> Result<Vec<Value>, Problem> {
    validate(template)?;
    if claim.is_empty() {
        return Ok(template.to_vec());
    }
    validate(claim)?;
    if policy == VolumeClaimTemplatesPolicy::Disallowed {
        return Err(Problem::Volumes("volume claim templates are disallowed by the template".to_owned()));
    }
    let mut merged = template.to_vec();
    for volume in claim {
        match merged.iter_mut().find(|known| name(known) == name(volume)) {
            None => merged.push(volume.clone()),
            Some(known) if policy == VolumeClaimTemplatesPolicy::Overrides => *known = volume.clone(),
            Some(_) => {
                return Err(Problem::Volumes(format!(
                    "overriding volume claim templates is forbidden by the template: cannot override template volume {:?}",
                    name(volume)
                )));
            }
        }
    }
    Ok(merged)
}

fn validate(volumes: &[Value]) -> Result<(), Problem> {
    let invalid = |why| Err(Problem::Volumes(format!("invalid volume claim templates: {why}")));
    for (place, volume) in volumes.iter().enumerate() {
        if name(volume).is_empty() {
            return invalid(format!("the one at {place} has no name"));
        }
        if volumes[..place].iter().any(|before| name(before) == name(volume)) {
            return invalid(format!("the name {:?} is there twice", name(volume)));
        }
    }
    Ok(())
}

fn name(volume: &Value) -> &str {
    volume["metadata"]["name"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use VolumeClaimTemplatesPolicy::{Allowed, Disallowed, Overrides};
    use serde_json::json;

    use super::*;

    fn volumes(names: &[&str], size: &str) -> Vec<Value> {
        names.iter().map(|name| json!({"metadata": {"name": name}, "spec": {"size": size}})).collect()
    }

    fn merged(claim: &[&str], policy: VolumeClaimTemplatesPolicy) -> Result<Vec<String>, String> {
        let merged = merge(&volumes(&["a", "b"], "old"), &volumes(claim, "new"), policy);
        let show = |volume: &Value| format!("{} {}", name(volume), volume["spec"]["size"].as_str().unwrap());
        match merged {
            Ok(volumes) => Ok(volumes.iter().map(show).collect()),
            Err(Problem::Volumes(message)) => Err(message),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_claim_adds_volumes_or_replaces_them_in_their_place() {
        let texts = |texts: &[&str]| Ok(texts.iter().map(|text| (*text).to_owned()).collect());
        assert_eq!(merged(&[], Disallowed), texts(&["a old", "b old"]));
        assert_eq!(merged(&["c"], Allowed), texts(&["a old", "b old", "c new"]));
        assert_eq!(merged(&["d", "a", "c"], Overrides), texts(&["a new", "b old", "d new", "c new"]));
    }

    #[test]
    fn what_the_template_does_not_allow_is_refused_in_these_words() {
        let refusals = [
            (vec!["c"], Disallowed, "volume claim templates are disallowed by the template"),
            (
                vec!["a"],
                Allowed,
                "overriding volume claim templates is forbidden by the template: cannot override template volume \"a\"",
            ),
            (vec![""], Overrides, "invalid volume claim templates: the one at 0 has no name"),
            (vec!["c", "c"], Overrides, "invalid volume claim templates: the name \"c\" is there twice"),
        ];
        for (claim, policy, message) in refusals {
            assert_eq!(merged(&claim, policy), Err(message.to_owned()));
        }
    }

    #[test]
    fn the_volumes_of_the_template_are_checked_even_if_the_claim_has_none() {
        assert!(merge(&volumes(&["a", "a"], ""), &[], Disallowed).is_err());
    }
}
