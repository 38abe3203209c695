//! The keys that tokens are made and checked with.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use ring::{hmac, signature};

use super::BadKey;

/// What a `v1` token is made and checked with.
#[derive(Clone)]
pub struct Secret(hmac::Key);

impl Secret {
    /// The bytes of a file; white space around them does not count.
    pub fn read(bytes: &[u8]) -> Result<Self, BadKey> {
        let trimmed = bytes.trim_ascii();
        if trimmed.len() < 32 {
            return Err(BadKey::TooShort);
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, trimmed)))
    }

    pub(super) fn sign(&self, text: &[u8]) -> Vec<u8> {
        hmac::sign(&self.0, text).as_ref().to_vec()
    }

    pub(super) fn has_signed(&self, text: &[u8], signature: &[u8]) -> bool {
        hmac::verify(&self.0, text, signature).is_ok()
    }
}

/// Makes `v2` tokens, and those for runtimes.
pub struct PrivateKey(Ed25519KeyPair);

impl PrivateKey {
    /// A new one, as PKCS#8 in base64: a line for a file.
    pub fn generate() -> String {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
        STANDARD.encode(document.expect("the system has randomness"))
    }

    /// What [`generate`](Self::generate) or `openssl genpkey -algorithm ed25519` wrote.
    pub fn read(text: &str) -> Result<Self, BadKey> {
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with("-----"));
        let der = STANDARD.decode(lines.collect::<String>()).map_err(|_| BadKey::NotPrivate)?;
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).map_err(|_| BadKey::NotPrivate)?;
        Ok(Self(pair))
    }

    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.public_key().as_ref().to_vec())
    }

    pub(super) fn sign(&self, text: &[u8]) -> Vec<u8> {
        self.0.sign(text).as_ref().to_vec()
    }
}

/// Checks `v2` tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey(Vec<u8>);

impl PublicKey {
    pub fn read(text: &str) -> Result<Self, BadKey> {
        let bytes = STANDARD.decode(text.trim()).map_err(|_| BadKey::NotPublic)?;
        if bytes.len() != signature::ED25519_PUBLIC_KEY_LEN {
            return Err(BadKey::NotPublic);
        }
        Ok(Self(bytes))
    }

    /// As others read it.
    pub fn text(&self) -> String {
        STANDARD.encode(&self.0)
    }

    pub(super) fn has_signed(&self, text: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.0).verify(text, signature).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_was_written_is_read_again() {
        let text = PrivateKey::generate();
        let key = PrivateKey::read(&text).expect("a key");
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n");
        assert_eq!(PrivateKey::read(&pem).expect("a key").public(), key.public());
        assert_eq!(PublicKey::read(&key.public().text()), Ok(key.public()));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        assert!(matches!(Secret::read(b"  short  \n"), Err(BadKey::TooShort)));
        assert!(matches!(PrivateKey::read("bm90aGluZw=="), Err(BadKey::NotPrivate)));
        assert_eq!(PublicKey::read("bm90aGluZw=="), Err(BadKey::NotPublic));
    }
}
