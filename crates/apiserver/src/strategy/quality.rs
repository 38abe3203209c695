//! The quality of service of a Pod: what is taken from it first when a node runs out of memory.

use std::collections::BTreeMap;

use asb_types::quantity::Quantity;
use serde_json::Value;

/// Resources that count.
const COUNTED: [&str; 2] = ["cpu", "memory"];

type Amounts = BTreeMap<&'static str, Quantity>;

/// `Guaranteed` when every container is limited to what it requests, `BestEffort` when none asks for anything.
pub(super) fn class(pod: &Value) -> &'static str {
    let spec = &pod["spec"];
    let (mut requests, mut limits) = (Amounts::new(), Amounts::new());
    let is_limited = if spec["resources"].is_object() {
        count(&mut requests, &spec["resources"]["requests"]);
        let limited = count(&mut limits, &spec["resources"]["limits"]);
        limited == 0 || limited == COUNTED.len()
    } else {
        let lists = [&spec["containers"], &spec["initContainers"]];
        let containers = lists.into_iter().flat_map(|list| list.as_array().into_iter().flatten());
        // Every container is counted, whether or not one before it is unlimited.
        containers.fold(true, |is_limited, container| {
            count(&mut requests, &container["resources"]["requests"]);
            (count(&mut limits, &container["resources"]["limits"]) == COUNTED.len()) && is_limited
        })
    };
    if requests.is_empty() && limits.is_empty() {
        "BestEffort"
    } else if is_limited && requests == limits {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// Adds up the resources that count, and says how many of them there are.
fn count(total: &mut Amounts, list: &Value) -> usize {
    let positive = |name: &str| Quantity::read(&list[name]).filter(Quantity::is_positive);
    let found = COUNTED.into_iter().filter_map(|name| Some((name, positive(name)?)));
    found
        .map(|(name, amount)| {
            let sum = total.get(name).map_or_else(|| amount.clone(), |sum| sum.plus(&amount));
            total.insert(name, sum);
        })
        .count()
}
