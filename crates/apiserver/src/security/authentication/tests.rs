//! Tokens, compared with what a kube-apiserver said (`security/recorded`), and attacked.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::security::authorization::recorded::list;
use crate::security::json::{text, texts};

const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

fn recorded() -> Value {
    serde_json::from_str(include_str!("../recorded/authentication.json")).unwrap()
}

fn key() -> SigningKey {
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
    SigningKey::from_pkcs8(pkcs8.as_ref()).unwrap()
}

fn authenticator() -> Authenticator {
    Authenticator { tokens: Tokens::new(key(), ISSUER), admin: None }
}

fn now() -> Timestamp {
    "2026-11-15T10:53:05Z".parse().unwrap()
}

fn after(minutes: i64) -> Timestamp {
    now() + SignedDuration::from_mins(minutes)
}

/// The objects of the cluster that was recorded, by resource and name.
#[derive(Clone, Default)]
struct Cluster(HashMap<String, Object>);

impl Objects for Cluster {
    fn find(&self, resource: &str, _: &str, name: &str) -> Option<Object> {
        self.0.get(&format!("{resource}/{name}")).cloned()
    }
}

impl Cluster {
    fn recorded() -> Self {
        let recorded = recorded();
        let uids = recorded["uids"].as_object().unwrap().iter();
        let mut cluster = Self(uids.map(|(key, uid)| (key.clone(), object(uid.as_str().unwrap()))).collect());
        for (pod, node) in [("p-robot", "sec-node"), ("p-gone", "sec-gone"), ("p-free", "")] {
            let pod = cluster.0.get_mut(&format!("pods/{pod}")).unwrap();
            (pod.service_account, pod.node) = ("robot".into(), node.into());
        }
        cluster
    }

    fn without(&self, key: &str) -> Self {
        let mut cluster = self.clone();
        cluster.0.remove(key).unwrap();
        cluster
    }

    fn replacing(&self, key: &str) -> Self {
        let mut cluster = self.clone();
        cluster.0.get_mut(key).unwrap().uid = "other".into();
        cluster
    }

    fn deleting(&self, key: &str, deleted: Timestamp) -> Self {
        let mut cluster = self.clone();
        cluster.0.get_mut(key).unwrap().deleted = Some(deleted);
        cluster
    }
}

fn object(uid: &str) -> Object {
    Object { uid: uid.into(), ..Object::default() }
}

fn request(spec: Value) -> Value {
    json!({"spec": spec})
}

fn issue(tokens: &Tokens, name: &str, spec: Value) -> String {
    let subject = ServiceAccount { namespace: "security", name };
    let answer = tokens.issue(&request(spec), subject, &Cluster::recorded(), now(), Uuid::nil()).unwrap();
    text(&answer, &["status", "token"]).to_owned()
}

fn bound(kind: &str, name: &str) -> Value {
    json!({"boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name}})
}

fn claims_of(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

#[test]
fn token_requests_are_answered_as_by_the_real_server() {
    let (recorded, cluster) = (recorded(), Cluster::recorded());
    let tokens = authenticator().tokens;
    for request in list(&recorded, "requests") {
        let subject = ServiceAccount { namespace: "security", name: text(request, &["name"]) };
        let time =
            text(&request["answer"], &["metadata", "creationTimestamp"]).parse().unwrap_or_else(|_| now());
        let id = text(&request["claims"], &["jti"]).parse().unwrap_or_else(|_| Uuid::nil());
        match tokens.issue(&request["body"], subject, &cluster, time, id) {
            Ok(mut answer) => {
                assert_eq!(claims_of(text(&answer, &["status", "token"])), request["claims"], "{request}");
                answer["status"]["token"] = "".into();
                assert_eq!(answer, request["answer"], "{request}");
            }
            Err(status) => assert_eq!(status.to_json(), request["answer"], "{request}"),
        }
    }
}

#[test]
fn token_reviews_are_answered_as_by_the_real_server() {
    let (recorded, cluster) = (recorded(), Cluster::recorded());
    let authenticator = authenticator();
    let tokens = &authenticator.tokens;
    let plain = issue(tokens, "plain", json!({}));
    let (header, payload, signature) = parts(&plain);
    let encoded = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let changed = |field: &str, value: Value| {
        let mut claims = claims_of(&plain);
        claims[field] = value;
        format!("{header}.{}.{signature}", encoded(claims))
    };
    for review in list(&recorded, "reviews") {
        let what = text(review, &["what"]);
        let token = match what {
            "plain" => plain.clone(),
            "ab" => issue(tokens, "plain", json!({"audiences": ["a", "b"]})),
            "pod" => issue(tokens, "robot", bound("Pod", "p-robot")),
            "pod on missing node" => issue(tokens, "robot", bound("Pod", "p-gone")),
            "secret" => issue(tokens, "robot", bound("Secret", "s")),
            "node" => issue(tokens, "robot", bound("Node", "sec-node")),
            "service account gone" => issue(tokens, "bare", json!({})),
            "signature changed" => format!("{header}.{payload}.{}", reversed(&signature)),
            "payload changed" => changed("exp", 9.into()),
            "other issuer" => changed("iss", "x".into()),
            "algorithm none" => format!("{}.{payload}.", encoded(json!({"alg": "none"}))),
            "algorithm changed" => {
                let header = encoded(json!({"alg": "HS256", "kid": tokens.key.id()}));
                format!("{header}.{payload}.{signature}")
            }
            "other key" => format!("{}.{payload}.{signature}", encoded(json!({"alg": "ES256", "kid": "x"}))),
            "no key id" => format!("{}.{payload}.{signature}", encoded(json!({"alg": "ES256"}))),
            "not base64" => format!("{header}.{payload}.!!"),
            "two parts" => format!("{header}.{payload}"),
            "empty signature" => format!("{header}.{payload}."),
            other => panic!("{other}"),
        };
        let cluster = if what == "service account gone" {
            cluster.without("serviceaccounts/bare")
        } else {
            cluster.clone()
        };
        let mut expected = review["status"].clone();
        // The real server names the library that found the signature wrong, and has ids of its own.
        if let Some(error) = expected["error"].as_str() {
            let ours =
                error.replace("go-jose/go-jose: error in cryptographic primitive", "invalid signature");
            expected["error"] = ours.into();
        } else {
            expected["user"]["extra"][CREDENTIAL_ID][0] = format!("JTI={}", Uuid::nil()).into();
        }
        let status = authenticator.review(&token, &texts(review, &["audiences"]), &cluster, now());
        assert_eq!(status, expected, "{review}");
    }
}

/// Other bytes of the same number.
fn reversed(signature: &str) -> String {
    let mut bytes = URL_SAFE_NO_PAD.decode(signature).unwrap();
    bytes.reverse();
    URL_SAFE_NO_PAD.encode(bytes)
}

fn parts(token: &str) -> (String, String, String) {
    let mut parts = token.split('.').map(str::to_owned);
    let mut next = || parts.next().unwrap();
    (next(), next(), next())
}

#[test]
fn a_token_lives_as_long_as_it_says_and_clocks_differ() {
    let tokens = authenticator().tokens;
    let token = issue(&tokens, "plain", json!({"expirationSeconds": 600}));
    let accept = |time| tokens.accept(&token, &tokens.audiences, &Cluster::recorded(), time).map(drop);
    assert_eq!(accept(after(11)), Ok(()));
    let expired = after(11) + SignedDuration::from_secs(1);
    assert_eq!(accept(expired), Err("[invalid bearer token, service account token has expired]".into()));
    assert_eq!(accept(after(-1)), Ok(()));
    assert_eq!(
        accept(after(-2)),
        Err("[invalid bearer token, service account token is not valid yet]".into())
    );
}

#[test]
fn a_token_dies_with_what_it_is_bound_to() {
    let tokens = authenticator().tokens;
    let cluster = Cluster::recorded();
    let kinds = [("Pod", "pods", "p-robot"), ("Secret", "secrets", "s"), ("Node", "nodes", "sec-node")];
    for (kind, resource, name) in kinds {
        let token = issue(&tokens, "robot", bound(kind, name));
        let accept = |cluster: &Cluster| tokens.accept(&token, &tokens.audiences, cluster, now()).map(drop);
        let key = format!("{resource}/{name}");
        let invalidated =
            Err("[invalid bearer token, service account token has been invalidated]".to_owned());
        assert_eq!(accept(&cluster), Ok(()), "{kind}");
        assert_eq!(accept(&cluster.without(&key)), invalidated, "{kind}");
        assert_eq!(accept(&cluster.deleting(&key, after(-2))), invalidated, "{kind}");
        assert_eq!(accept(&cluster.deleting(&key, now())), Ok(()), "{kind}");
        let kind = kind.to_lowercase();
        let expected = format!("{kind} UID (other) does not match service account {kind} ref claim");
        assert!(accept(&cluster.replacing(&key)).unwrap_err().contains(&expected), "{kind}");
    }
}

#[test]
fn the_node_of_a_pod_may_go_before_its_token() {
    let tokens = authenticator().tokens;
    let token = issue(&tokens, "robot", bound("Pod", "p-robot"));
    let cluster = Cluster::recorded().without("nodes/sec-node");
    assert!(tokens.accept(&token, &tokens.audiences, &cluster, now()).is_ok());
}

#[test]
fn a_token_dies_with_its_service_account() {
    let tokens = authenticator().tokens;
    let token = issue(&tokens, "plain", json!({}));
    let accept = |cluster: &Cluster| tokens.accept(&token, &tokens.audiences, cluster, now()).map(drop);
    let cluster = Cluster::recorded();
    let key = "serviceaccounts/plain";
    assert!(
        accept(&cluster.replacing(key))
            .unwrap_err()
            .contains("service account UID (other) does not match claim (")
    );
    let deleted = accept(&cluster.deleting(key, after(-2)));
    let expected = "[invalid bearer token, service account security/plain has been deleted]";
    assert_eq!(deleted, Err(expected.to_owned()));
}

#[test]
fn a_token_of_another_key_is_refused() {
    let (ours, theirs) = (authenticator().tokens, authenticator().tokens);
    let token = issue(&theirs, "plain", json!({}));
    let (header, _, _) = parts(&issue(&ours, "plain", json!({})));
    let (_, payload, signature) = parts(&token);
    for token in [token.clone(), format!("{header}.{payload}.{signature}")] {
        assert!(ours.accept(&token, &ours.audiences, &Cluster::recorded(), now()).is_err());
    }
}

#[test]
fn who_brings_a_bad_token_is_refused_and_who_brings_none_is_a_stranger() {
    let authenticator = authenticator();
    let token = issue(&authenticator.tokens, "plain", json!({}));
    let ask = |authorization: Option<&str>| {
        let credentials = Credentials { certificate: None, authorization };
        authenticator.authenticate(credentials, &Cluster::recorded(), now()).map(|user| user.name)
    };
    let plain = Ok("system:serviceaccount:security:plain".to_owned());
    assert_eq!(ask(Some(&format!("bEaReR {token}"))), plain);
    assert_eq!(ask(Some(&format!(" Bearer {token} more"))), plain);
    assert_eq!(ask(Some("Bearer abc")), Err(Status::unauthorized()));
    for header in [None, Some(""), Some("Bearer"), Some("Bearer "), Some("Basic abc"), Some("Bearer  abc")] {
        assert_eq!(ask(header), Ok("system:anonymous".into()), "{header:?}");
    }
}

#[test]
fn a_certificate_counts_before_a_token() {
    let user = User::new("someone", &["a"]);
    let credentials = Credentials { certificate: Some(&user), authorization: Some("Bearer abc") };
    let found = authenticator().authenticate(credentials, &Cluster::recorded(), now()).unwrap();
    assert_eq!(found, User::new("someone", &["a", AUTHENTICATED]));
}

#[test]
fn the_admin_token_is_whole_or_nothing() {
    let token = "0123456789abcdef0123456789abcdef";
    let authenticator = Authenticator { admin: AdminToken::new(token), ..authenticator() };
    let accept = |token: &str| authenticator.accept(token, &[ISSUER.into()], &Cluster::default(), now());
    assert_eq!(
        accept(token).unwrap().user,
        User::new("kubernetes-admin", &["system:masters", AUTHENTICATED])
    );
    for other in [&token[1..], &token[..31], "0123456789abcdef0123456789abcdeF", ""] {
        assert!(accept(other).is_err(), "{other}");
    }
    assert!(AdminToken::new("short").is_none());
    assert!(!format!("{authenticator:?}").contains(token));
}

#[test]
fn a_request_with_metadata_of_another_type_is_answered_all_the_same() {
    let tokens = authenticator().tokens;
    let account = ServiceAccount { namespace: "security", name: "plain" };
    for request in [json!({"metadata": "x"}), json!("x"), json!([]), json!({"spec": []})] {
        assert!(
            tokens.issue(&request, account, &Cluster::recorded(), now(), Uuid::nil()).is_ok(),
            "{request}"
        );
    }
}

#[test]
fn the_public_key_verifies_what_the_private_one_signed() {
    let key = key();
    let jwk = key.to_jwk();
    let coordinate = |name| URL_SAFE_NO_PAD.decode(jwk[name].as_str().unwrap()).unwrap();
    let point = [vec![4], coordinate("x"), coordinate("y")].concat();
    let token = key.sign(&json!({"iss": "x"})).unwrap();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let public = ring::signature::UnparsedPublicKey::new(&ring::signature::ECDSA_P256_SHA256_FIXED, point);
    public.verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
    assert_eq!(jwk["kid"], key.id());
}

proptest! {
    #[test]
    fn no_text_makes_the_token_parser_panic(token in "\\PC{0,80}|[A-Za-z0-9_-]{0,40}\\.[A-Za-z0-9_-]{0,40}\\.[A-Za-z0-9_-]{0,90}") {
        let tokens = authenticator().tokens;
        prop_assert!(tokens.accept(&token, &tokens.audiences, &Cluster::default(), now()).is_err());
    }

    #[test]
    fn no_changed_byte_is_accepted(position in 0_usize..800, replacement in 0x20_u8..0x7f) {
        let tokens = authenticator().tokens;
        let token = issue(&tokens, "plain", json!({}));
        let mut bytes = token.clone().into_bytes();
        let position = position % bytes.len();
        bytes[position] = replacement;
        let changed = String::from_utf8(bytes).unwrap();
        let accepted = tokens.accept(&changed, &tokens.audiences, &Cluster::recorded(), now()).is_ok();
        prop_assert_eq!(accepted, changed == token);
    }

    #[test]
    fn no_token_is_good_in_part(length in 0_usize..1000) {
        let tokens = authenticator().tokens;
        let token = issue(&tokens, "plain", json!({}));
        let part = &token[..length % token.len()];
        prop_assert!(tokens.accept(part, &tokens.audiences, &Cluster::recorded(), now()).is_err());
    }
}
