//! JSON Web Tokens in their compact form, signed with ES256 and no other algorithm: what is read of a token's own header
//! is only which key it names. What the claims mean is `claims`' to say.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, UnparsedPublicKey,
};
use serde_json::{Value, json};

/// What a P-256 public key looks like before its point, in the structure by which keys are identified.
const SUBJECT_PUBLIC_KEY_INFO: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// Tokens are a few hundred bytes; whatever is longer is none of ours.
const LONGEST: usize = 16 * 1024;

/// The key that signs the tokens of ServiceAccounts.
pub struct SigningKey {
    pair: EcdsaKeyPair,
    id: String,
}

/// Why a token is not one of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Not a token of this server at all
    Foreign,
    /// Signed with a key that is not known
    UnknownKey,
    BadSignature,
}

impl SigningKey {
    /// Nothing where the bytes are not a P-256 key in PKCS #8.
    pub fn from_pkcs8(der: &[u8]) -> Option<Self> {
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &SystemRandom::new()).ok()?;
        let id = key_id(pair.public_key().as_ref());
        Some(Self { pair, id })
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// The public key as a JSON Web Key, for `/openid/v1/jwks`.
    pub fn to_jwk(&self) -> Value {
        let point = self.pair.public_key().as_ref();
        let coordinate = |range| URL_SAFE_NO_PAD.encode(point.get(range).unwrap_or_default());
        json!({
            "use": "sig", "kty": "EC", "kid": self.id, "crv": "P-256", "alg": "ES256",
            "x": coordinate(1..33), "y": coordinate(33..65),
        })
    }

    pub(super) fn sign(&self, claims: &Value) -> Option<String> {
        let header = json!({"alg": "ES256", "kid": self.id});
        let encoded = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let signed = format!("{}.{}", encoded(&header), encoded(claims));
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes()).ok()?;
        Some(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// The claims of a token that this key has signed for an issuer.
    pub(super) fn verify(&self, token: &str, issuer: &str) -> Result<Value, Refused> {
        let parts = Parts::split(token).ok_or(Refused::Foreign)?;
        let claims = parts.claims().filter(|claims| claims["iss"] == *issuer).ok_or(Refused::Foreign)?;
        let header = parts.header().ok_or(Refused::Foreign)?;
        let signature = URL_SAFE_NO_PAD.decode(parts.signature).map_err(|_| Refused::Foreign)?;
        match header.get("kid") {
            None => {}
            Some(id) if *id == *self.id => {}
            Some(_) => return Err(Refused::UnknownKey),
        }
        // A critical extension says that the token must not be read by who does not know it.
        if header["alg"] != "ES256" || header.get("crit").is_some() {
            return Err(Refused::BadSignature);
        }
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.pair.public_key().as_ref());
        key.verify(parts.signed.as_bytes(), &signature).map_err(|_| Refused::BadSignature)?;
        Ok(claims)
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SigningKey({})", self.id)
    }
}

/// By which name a public key is known: a digest from which the key cannot be told.
fn key_id(point: &[u8]) -> String {
    let info = [&SUBJECT_PUBLIC_KEY_INFO, point].concat();
    URL_SAFE_NO_PAD.encode(digest(&SHA256, &info))
}

struct Parts<'a> {
    /// The first two parts, which the signature covers as they are written
    signed: &'a str,
    header: &'a str,
    claims: &'a str,
    signature: &'a str,
}

impl<'a> Parts<'a> {
    fn split(token: &'a str) -> Option<Self> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let well_formed = token.len() <= LONGEST && !claims.contains('.');
        well_formed.then_some(Self { signed, header, claims, signature })
    }

    fn header(&self) -> Option<Value> {
        decoded(self.header)
    }

    fn claims(&self) -> Option<Value> {
        decoded(self.claims)
    }
}

fn decoded(part: &str) -> Option<Value> {
    let value: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()?;
    value.is_object().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_ids_that_the_real_server_gives_them() {
        let coordinates =
            ["wauNDQvA0p4gq1b6mfVI4ZlxpvuW2kpXOL3EKyFHa6Y", "JgD6EEwNOLAXjL35z3IzHUcrAextkQhyBnkwScPp8ck"];
        let [x, y] = coordinates.map(|coordinate| URL_SAFE_NO_PAD.decode(coordinate).unwrap());
        assert_eq!(key_id(&[vec![4], x, y].concat()), "P0dHYHoPBO3LObV8kUdVjFCUcBxoF4gPKHyTjdgTTn0");
    }
}
