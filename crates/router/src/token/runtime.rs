//! What the router shows to the runtime inside a Sandbox: `s1.<payload>.<signature>`, for one UID and a short time. The runtime
//! knows the public key and its Sandbox's UID, and nothing secret.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::PrivateKey;

const WORD: &str = "agent-sandbox/sandboxd-token/v1.";

/// How long the runtime may take it. Short: whoever sees one has that long.
pub(crate) const LIFETIME: SignedDuration = SignedDuration::from_mins(5);

/// A token for the Sandbox of this UID.
pub fn for_runtime(uid: &str, key: &PrivateKey, now: Timestamp) -> String {
    let end = now.as_second() + LIFETIME.as_secs();
    let payload = URL_SAFE_NO_PAD.encode(json!({"uid": uid, "exp": end}).to_string());
    let signature = URL_SAFE_NO_PAD.encode(key.sign(format!("{WORD}{payload}").as_bytes()));
    format!("s1.{payload}.{signature}")
}

#[cfg(test)]
mod tests {
    use asb_sandboxd::token::{PublicKey, Verifier};

    use super::*;

    const NOON: Timestamp = Timestamp::constant(1_893_499_200, 0);

    /// The other side of the format, as it is inside a sandbox.
    #[test]
    fn the_runtime_of_that_sandbox_takes_it_and_no_other_does() {
        let key = PrivateKey::read(&PrivateKey::generate()).expect("a key");
        let token = for_runtime("uid-1", &key, NOON);
        let inside = |uid: &str, key: &PrivateKey| {
            Verifier::new(vec![PublicKey::parse(&key.public().text()).expect("a key")], uid)
        };
        let at = |seconds: i64| u64::try_from(NOON.as_second() + seconds).expect("after 1970");
        assert!(inside("uid-1", &key).verify(&token, at(0)).is_ok());
        assert!(inside("uid-1", &key).verify(&token, at(LIFETIME.as_secs())).is_err(), "it is over");
        assert!(inside("uid-2", &key).verify(&token, at(0)).is_err());
        let other = PrivateKey::read(&PrivateKey::generate()).expect("a key");
        assert!(inside("uid-1", &other).verify(&token, at(0)).is_err());
    }
}
