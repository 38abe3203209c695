//! Tokens by which a sandbox knows who may use it: `s1.<payload>.<signature>`. The payload is JSON that names one sandbox and a
//! time; the signature is Ed25519 over a fixed context and the payload's text. A sandbox holds public keys only, so nobody inside
//! can make a token, and one for a sandbox is of no use at another. Both parts are base64url without padding.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

/// The version of the format, and what a token begins with.
pub const VERSION: &str = "s1";
/// How far ahead a token may end, in seconds.
pub const LONGEST: u64 = 15 * 60;

/// Nothing else that these keys may ever sign begins like this.
const CONTEXT: &str = "agent-sandbox/sandboxd-token/v1.";
/// A token with the longest names that Kubernetes has is a quarter of it.
const LARGEST: usize = 2048;
const KEY_LENGTH: usize = 32;

/// What a token says. A field that we do not know may be a restriction, so a token with one is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// The UID of the sandbox that it opens.
    pub uid: String,
    /// The first second, since 1970, at which it is of no use.
    pub exp: u64,
    /// The first second at which it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nbf: Option<u64>,
}

/// Why a token is refused. For logs: who asks is told nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the token is not written as s1.<payload>.<signature>")]
    Malformed,
    #[error("the token was signed by none of the keys")]
    Forged,
    #[error("the token is for another sandbox")]
    OtherSandbox,
    #[error("the token has expired")]
    Expired,
    #[error("the token is not valid yet")]
    Early,
    #[error("the token is valid for longer than {LONGEST} seconds")]
    Long,
}

/// A key by which signatures are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey([u8; KEY_LENGTH]);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a public key is the base64 of the 32 bytes of an Ed25519 key")]
pub struct NoKey;

impl PublicKey {
    /// Reads any of the usual spellings of base64.
    pub fn parse(text: &str) -> Result<Self, NoKey> {
        let engines = [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD];
        let bytes = engines.iter().find_map(|engine| engine.decode(text.trim()).ok()).ok_or(NoKey)?;
        bytes.try_into().map(Self).map_err(|_| NoKey)
    }
}

/// Checks the tokens of one sandbox.
#[derive(Clone, Debug)]
pub struct Verifier {
    keys: Vec<PublicKey>,
    uid: String,
}

impl Verifier {
    pub fn new(keys: Vec<PublicKey>, uid: impl Into<String>) -> Self {
        Self { keys, uid: uid.into() }
    }

    /// `now` is in seconds since 1970.
    pub fn verify(&self, token: &str, now: u64) -> Result<Claims, Refusal> {
        let payload = self.signed(token)?;
        let claims = URL_SAFE_NO_PAD.decode(payload).map_err(|_| Refusal::Malformed)?;
        let claims: Claims = serde_json::from_slice(&claims).map_err(|_| Refusal::Malformed)?;
        match &claims {
            _ if claims.uid != self.uid => Err(Refusal::OtherSandbox),
            _ if claims.exp <= now => Err(Refusal::Expired),
            _ if claims.exp - now > LONGEST => Err(Refusal::Long),
            Claims { nbf: Some(begin), .. } if *begin > now => Err(Refusal::Early),
            _ => Ok(claims),
        }
    }

    /// The payload, once its signature was seen: before that it is anybody's.
    fn signed<'a>(&self, token: &'a str) -> Result<&'a str, Refusal> {
        let parts = token.strip_prefix(VERSION).and_then(|rest| rest.strip_prefix('.'));
        let parts = parts.filter(|_| token.len() <= LARGEST).and_then(|parts| parts.split_once('.'));
        let (payload, signature) = parts.ok_or(Refusal::Malformed)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| Refusal::Malformed)?;
        let message = message(payload);
        let is_signer = |key: &&PublicKey| {
            UnparsedPublicKey::new(&ED25519, key.0).verify(message.as_bytes(), &signature).is_ok()
        };
        self.keys.iter().find(is_signer).map(|_| payload).ok_or(Refusal::Forged)
    }
}

fn message(payload: &str) -> String {
    format!("{CONTEXT}{payload}")
}

#[cfg(any(test, feature = "mint"))]
pub use mint::Mint;

#[cfg(any(test, feature = "mint"))]
mod mint {
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use ring::signature::{Ed25519KeyPair, KeyPair};

    use super::{Claims, VERSION, message};

    /// Makes tokens. Its key stays outside of sandboxes.
    pub struct Mint(Ed25519KeyPair);

    impl Mint {
        /// The seed is the private key: 32 bytes that nobody else knows.
        pub fn from_seed(seed: &[u8; 32]) -> Self {
            Self(Ed25519KeyPair::from_seed_unchecked(seed).expect("any 32 bytes are a seed"))
        }

        pub fn token(&self, claims: &Claims) -> String {
            let claims = serde_json::to_vec(claims).expect("claims are JSON");
            let payload = URL_SAFE_NO_PAD.encode(claims);
            let signature = self.0.sign(message(&payload).as_bytes());
            format!("{VERSION}.{payload}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
        }

        /// What sandboxes are given, in base64.
        pub fn public_key(&self) -> String {
            STANDARD.encode(self.0.public_key().as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: u64 = 1_800_000_000;
    const UID: &str = "5e2f6a0e-9d0c-4a55-8a34-0d3c6a1b7f10";

    fn mint() -> Mint {
        Mint::from_seed(&[7; 32])
    }

    fn verifier() -> Verifier {
        Verifier::new(vec![PublicKey::parse(&mint().public_key()).unwrap()], UID)
    }

    fn claims() -> Claims {
        Claims { uid: UID.to_owned(), exp: NOW + 300, nbf: None }
    }

    fn judged(claims: Claims) -> Result<Claims, Refusal> {
        verifier().verify(&mint().token(&claims), NOW)
    }

    #[test]
    fn a_token_opens_the_sandbox_that_it_names() {
        assert_eq!(judged(claims()), Ok(claims()));
    }

    #[test]
    fn a_token_for_another_sandbox_is_refused() {
        assert_eq!(judged(Claims { uid: "other".to_owned(), ..claims() }), Err(Refusal::OtherSandbox));
    }

    #[test]
    fn a_token_is_valid_to_the_second_before_its_end() {
        assert!(judged(Claims { exp: NOW + 1, ..claims() }).is_ok());
        assert_eq!(judged(Claims { exp: NOW, ..claims() }), Err(Refusal::Expired));
        assert_eq!(judged(Claims { exp: 0, ..claims() }), Err(Refusal::Expired));
    }

    #[test]
    fn a_token_ends_within_a_quarter_of_an_hour() {
        assert!(judged(Claims { exp: NOW + LONGEST, ..claims() }).is_ok());
        assert_eq!(judged(Claims { exp: NOW + LONGEST + 1, ..claims() }), Err(Refusal::Long));
        assert_eq!(judged(Claims { exp: u64::MAX, ..claims() }), Err(Refusal::Long));
    }

    #[test]
    fn a_token_is_valid_from_its_first_second() {
        assert!(judged(Claims { nbf: Some(NOW), ..claims() }).is_ok());
        assert_eq!(judged(Claims { nbf: Some(NOW + 1), ..claims() }), Err(Refusal::Early));
    }

    #[test]
    fn a_token_of_another_key_is_refused_and_of_a_second_key_accepted() {
        let stranger = Mint::from_seed(&[8; 32]);
        let token = stranger.token(&claims());
        assert_eq!(verifier().verify(&token, NOW), Err(Refusal::Forged));
        let keys = [mint().public_key(), stranger.public_key()].map(|key| PublicKey::parse(&key).unwrap());
        assert!(Verifier::new(keys.to_vec(), UID).verify(&token, NOW).is_ok());
    }

    #[test]
    fn without_a_key_nothing_is_accepted() {
        let nobody = Verifier::new(Vec::new(), UID);
        assert_eq!(nobody.verify(&mint().token(&claims()), NOW), Err(Refusal::Forged));
    }

    #[test]
    fn a_claim_that_we_do_not_know_may_be_a_restriction() {
        let payload =
            URL_SAFE_NO_PAD.encode(format!(r#"{{"uid":"{UID}","exp":{},"scope":"read"}}"#, NOW + 9));
        let pair = ring::signature::Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let signature = URL_SAFE_NO_PAD.encode(pair.sign(message(&payload).as_bytes()).as_ref());
        let token = format!("s1.{payload}.{signature}");
        assert_eq!(verifier().verify(&token, NOW), Err(Refusal::Malformed));
    }

    #[test]
    fn the_context_is_part_of_what_is_signed() {
        let payload = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&claims()).unwrap());
        let pair = ring::signature::Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let signature = URL_SAFE_NO_PAD.encode(pair.sign(payload.as_bytes()).as_ref());
        assert_eq!(verifier().verify(&format!("s1.{payload}.{signature}"), NOW), Err(Refusal::Forged));
    }

    #[test]
    fn a_key_is_read_in_every_spelling_of_base64() {
        let key = PublicKey([0xfb; 32]);
        for engine in [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD] {
            assert_eq!(PublicKey::parse(&engine.encode(key.0)), Ok(key.clone()));
        }
        assert_eq!(PublicKey::parse(&STANDARD.encode([1; 31])), Err(NoKey));
    }

    proptest! {
        #[test]
        fn no_bit_of_a_token_can_be_changed(at in 0_usize..1000, bit in 0_u8..8) {
            let token = mint().token(&claims());
            let mut bytes = token.clone().into_bytes();
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            if let Ok(changed) = String::from_utf8(bytes) {
                prop_assert!(verifier().verify(&changed, NOW).is_err());
            }
        }

        #[test]
        fn nothing_can_be_added_or_cut(tail in ".{1,8}", keep in 0_usize..200) {
            let token = mint().token(&claims());
            let longer = format!("{token}{tail}");
            prop_assert!(verifier().verify(&longer, NOW).is_err());
            let shorter = &token[..keep.min(token.len() - 1)];
            prop_assert!(verifier().verify(shorter, NOW).is_err());
        }

        #[test]
        fn garbage_is_refused(text in ".*") {
            prop_assert!(verifier().verify(&text, NOW).is_err());
        }

        #[test]
        fn garbage_in_the_shape_of_a_token_is_refused(payload in "[A-Za-z0-9_-]{0,99}", signature in "[A-Za-z0-9_-]{86}") {
            let token = format!("s1.{payload}.{signature}");
            prop_assert!(verifier().verify(&token, NOW).is_err());
        }

        #[test]
        fn what_is_accepted_is_what_was_meant(uid in ".{0,40}", ahead in 0_u64..2000, wait in proptest::option::of(0_u64..2000)) {
            let claims = Claims { uid, exp: NOW + ahead, nbf: wait.map(|wait| NOW + wait) };
            let expected = claims.uid == UID && ahead > 0 && ahead <= LONGEST && wait.is_none_or(|wait| wait == 0);
            prop_assert_eq!(judged(claims).is_ok(), expected);
        }
    }
}
