//! Who sends a request: the user that a client certificate or a bearer token names, or a stranger, and whom that user
//! wants to be taken for. What they may do is `authorization`'s to say.

mod admin_token;
mod claims;
pub mod impersonation;
mod jwt;
mod liveness;
pub mod review;
pub mod service_account;
mod token_request;
mod tokens;
mod user;

#[cfg(test)]
mod tests;

pub use admin_token::AdminToken;
pub use jwt::SigningKey;
pub use liveness::{Object, Objects};
pub use token_request::ServiceAccount;
pub use tokens::{Accepted, Tokens};
pub use user::{ANONYMOUS, AUTHENTICATED, CREDENTIAL_ID, UNAUTHENTICATED, User};

use jiff::Timestamp;

use crate::status::Status;

/// What a client brings along to say who it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Credentials<'a> {
    /// The user of the client certificate, which the handshake has verified.
    pub certificate: Option<&'a User>,
    /// The `Authorization` header.
    pub authorization: Option<&'a str>,
}

/// Knows the tokens of this server.
#[derive(Debug)]
pub struct Authenticator {
    pub tokens: Tokens,
    pub admin: Option<AdminToken>,
}

impl Authenticator {
    /// A certificate counts before a token. A token that is not good is refused, not ignored; only who brings neither is
    /// a stranger.
    pub fn authenticate(
        &self,
        credentials: Credentials<'_>,
        objects: &impl Objects,
        now: Timestamp,
    ) -> Result<User, Status> {
        if let Some(user) = credentials.certificate {
            return Ok(user.clone().authenticated());
        }
        let Some(token) = credentials.authorization.and_then(bearer) else { return Ok(User::anonymous()) };
        self.accept(token, &self.tokens.audiences, objects, now)
            .map(|accepted| accepted.user)
            .map_err(|_| Status::unauthorized())
    }

    /// The user of a token that is good for one of some audiences, or why it is not.
    pub fn accept(
        &self,
        token: &str,
        audiences: &[String],
        objects: &impl Objects,
        now: Timestamp,
    ) -> Result<Accepted, String> {
        if let Some(user) = self.admin.as_ref().and_then(|admin| admin.user(token)) {
            return Ok(Accepted { user, audiences: audiences.to_vec() });
        }
        self.tokens.accept(token, audiences, objects, now)
    }
}

/// The token of an `Authorization` header, if it has one.
fn bearer(header: &str) -> Option<&str> {
    let mut parts = header.trim().splitn(3, ' ');
    let scheme = parts.next()?;
    let token = parts.next()?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
