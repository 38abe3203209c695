//! Whole plans.

use serde_json::json;

use super::fixtures::Case;
use super::*;

fn image() -> Image {
    Image {
        layers: vec!["/layers/base".into(), "/layers/app".into()],
        entrypoint: vec!["/entry".into()],
        cmd: vec!["serve".into()],
        env: vec!["LANG=C.UTF-8".into()],
        user: "1000".into(),
        working_dir: "/srv".into(),
        ..Image::default()
    }
}

fn account() -> Account {
    Account { uid: 1000, gid: 1000, groups: vec![44], home: "/srv/app".into() }
}

#[test]
fn a_container_is_planned_to_the_last_detail() {
    let case = Case::with(json!({
        "args": ["--data=$(DATA)"],
        "env": [{"name": "DATA", "value": "/data"}],
        "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}},
        "securityContext": {"readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "data", "mountPath": "/data", "subPath": "app"}],
        "stdin": true, "stdinOnce": true,
    }))
    .volume("data", "/volumes/pvc-1", false);
    insta::assert_yaml_snapshot!(container(&case.resolved(), "c", &image(), &account(), 3).unwrap());
}

#[test]
fn last_words_are_written_where_the_container_says() {
    let path = |value| {
        let case = Case::with(json!({"terminationMessagePath": value}));
        container(&case.resolved(), "c", &image(), &account(), 0).unwrap().termination_message.unwrap()
    };
    assert_eq!(path(json!(null)), PathBuf::from("/dev/termination-log"));
    assert_eq!(path(json!("/tmp/words")), PathBuf::from("/tmp/words"));
}

#[test]
fn input_is_open_only_for_those_who_ask() {
    let input = |value| stdin(Case::with(value).container());
    assert_eq!(input(json!({})), Stdin::Closed);
    assert_eq!(input(json!({"stdinOnce": true})), Stdin::Closed);
    assert_eq!(input(json!({"stdin": true})), Stdin::Open);
    assert_eq!(input(json!({"stdin": true, "stdinOnce": true})), Stdin::Once);
}

#[test]
fn unmasked_kernel_files_are_neither_hidden_nor_read_only() {
    let case = Case::with(json!({"securityContext": {"procMount": "Unmasked"}}));
    let plan = container(&case.resolved(), "c", &image(), &account(), 0).unwrap();
    assert!(plan.masked_paths.is_empty() && plan.read_only_paths.is_empty());
}

#[test]
fn a_container_that_the_pod_does_not_have_is_an_error() {
    let case = Case::with(json!({}));
    let error = container(&case.resolved(), "x", &image(), &account(), 0).unwrap_err();
    assert_eq!(error, Error::NoContainer("x".into()));
}
