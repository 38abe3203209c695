//! Limits and requests of containers as numbers in a unit, for variables and files.

use k8s_openapi::api::core::v1::{PodSpec, ResourceFieldSelector, ResourceRequirements};

use super::{Error, containers};
use crate::quantity::{List, counted, thousandths, units};

/// What can be asked for beside huge pages.
const KNOWN: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// The amount that is selected, in units of the divisor, rounded up. `own` is the container that asks.
pub fn value(
    spec: &PodSpec,
    selector: &ResourceFieldSelector,
    own: &str,
    allocatable: &List,
) -> Result<String, Error> {
    let name = selector.container_name.as_deref().filter(|name| !name.is_empty()).unwrap_or(own);
    let container = containers(spec).find(|container| container.name == name);
    let container = container.ok_or_else(|| Error::NoContainer(name.to_owned()))?;
    let (kind, resource) = selector.resource.split_once('.').unwrap_or_default();
    if !KNOWN.contains(&resource) && !resource.starts_with("hugepages-") {
        return Err(Error::Resource(selector.resource.clone()));
    }
    let given = container.resources.as_ref();
    let amount = match kind {
        "limits" => limit(spec, given, resource, allocatable),
        "requests" => counted(given.and_then(|given| given.requests.as_ref()), resource),
        _ => return Err(Error::Resource(selector.resource.clone())),
    };
    Ok(amount.div_ceil(divisor(selector, resource)).to_string())
}

/// The container's, or what else holds it in: the Pod's limit, or the size of the node.
fn limit(spec: &PodSpec, given: Option<&ResourceRequirements>, resource: &str, allocatable: &List) -> u64 {
    let own = counted(given.and_then(|given| given.limits.as_ref()), resource);
    let of_pod = spec.resources.as_ref().and_then(|resources| resources.limits.as_ref());
    let of_pod = of_pod.filter(|_| resource == "cpu" || resource == "memory");
    let choices = [own, counted(of_pod, resource), counted(Some(allocatable), resource)];
    choices.into_iter().find(|amount| *amount > 0).unwrap_or_default()
}

fn divisor(selector: &ResourceFieldSelector, resource: &str) -> u64 {
    let count = if resource == "cpu" { thousandths } else { units };
    let given = selector.divisor.as_ref().map_or(0, count);
    let one = if resource == "cpu" { 1000 } else { 1 };
    if given == 0 { one } else { given }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn amount(spec: Value, selector: Value) -> Result<String, Error> {
        let allocatable =
            serde_json::from_value(json!({"cpu": "4", "memory": "8Gi", "ephemeral-storage": "9"}));
        let (spec, selector) = (serde_json::from_value(spec), serde_json::from_value(selector));
        value(&spec.unwrap(), &selector.unwrap(), "c", &allocatable.unwrap())
    }

    fn spec() -> Value {
        let resources = json!({"limits": {"cpu": "1500m", "memory": "1Gi"}, "requests": {"memory": "100M"}});
        json!({"containers": [{"name": "c", "resources": resources}, {"name": "d"}]})
    }

    #[test]
    fn amounts_are_rounded_up_to_the_divisor() {
        for (selector, expected) in [
            (json!({"resource": "limits.cpu"}), "2"),
            (json!({"resource": "limits.cpu", "divisor": "1m"}), "1500"),
            (json!({"resource": "limits.memory"}), "1073741824"),
            (json!({"resource": "limits.memory", "divisor": "1Mi"}), "1024"),
            (json!({"resource": "requests.memory", "divisor": "1Mi"}), "96"),
            (json!({"resource": "requests.cpu", "divisor": "0"}), "0"),
        ] {
            assert_eq!(amount(spec(), selector.clone()).unwrap(), expected, "{selector}");
        }
    }

    #[test]
    fn without_a_limit_the_pods_counts_and_else_the_nodes() {
        let of = |resource: &str| json!({"resource": resource, "containerName": "d"});
        assert_eq!(amount(spec(), of("limits.cpu")).unwrap(), "4");
        assert_eq!(amount(spec(), of("limits.ephemeral-storage")).unwrap(), "9");
        let mut limited = spec();
        limited["resources"] = json!({"limits": {"cpu": "3"}});
        assert_eq!(amount(limited, of("limits.cpu")).unwrap(), "3");
    }

    #[test]
    fn other_resources_and_containers_are_refused() {
        let message = |selector: Value| amount(spec(), selector).unwrap_err().to_string();
        assert_eq!(message(json!({"resource": "limits.gpu"})), "unsupported container resource : limits.gpu");
        assert_eq!(message(json!({"resource": "wishes.cpu"})), "unsupported container resource : wishes.cpu");
        assert_eq!(message(json!({"resource": "limits.cpu", "containerName": "x"})), "container x not found");
    }
}
