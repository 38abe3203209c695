//! Environment variables that a claim adds to the containers of its Sandbox, as far as the template lets it.

use asb_types::env::{ClaimEnvVar, EnvVarsInjectionPolicy};
use serde_json::{Value, json};

use super::problem::Problem;

/// Adds the variables to a Pod's spec.
pub(super) fn inject(
    pod: &mut Value,
    variables: &[ClaimEnvVar],
    policy: EnvVarsInjectionPolicy,
) -> Result<(), Problem> {
    if variables.is_empty() {
        return Ok(());
    }
    if policy == EnvVarsInjectionPolicy::Disallowed {
        return Err(rejected("environment variable injection is not allowed by the template policy"));
    }
    let first = first_container(pod);
    for variable in in_order(variables) {
        let name = if variable.container_name.is_empty() { &first } else { &variable.container_name };
        let container = container(pod, name).ok_or_else(|| unknown_container(name, variable))?;
        set(container, variable, policy)?;
    }
    Ok(())
}

/// Those that name their container come first, whatever container the others turn out to be for.
fn in_order(variables: &[ClaimEnvVar]) -> impl Iterator<Item = &ClaimEnvVar> {
    let (addressed, others): (Vec<_>, Vec<_>) =
        variables.iter().partition(|variable| !variable.container_name.is_empty());
    addressed.into_iter().chain(others)
}

fn first_container(pod: &Value) -> String {
    pod["containers"][0]["name"].as_str().unwrap_or_default().to_owned()
}

fn container<'a>(pod: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    let pod = pod.as_object_mut()?;
    let lists =
        pod.iter_mut().filter(|(field, _)| ["containers", "initContainers"].contains(&field.as_str()));
    let mut containers = lists.filter_map(|(_, list)| list.as_array_mut()).flatten();
    containers.find(|container| container["name"] == name)
}

fn set(container: &mut Value, variable: &ClaimEnvVar, policy: EnvVarsInjectionPolicy) -> Result<(), Problem> {
    let may_override = policy == EnvVarsInjectionPolicy::Overrides;
    let has_sources = container["envFrom"].as_array().is_some_and(|sources| !sources.is_empty());
    if has_sources && !may_override {
        return Err(rejected(&format!(
            "container {} takes variables from envFrom, which the template policy does not allow to override",
            container["name"]
        )));
    }
    if !container["env"].is_array() {
        container["env"] = json!([]);
    }
    let env = container["env"].as_array_mut().expect("made an array above");
    let new = json!({"name": variable.name, "value": variable.value});
    match env.iter_mut().find(|known| known["name"] == *variable.name) {
        None => env.push(new),
        Some(known) if may_override => *known = new,
        Some(_) => {
            return Err(rejected(&format!(
                "environment variable override is not allowed by the template policy for variable {:?}",
                variable.name
            )));
        }
    }
    Ok(())
}

fn unknown_container(container: &str, variable: &ClaimEnvVar) -> Problem {
    rejected(&format!(
        "target container {container:?} not found in template for environment variable {:?}",
        variable.name
    ))
}

fn rejected(why: &str) -> Problem {
    Problem::EnvRejected(format!("environment variable injection rejected: {why}"))
}

#[cfg(test)]
mod tests {
    use EnvVarsInjectionPolicy::{Allowed, Disallowed, Overrides};

    use super::*;

    fn variable(container: &str, name: &str, value: &str) -> ClaimEnvVar {
        ClaimEnvVar { name: name.to_owned(), value: value.to_owned(), container_name: container.to_owned() }
    }

    fn pod() -> Value {
        json!({
            "containers": [{"name": "main", "env": [{"name": "A", "valueFrom": {}}]}, {"name": "side"}],
            "initContainers": [{"name": "init"}],
        })
    }

    fn injected(variables: &[ClaimEnvVar], policy: EnvVarsInjectionPolicy) -> Result<Value, String> {
        let mut pod = pod();
        match inject(&mut pod, variables, policy) {
            Ok(()) => Ok(pod),
            Err(Problem::EnvRejected(message)) => Err(message),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn variables_reach_the_container_they_are_for_and_the_first_one_by_default() {
        let variables = [
            variable("", "X", "1"),
            variable("main", "Y", "2"),
            variable("init", "Z", "3"),
            variable("side", "X", "4"),
        ];
        let pod = injected(&variables, Allowed).unwrap();
        let expected =
            json!([{"name": "A", "valueFrom": {}}, {"name": "Y", "value": "2"}, {"name": "X", "value": "1"}]);
        assert_eq!(pod["containers"][0]["env"], expected);
        assert_eq!(pod["containers"][1]["env"], json!([{"name": "X", "value": "4"}]));
        assert_eq!(pod["initContainers"][0]["env"], json!([{"name": "Z", "value": "3"}]));
    }

    #[test]
    fn an_override_replaces_the_whole_variable_in_its_place() {
        let pod = injected(&[variable("", "A", "new"), variable("", "B", "2")], Overrides).unwrap();
        let expected = json!([{"name": "A", "value": "new"}, {"name": "B", "value": "2"}]);
        assert_eq!(pod["containers"][0]["env"], expected);
    }

    #[test]
    fn what_the_template_does_not_allow_is_rejected_in_these_words() {
        let cases = [
            (
                vec![variable("", "B", "")],
                Disallowed,
                "environment variable injection is not allowed by the template policy",
            ),
            (
                vec![variable("", "A", "")],
                Allowed,
                "environment variable override is not allowed by the template policy for variable \"A\"",
            ),
            (
                vec![variable("", "B", ""), variable("", "B", "")],
                Allowed,
                "environment variable override is not allowed by the template policy for variable \"B\"",
            ),
            (
                vec![variable("gone", "B", "")],
                Overrides,
                "target container \"gone\" not found in template for environment variable \"B\"",
            ),
        ];
        for (variables, policy, why) in cases {
            let expected = format!("environment variable injection rejected: {why}");
            assert_eq!(injected(&variables, policy), Err(expected));
        }
    }

    #[test]
    fn variables_from_elsewhere_could_be_overridden_unseen() {
        let mut pod = json!({"containers": [{"name": "main", "envFrom": [{"secretRef": {"name": "s"}}]}]});
        let variables = [variable("", "B", "1")];
        assert_eq!(
            inject(&mut pod.clone(), &variables, Allowed),
            Err(rejected(
                "container \"main\" takes variables from envFrom, which the template policy does not allow to override"
            ))
        );
        assert_eq!(inject(&mut pod, &variables, Overrides), Ok(()));
    }

    #[test]
    fn a_claim_without_variables_needs_no_permission() {
        assert_eq!(injected(&[], Disallowed), Ok(pod()));
    }
}
