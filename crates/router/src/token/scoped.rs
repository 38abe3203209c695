//! `v1.<payload>.<signature>` and `v2.<payload>.<signature>`: the payload says which Sandbox and until when, in JSON; both parts
//! are unpadded base64url. What is signed is the payload's text behind a word of its own, so that no other signature of the
//! same key can be taken for one of these.

use asb_core::object::Key;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{PrivateKey, PublicKey, Secret};

const SHARED: &str = "agent-sandbox/scoped-token/v1.";
const PAIRED: &str = "agent-sandbox/scoped-token/v2.";

/// No honest token is longer.
const LONGEST: usize = 2048;

/// What a token is good for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    #[serde(rename = "ns")]
    pub namespace: String,
    pub name: String,
    /// The end, in seconds since 1970; it is no longer good at that second.
    pub exp: i64,
    /// The one Sandbox of that name that is meant, so that a successor of the name is not let in for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// The one port that is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

/// Why a token lets nobody in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Untrusted {
    #[error("it is no scoped token")]
    Shape,
    #[error("its signature is not ours")]
    Signature,
    #[error("it has expired")]
    Expired,
}

/// What tokens are checked with.
#[derive(Clone, Default)]
pub struct Keys {
    pub secrets: Vec<Secret>,
    pub public: Vec<PublicKey>,
}

impl Scope {
    pub fn signed_with_secret(&self, secret: &Secret) -> String {
        self.signed("v1", SHARED, |text| secret.sign(text))
    }

    pub fn signed_with_key(&self, key: &PrivateKey) -> String {
        self.signed("v2", PAIRED, |text| key.sign(text))
    }

    fn signed(&self, version: &str, word: &str, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
        let payload = URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).expect("text and numbers"));
        let signature = URL_SAFE_NO_PAD.encode(sign(format!("{word}{payload}").as_bytes()));
        format!("{version}.{payload}.{signature}")
    }

    /// Whether its time is not over yet.
    pub fn is_good_at(&self, now: Timestamp) -> bool {
        now.as_second() < self.exp
    }

    /// Whether it lets its bearer into this port of this Sandbox.
    pub fn covers(&self, sandbox: &Key, uid: Option<&str>, port: u16) -> bool {
        *self.namespace == *sandbox.namespace
            && *self.name == *sandbox.name
            && self.port.is_none_or(|only| only == port)
            && self.uid.as_deref().is_none_or(|only| uid.is_some_and(|uid| uid == only))
    }
}

impl Keys {
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty() && self.public.is_empty()
    }

    pub fn check(&self, token: &str, now: Timestamp) -> Result<Scope, Untrusted> {
        if token.len() > LONGEST {
            return Err(Untrusted::Shape);
        }
        let mut parts = token.split('.');
        let (Some(version), Some(payload), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(Untrusted::Shape);
        };
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| Untrusted::Shape)?;
        let is_ours = match version {
            "v1" => {
                let text = format!("{SHARED}{payload}");
                self.secrets.iter().any(|secret| secret.has_signed(text.as_bytes(), &signature))
            }
            "v2" => {
                let text = format!("{PAIRED}{payload}");
                self.public.iter().any(|key| key.has_signed(text.as_bytes(), &signature))
            }
            _ => return Err(Untrusted::Shape),
        };
        if !is_ours {
            return Err(Untrusted::Signature);
        }
        let payload = URL_SAFE_NO_PAD.decode(payload).map_err(|_| Untrusted::Shape)?;
        let scope: Scope = serde_json::from_slice(&payload).map_err(|_| Untrusted::Shape)?;
        if scope.is_good_at(now) { Ok(scope) } else { Err(Untrusted::Expired) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOON: Timestamp = Timestamp::constant(1_893_499_200, 0);

    fn scope() -> Scope {
        let exp = NOON.as_second() + 60;
        Scope { namespace: "team".to_owned(), name: "box".to_owned(), exp, uid: None, port: None }
    }

    fn secret() -> Secret {
        Secret::read(&[7; 32]).expect("long enough")
    }

    fn keys(key: &PrivateKey) -> Keys {
        Keys { secrets: vec![secret()], public: vec![key.public()] }
    }

    fn key() -> PrivateKey {
        PrivateKey::read(&PrivateKey::generate()).expect("a key")
    }

    /// Made with Python's hmac and base64, as somebody would who reads the contract.
    #[test]
    fn a_token_of_the_contract_is_what_others_make_of_it() {
        let made = scope().signed_with_secret(&secret());
        assert_eq!(
            made,
            "v1.eyJucyI6InRlYW0iLCJuYW1lIjoiYm94IiwiZXhwIjoxODkzNDk5MjYwfQ.WKaIeOteZ-JoXmythJwJduz4DagWV43QHlBXXWiZY0g"
        );
    }

    #[test]
    fn both_sorts_of_tokens_are_good_until_their_end() {
        let key = key();
        for token in [scope().signed_with_secret(&secret()), scope().signed_with_key(&key)] {
            assert_eq!(keys(&key).check(&token, NOON), Ok(scope()));
            let late = NOON + jiff::SignedDuration::from_secs(60);
            assert_eq!(keys(&key).check(&token, late), Err(Untrusted::Expired));
            assert_eq!(Keys::default().check(&token, NOON), Err(Untrusted::Signature));
        }
    }

    #[test]
    fn one_sort_is_not_taken_for_the_other() {
        let key = key();
        let token = scope().signed_with_key(&key).replacen("v2", "v1", 1);
        assert_eq!(keys(&key).check(&token, NOON), Err(Untrusted::Signature));
    }

    #[test]
    fn a_token_is_for_one_sandbox() {
        let (here, there) = (Key::new("team", "box"), Key::new("team", "other"));
        assert!(scope().covers(&here, None, 80) && !scope().covers(&there, None, 80));
        assert!(!scope().covers(&Key::new("other", "box"), None, 80));
        let narrow = Scope { uid: Some("u1".to_owned()), port: Some(80), ..scope() };
        assert!(narrow.covers(&here, Some("u1"), 80));
        assert!(!narrow.covers(&here, Some("u2"), 80) && !narrow.covers(&here, None, 80));
        assert!(!narrow.covers(&here, Some("u1"), 81));
    }

    proptest! {
        #[test]
        fn no_change_of_a_token_goes_unseen(at in 0usize..200, flip in 1u8..128) {
            let key = key();
            for token in [scope().signed_with_secret(&secret()), scope().signed_with_key(&key)] {
                let mut bytes = token.clone().into_bytes();
                let at = at % bytes.len();
                bytes[at] ^= flip;
                let Ok(changed) = String::from_utf8(bytes) else { continue };
                prop_assert!(keys(&key).check(&changed, NOON).is_err(), "{changed}");
            }
        }

        #[test]
        fn what_is_signed_is_read_back_as_it_was(
            namespace in ".{0,20}", name in ".{0,20}", later in 1..i64::from(u32::MAX),
            uid in prop::option::of(".{0,40}"), port in prop::option::of(any::<u16>()),
        ) {
            let (key, exp) = (key(), NOON.as_second() + later);
            let scope = Scope { namespace, name, exp, uid, port };
            for token in [scope.signed_with_secret(&secret()), scope.signed_with_key(&key)] {
                prop_assert_eq!(keys(&key).check(&token, NOON), Ok(scope.clone()));
                let part = token.len() / 2;
                prop_assert!(keys(&key).check(&token[..part], NOON).is_err());
                prop_assert!(keys(&key).check(&token[..token.len() - 1], NOON).is_err());
            }
        }

        #[test]
        fn rubbish_is_no_token(token in ".{0,100}") {
            prop_assert!(keys(&key()).check(&token, NOON).is_err());
        }
    }
}
