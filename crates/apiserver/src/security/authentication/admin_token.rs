//! A token that whoever runs the server has chosen, for scripts that cannot use a certificate.

use std::fmt;

use ring::{hmac, rand};

use super::User;
use crate::security::authorization::index::MASTERS;

/// Kept as a keyed digest: the token is not in memory, and comparing takes the same time however much of it is right.
pub struct AdminToken {
    key: hmac::Key,
    digest: hmac::Tag,
}

/// Shorter ones could be guessed.
const LEAST: usize = 32;

impl AdminToken {
    /// Nothing for a token that is too short, or that could not be sent in a header.
    pub fn new(token: &str) -> Option<Self> {
        if token.len() < LEAST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &rand::SystemRandom::new()).ok()?;
        let digest = hmac::sign(&key, token.as_bytes());
        Some(Self { key, digest })
    }

    pub(super) fn user(&self, token: &str) -> Option<User> {
        hmac::verify(&self.key, token.as_bytes(), self.digest.as_ref()).ok()?;
        Some(User::new("kubernetes-admin", &[MASTERS]).authenticated())
    }
}

impl fmt::Debug for AdminToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AdminToken")
    }
}
