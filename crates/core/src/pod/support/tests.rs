//! The table covers the schema that is vendored, field by field, and the check follows the table.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;

const DEFINITIONS: &str = include_str!("../../../../types/kubernetes/definitions.json");
const UNFOLDED: [&str; 2] = ["Quantity", "IntOrString"];

fn definitions() -> Map<String, Value> {
    let all: Map<String, Value> = serde_json::from_str(DEFINITIONS).unwrap();
    all.into_iter().map(|(name, schema)| (last_part(&name), schema)).collect()
}

fn last_part(name: &str) -> String {
    name.rsplit(['.', '/']).next().unwrap().to_owned()
}

/// The kind that a field of the schema holds one or many of.
fn held(schema: &Value) -> Option<String> {
    let places = ["/$ref", "/allOf/0/$ref", "/items/$ref", "/items/allOf/0/$ref"];
    let reference = places.iter().find_map(|place| schema.pointer(place)?.as_str())?;
    Some(last_part(reference)).filter(|name| !UNFOLDED.contains(&name.as_str()))
}

#[test]
fn every_field_of_the_schema_is_honoured_or_refused() {
    let definitions = definitions();
    let (mut open, mut seen) = (vec![ROOT.to_owned()], BTreeSet::new());
    let mut missing = Vec::new();
    while let Some(name) = open.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let fields =
            definitions[&name]["properties"].as_object().unwrap_or_else(|| panic!("{name} has fields"));
        for (field, schema) in fields {
            match kind(&name).and_then(|kind| kind.field(field)) {
                None => missing.push(format!("{name}.{field}")),
                Some(row) if row.verdict == Verdict::Refused => {}
                Some(row) => {
                    assert_eq!(row.holds.map(str::to_owned), held(schema), "what {name}.{field} holds");
                    open.extend(held(schema));
                }
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new(), "fields in neither list");
}

#[test]
fn the_table_has_nothing_that_the_schema_lacks() {
    let definitions = definitions();
    for kind in KINDS.iter().copied().flatten() {
        let fields = definitions[kind.name]["properties"].as_object().unwrap();
        let names: Vec<_> = kind.fields.iter().map(|field| field.name).collect();
        assert!(names.iter().all(|name| fields.contains_key(*name)), "{}: {names:?}", kind.name);
        assert_eq!(
            names.iter().collect::<BTreeSet<_>>().len(),
            names.len(),
            "{} names a field twice",
            kind.name
        );
    }
}

#[test]
fn every_enumeration_of_the_schema_is_judged_value_by_value() {
    let definitions = definitions();
    for kind in KINDS.iter().copied().flatten() {
        for field in kind.fields {
            let Some(values) = definitions[kind.name]["properties"][field.name]["enum"].as_array() else {
                continue;
            };
            assert_ne!(field.verdict, Verdict::Honoured, "{}.{}: {values:?}", kind.name, field.name);
        }
    }
}

fn paths(spec: &Value, allowances: &Allowances) -> Vec<String> {
    let refusals = check(spec, allowances).err().unwrap_or_default();
    refusals.into_iter().map(|refusal| refusal.path).collect()
}

#[test]
fn an_ordinary_pod_is_honoured() {
    let spec = json!({
        "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "protocol": "TCP"}],
            "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
            "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]}],
        "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
        "hostNetwork": false, "securityContext": {}, "ephemeralContainers": [], "volumes": [
            {"name": "v", "emptyDir": {}}, {"name": "m", "emptyDir": {"medium": "Memory"}}],
    });
    assert_eq!(check(&spec, &Allowances::default()), Ok(()));
}

#[test]
fn all_objections_are_told_at_once_with_their_place() {
    let spec = json!({
        "hostPID": true,
        "containers": [{"name": "a"}, {"name": "b", "securityContext": {
            "privileged": true, "capabilities": {"add": ["CHOWN", "SYS_ADMIN"]}}}],
        "volumes": [{"name": "v", "nfs": {"server": "s", "path": "/"}}],
        "shiny": 1,
    });
    assert_eq!(
        paths(&spec, &Allowances::default()),
        [
            "spec.containers[1].securityContext.capabilities.add[1]",
            "spec.containers[1].securityContext.privileged",
            "spec.hostPID",
            "spec.shiny",
            "spec.volumes[0].nfs",
        ]
    );
    assert_eq!(paths(&spec, &Allowances::all()), ["spec.hostPID", "spec.shiny", "spec.volumes[0].nfs"]);
}

#[test]
fn a_reason_says_what_to_do() {
    let refusals = check(&json!({"hostIPC": true}), &Allowances::default()).unwrap_err();
    assert_eq!(
        summary(&refusals),
        "spec.hostIPC: \"true\" is refused unless started with --allow host-ipc: it shares the host's shared memory and \
         queues"
    );
}

#[test]
fn what_is_allowed_is_still_looked_into() {
    let spec = json!({"volumes": [{"name": "v", "hostPath": {"path": "/", "type": "Sofa"}}]});
    assert_eq!(paths(&spec, &Allowances::default()), ["spec.volumes[0].hostPath"]);
    assert_eq!(paths(&spec, &Allowances::all()), ["spec.volumes[0].hostPath.type"]);
}

#[test]
fn a_filter_of_the_users_own_is_refused_even_where_none_at_all_is_allowed() {
    let profile = |type_: &str| json!({"securityContext": {"seccompProfile": {"type": type_}}});
    assert_eq!(paths(&profile("RuntimeDefault"), &Allowances::default()).len(), 0);
    assert_eq!(paths(&profile("Unconfined"), &Allowances::default()).len(), 1);
    assert_eq!(paths(&profile("Unconfined"), &Allowances::all()).len(), 0);
    assert_eq!(paths(&profile("Localhost"), &Allowances::all()).len(), 1);
}

#[test]
fn ports_of_the_host_come_with_its_network() {
    let allowances = Allowances::from_iter([Allowance::HostNetwork]);
    let spec = |network: bool| json!({"hostNetwork": network, "containers": [{"ports": [{"hostPort": 80}]}]});
    assert_eq!(paths(&spec(true), &allowances).len(), 0);
    assert_eq!(paths(&spec(false), &allowances), ["spec.containers[0].ports[0].hostPort"]);
}

#[test]
fn words_after_allow_are_read_as_they_are_written() {
    for allowance in Allowance::ALL {
        assert_eq!(allowance.as_str().parse(), Ok(allowance));
    }
    assert!("host".parse::<Allowance>().unwrap_err().to_string().contains("host-network"));
}

#[test]
fn the_document_has_a_row_for_every_field() {
    let fields: usize = KINDS.iter().copied().flatten().map(|kind| kind.fields.len()).sum();
    assert_eq!(markdown().lines().count(), fields + 2);
    let rows = markdown();
    assert!(
        rows.contains("| `PodSpec.hostIPC` | `false`; else with `--allow host-ipc` | it shares"),
        "{rows}"
    );
    assert!(rows.contains("| `Volume.nfs` | refused | network file systems"));
}

/// The fields on the way from the spec to a kind, through any of the fields that hold it.
fn way(to: &str) -> Vec<&'static str> {
    let mut ways = vec![(ROOT, Vec::new())];
    let mut seen = BTreeSet::from([ROOT]);
    while let Some((name, way)) = (!ways.is_empty()).then(|| ways.remove(0)) {
        if name == to {
            return way;
        }
        for field in kind(name).unwrap().fields {
            let held = field.holds.filter(|_| field.verdict != Verdict::Refused);
            if let Some(held) = held.filter(|held| seen.insert(held)) {
                ways.push((held, [way.as_slice(), &[field.name]].concat()));
            }
        }
    }
    panic!("nothing leads to {to}")
}

/// What the check says of a Pod that has nothing but this field.
fn judged(of: &Kind, field: &Field, value: Value, allowances: &Allowances) -> Vec<String> {
    let way = [way(of.name).as_slice(), &[field.name]].concat();
    let spec = way.iter().rev().fold(value, |inner, name| json!({*name: inner}));
    let all = paths(&spec, allowances);
    let own = format!("spec.{}", way.join("."));
    all.into_iter().filter(|path| *path == own).collect()
}

#[test]
fn every_field_is_judged_as_its_row_says() {
    let (none, all) = (Allowances::default(), Allowances::all());
    for kind in KINDS.iter().copied().flatten() {
        for field in kind.fields {
            let refused = |allowances: &Allowances| judged(kind, field, json!("x"), allowances).len();
            let name = format!("{}.{}", kind.name, field.name);
            let is_never = matches!(field.verdict, Verdict::Refused | Verdict::Only(_));
            assert_eq!(refused(&all), usize::from(is_never), "{name}, with everything allowed");
            if let Verdict::Allow { .. } = field.verdict {
                assert_eq!(refused(&none), 1, "{name}, with nothing allowed");
            }
        }
    }
}

#[test]
fn every_field_that_is_honoured_names_its_proof() {
    let missing = rows().into_iter().filter(|row| row.verdict != "refused" && row.proof.is_none());
    assert_eq!(missing.map(|row| row.field).collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn proofs_speak_of_fields_that_there_are() {
    for named in proofs::rows() {
        let (of, name) = named.split_once('.').unwrap();
        let kind = kind(of).unwrap_or_else(|| panic!("{named}: no such kind"));
        assert!(name == "*" || kind.field(name).is_some_and(|it| it.verdict != Verdict::Refused), "{named}");
    }
}
