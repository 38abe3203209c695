//! Who is shown what: challenges, tokens and redirections.

use serde_json::json;

use super::stage::{Reply, Seen, Stage, reply};
use super::*;
use crate::images::digest::Digest;
use crate::images::reference::Reference;

const BODY: &[u8] = b"content";

fn settings() -> Settings {
    let retry = Retry { attempts: 3, first_wait_milliseconds: 1, longest_wait_milliseconds: 5 };
    Settings { retry, stall_seconds: 5, ..Settings::default() }
}

fn remote(stage: &Stage, credential: Credential) -> Remote {
    let settings = settings();
    let reference: Reference = stage.reference().parse().unwrap();
    let endpoint = settings.endpoints(&reference).remove(0);
    Remote::new(&Transports::new(&settings), endpoint, "app", credential, String::new(), &settings.retry)
        .unwrap()
}

async fn blob(remote: &Remote) -> Result<Vec<u8>, RegistryError> {
    remote.blob(&Digest::of(BODY), 100).await
}

fn password() -> Credential {
    Credential::Password { user: "me".into(), password: "secret".into() }
}

/// Lets in who has `token`, and issues it at `/token`.
fn guarded(token: &'static str) -> impl Fn(&Seen) -> Reply {
    move |seen| match seen.path.split('?').next() {
        Some("/token") => reply(200, json!({"token": token}).to_string()),
        _ if seen.header("authorization") == format!("Bearer {token}") => reply(200, BODY),
        _ => {
            let realm = format!("http://{}/token", seen.header("host"));
            let challenge = format!(r#"Bearer realm="{realm}",service="reg",scope="repository:app:pull""#);
            reply(401, "{}").with("www-authenticate", challenge)
        }
    }
}

#[tokio::test]
async fn a_token_is_fetched_when_it_is_wanted_and_kept() {
    let stage = Stage::new(guarded("t1")).await;
    let remote = remote(&stage, password());
    assert_eq!(blob(&remote).await.unwrap(), BODY);
    assert_eq!(blob(&remote).await.unwrap(), BODY);
    let asked = stage.asked("/token");
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].path, "/token?scope=repository%3Aapp%3Apull&service=reg");
    assert_eq!(asked[0].header("authorization"), "Basic bWU6c2VjcmV0");
}

#[tokio::test]
async fn anybody_gets_a_token_without_a_password() {
    let stage = Stage::new(guarded("t1")).await;
    assert_eq!(blob(&remote(&stage, Credential::Anonymous)).await.unwrap(), BODY);
    assert_eq!(stage.asked("/token")[0].header("authorization"), "");
}

#[tokio::test]
async fn an_identity_token_is_traded() {
    let stage = Stage::new(guarded("t1")).await;
    assert_eq!(blob(&remote(&stage, Credential::Identity("id".into()))).await.unwrap(), BODY);
    let asked = stage.asked("/token").remove(0);
    assert_eq!(asked.method, "POST");
    assert_eq!(
        asked.body,
        "scope=repository%3Aapp%3Apull&service=reg&grant_type=refresh_token&client_id=asb&refresh_token=id"
    );
}

#[tokio::test]
async fn a_token_that_was_given_is_shown_as_it_is() {
    let stage = Stage::new(guarded("given")).await;
    assert_eq!(blob(&remote(&stage, Credential::Token("given".into()))).await.unwrap(), BODY);
    assert!(stage.asked("/token").is_empty());
}

#[tokio::test]
async fn a_token_that_has_expired_is_renewed() {
    let stage = Stage::new(|seen: &Seen| {
        let current = if seen.number < 3 { "t1" } else { "t2" };
        guarded(current)(seen)
    })
    .await;
    let remote = remote(&stage, password());
    blob(&remote).await.unwrap();
    blob(&remote).await.unwrap();
    assert_eq!(stage.asked("/token").len(), 2);
}

#[tokio::test]
async fn a_password_is_shown_only_when_it_is_asked_for() {
    let stage = Stage::new(|seen: &Seen| match seen.header("authorization") {
        "Basic bWU6c2VjcmV0" => reply(200, BODY),
        _ => reply(401, "").with("www-authenticate", "Basic realm=\"x\""),
    })
    .await;
    assert_eq!(blob(&remote(&stage, password())).await.unwrap(), BODY);
    assert_eq!(stage.seen()[0].header("authorization"), "");
    let denied = blob(&remote(&stage, Credential::Anonymous)).await.unwrap_err();
    assert!(matches!(denied, RegistryError::Unauthorized { .. }), "{denied}");
}

#[tokio::test]
async fn credentials_that_are_refused_are_not_tried_again() {
    let stage = Stage::new(|seen: &Seen| {
        if seen.path.starts_with("/token") {
            return reply(401, r#"{"details": "incorrect username or password"}"#);
        }
        guarded("never")(seen)
    })
    .await;
    let denied = blob(&remote(&stage, password())).await.unwrap_err().to_string();
    assert!(denied.ends_with("denies access: incorrect username or password"), "{denied}");
    assert_eq!(stage.seen().len(), 2);
}

#[tokio::test]
async fn credentials_do_not_follow_to_another_host() {
    let store = Stage::new(|_: &Seen| reply(200, BODY)).await;
    let location = format!("http://{}/elsewhere", store.address);
    let stage = Stage::new(move |seen: &Seen| match seen.header("authorization") {
        "Bearer t1" => reply(307, "").with("location", &location),
        _ => guarded("t1")(seen),
    })
    .await;
    assert_eq!(blob(&remote(&stage, password())).await.unwrap(), BODY);
    assert_eq!(store.seen()[0].path, "/elsewhere");
    assert_eq!(store.seen()[0].header("authorization"), "");
}

#[tokio::test]
async fn redirections_end() {
    let stage = Stage::new(|_: &Seen| reply(302, "").with("location", "/again")).await;
    let error = blob(&remote(&stage, Credential::Anonymous)).await.unwrap_err().to_string();
    assert!(error.ends_with("redirections without end"), "{error}");
}

#[tokio::test]
async fn a_busy_registry_is_asked_again_and_an_ailing_one_given_up() {
    let stage = Stage::new(|seen: &Seen| match seen.number {
        0 => reply(503, "").with("retry-after", 0),
        1 => reply(429, ""),
        _ => reply(200, BODY),
    })
    .await;
    assert_eq!(blob(&remote(&stage, Credential::Anonymous)).await.unwrap(), BODY);
    let stage =
        Stage::new(|_: &Seen| reply(500, r#"{"errors":[{"code":"UNKNOWN","message":"on fire"}]}"#)).await;
    let error = blob(&remote(&stage, Credential::Anonymous)).await.unwrap_err().to_string();
    assert!(error.ends_with("answers 500: unknown: on fire"), "{error}");
    assert_eq!(stage.seen().len(), 3);
}

#[tokio::test]
async fn a_connection_that_breaks_is_made_again() {
    let stage = Stage::new(|seen: &Seen| {
        let whole = reply(200, BODY);
        if seen.number == 0 { whole.cut(2) } else { whole }
    })
    .await;
    assert_eq!(blob(&remote(&stage, Credential::Anonymous)).await.unwrap(), BODY);
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_to_it() {
    let stage = Stage::new(|_: &Seen| reply(200, vec![b'x'; 1 << 20])).await;
    let remote = remote(&stage, Credential::Anonymous);
    let error = blob(&remote).await.unwrap_err().to_string();
    assert!(error.contains("more than 100 bytes"), "{error}");
    let error = remote.manifest("1", 1000).await.unwrap_err().to_string();
    assert!(error.contains("more than 1000 bytes"), "{error}");
}

#[tokio::test]
async fn a_manifest_is_what_was_asked_for_or_an_error() {
    let stage = Stage::new(|_: &Seen| reply(200, BODY)).await;
    let honest = remote(&stage, Credential::Anonymous);
    assert_eq!(honest.manifest("1", 100).await.unwrap().1, Digest::of(BODY));
    let other = Digest::of(b"other").to_string();
    let error = honest.manifest(&other, 100).await.unwrap_err().to_string();
    assert!(error.contains("was asked for"), "{error}");
    let stage = Stage::new(move |_: &Seen| reply(200, BODY).with("docker-content-digest", &other)).await;
    assert!(remote(&stage, Credential::Anonymous).manifest("1", 100).await.is_err());
    assert!(stage.seen()[0].header("accept").contains("application/vnd.oci.image.index.v1+json"));
}
