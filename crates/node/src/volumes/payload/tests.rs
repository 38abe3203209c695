//! Which files volumes have, for each kind that follows objects.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::volumes::token::Token;

struct Case {
    pod: Pod,
    tokens: Tokens,
}

impl Case {
    fn new(spec: Value) -> Self {
        let mut spec = spec;
        if spec["containers"].is_null() {
            spec["containers"] = json!([{"name": "c", "resources": {"limits": {"cpu": "2"}}}]);
        }
        let metadata = json!({"name": "p", "namespace": "n", "uid": "u", "labels": {"app": "x"}});
        let mut tokens = Tokens::default();
        let (issued, expires) = (Timestamp::UNIX_EPOCH, Timestamp::MAX);
        let wish = Wish { audience: None, seconds: 3600 };
        tokens.insert(wish, Token { text: "abc".into(), issued, expires });
        Self { pod: read(json!({"metadata": metadata, "spec": spec})), tokens }
    }

    fn files(&self, volume: Value) -> Result<Vec<String>, Error> {
        let config_maps = read(
            json!({"cm": {"metadata": {}, "data": {"a": "1", "b": "2"}, "binaryData": {"bin": "AP8="}}}),
        );
        let secrets = read(json!({"s": {"metadata": {}, "data": {"key": "c2VjcmV0"}}}));
        let sources = Sources {
            pod: &self.pod,
            config_maps: &config_maps,
            secrets: &secrets,
            whereabouts: Whereabouts::default(),
            allocatable: &List::new(),
            tokens: &self.tokens,
        };
        let mut volume = volume;
        volume["name"] = json!("v");
        let payload = of(&read(volume), &sources)?.expect("it has files");
        Ok(payload.iter().map(line).collect())
    }
}

fn line((path, file): (&PathBuf, &File)) -> String {
    let content = file.content.escape_ascii();
    format!("{} {:o} {}:{} {content}", path.display(), file.mode, file.uid, file.gid)
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn files(volume: Value) -> Result<Vec<String>, Error> {
    Case::new(json!({})).files(volume)
}

fn message(volume: Value) -> String {
    files(volume).unwrap_err().to_string()
}

#[test]
fn every_key_is_a_file_whether_text_or_not() {
    let all = files(json!({"configMap": {"name": "cm"}})).unwrap();
    assert_eq!(all, ["a 644 0:0 1", "b 644 0:0 2", "bin 644 0:0 \\x00\\xff"]);
    assert_eq!(
        files(json!({"secret": {"secretName": "s", "defaultMode": 256}})).unwrap(),
        ["key 400 0:0 secret"]
    );
}

#[test]
fn items_choose_keys_paths_and_modes() {
    let items = json!([{"key": "a", "path": "x/y", "mode": 0o400}, {"key": "a", "path": "z"}]);
    let chosen = files(json!({"configMap": {"name": "cm", "items": items, "defaultMode": 0o600}})).unwrap();
    assert_eq!(chosen, ["x/y 400 0:0 1", "z 600 0:0 1"]);
}

#[test]
fn what_is_missing_is_an_error_unless_it_is_optional() {
    let items = json!([{"key": "no", "path": "x"}]);
    assert_eq!(message(json!({"configMap": {"name": "no"}})), "configmap \"no\" not found");
    assert_eq!(message(json!({"secret": {"secretName": "no"}})), "secret \"no\" not found");
    assert_eq!(
        message(json!({"configMap": {"name": "cm", "items": items}})),
        "configmap references non-existent config key: no"
    );
    assert_eq!(
        message(json!({"secret": {"secretName": "s", "items": items}})),
        "references non-existent secret key: no"
    );
    let nothing = [""; 0];
    assert_eq!(
        files(json!({"configMap": {"name": "no", "items": items, "optional": true}})).unwrap(),
        nothing
    );
    assert_eq!(
        files(json!({"secret": {"secretName": "s", "items": items, "optional": true}})).unwrap(),
        nothing
    );
}

#[test]
fn fields_and_resources_of_the_pod_become_files() {
    let resource = json!({"containerName": "c", "resource": "limits.cpu", "divisor": "1m"});
    let items = json!([
        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
        {"path": "cpu", "resourceFieldRef": resource, "mode": 0o444},
    ]);
    let written = files(json!({"downwardAPI": {"items": items}})).unwrap();
    assert_eq!(written, ["cpu 444 0:0 2000", "labels 644 0:0 app=\\\"x\\\""]);
    assert_eq!(
        message(json!({"downwardAPI": {"items": [{"path": "x"}]}})),
        "the file \"x\" is neither a field nor a resource"
    );
}

#[test]
fn sources_are_merged_and_the_last_wins() {
    let sources = json!([
        {"configMap": {"name": "cm", "items": [{"key": "a", "path": "f"}, {"key": "b", "path": "g"}]}},
        {"secret": {"name": "s", "items": [{"key": "key", "path": "f"}]}},
        {"serviceAccountToken": {"path": "token"}},
    ]);
    let merged = files(json!({"projected": {"sources": sources, "defaultMode": 0o444}})).unwrap();
    assert_eq!(merged, ["f 444 0:0 secret", "g 444 0:0 2", "token 444 0:0 abc"]);
}

#[test]
fn a_token_is_for_the_pods_user_or_its_group_alone() {
    let volume =
        json!({"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}], "defaultMode": 0o644}});
    let with = |spec: Value| Case::new(spec).files(volume.clone()).unwrap();
    assert_eq!(with(json!({"securityContext": {"runAsUser": 1000}})), ["t 600 1000:0 abc"]);
    assert_eq!(with(json!({"securityContext": {"fsGroup": 70}})), ["t 640 0:70 abc"]);
    let user = |id: i64| json!({"name": id.to_string(), "securityContext": {"runAsUser": id}});
    assert_eq!(with(json!({"containers": [user(1), user(2)]})), ["t 644 0:0 abc"]);
    assert_eq!(with(json!({"containers": [user(1)], "initContainers": [user(1)]})), ["t 600 1:0 abc"]);
}

#[test]
fn a_token_that_is_not_there_yet_is_waited_for() {
    let other = json!([{"serviceAccountToken": {"path": "t", "audience": "vault"}}]);
    assert_eq!(message(json!({"projected": {"sources": other}})), "there is no token yet for \"t\"");
}

#[test]
fn the_group_may_read_every_file() {
    let case = Case::new(json!({"securityContext": {"fsGroup": 70}}));
    let written = case.files(json!({"secret": {"secretName": "s", "defaultMode": 0o400}})).unwrap();
    assert_eq!(written, ["key 440 0:70 secret"]);
}

#[test]
fn hostile_paths_and_contradictions_are_refused() {
    let at =
        |path: &str| message(json!({"configMap": {"name": "cm", "items": [{"key": "a", "path": path}]}}));
    assert_eq!(
        at("../../etc/cron.d/x"),
        "the path of a file \"../../etc/cron.d/x\" is refused: it must not contain '..'"
    );
    assert_eq!(at("..data"), "the path of a file \"..data\" is refused: it must not start with '..'");
    let both = json!([{"key": "a", "path": "x"}, {"key": "b", "path": "x/y"}]);
    assert_eq!(
        message(json!({"configMap": {"name": "cm", "items": both}})),
        "\"x\" cannot be both a file and a directory"
    );
    let bundle = json!([{"clusterTrustBundle": {"path": "x", "name": "b"}}]);
    assert_eq!(
        message(json!({"projected": {"sources": bundle}})),
        "certificates of signers are not projected by this node"
    );
}
