//! Who may reach which Sandbox. Fails closed: whoever is not known to be allowed is refused.

mod remembered;
mod reviews;

use std::sync::Arc;

use asb_core::object::Key;
use jiff::Timestamp;

use crate::refusal::Refusal;
use crate::token::{Keys, Scope};
use remembered::{Digest, Remembered};
use reviews::Reviews;
pub use reviews::User;

/// Who is asked whether a request may pass.
#[derive(Default)]
pub struct Authority {
    everyone: bool,
    keys: Keys,
    /// Of tokens that one of the keys made: looking at a signature takes longer than everything else here.
    scopes: Remembered<Digest, Arc<Scope>>,
    reviews: Option<Reviews>,
}

/// Who sent a request, as far as the connection says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Nobody has vouched for them: what they show counts.
    Stranger,
    /// The API server has let them in as this user.
    User(User),
    /// The API server has let them in to the router's Pod, which is the right to reach every Sandbox.
    Trusted,
}

/// Into what they want.
pub(crate) struct Door<'a> {
    pub sandbox: &'a Key,
    /// Of the Sandbox that has the name now, if there is one.
    pub uid: Option<&'a str>,
    pub port: u16,
}

impl Authority {
    /// Whoever reaches the router reaches every Sandbox.
    pub fn everyone() -> Self {
        Self { everyone: true, ..Self::default() }
    }

    /// Bearers of tokens that one of the keys made.
    #[must_use]
    pub fn with_keys(mut self, keys: Keys) -> Self {
        self.keys = keys;
        self
    }

    /// Users of the API server who may `create` the Sandbox's `connect`.
    #[must_use]
    pub fn with_reviews(mut self, client: kube::Client, audiences: Vec<String>) -> Self {
        self.reviews = Some(Reviews::new(client, audiences));
        self
    }

    /// Whether anybody at all can get in.
    pub fn lets_somebody_in(&self) -> bool {
        self.everyone || !self.keys.is_empty() || self.reviews.is_some()
    }

    pub(crate) async fn admit(
        &self,
        caller: &Caller,
        token: Option<&str>,
        door: &Door<'_>,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        if self.everyone {
            return Ok(());
        }
        match (caller, token) {
            (Caller::Trusted, _) => Ok(()),
            (Caller::User(user), _) => self.review(user, door).await,
            (Caller::Stranger, Some(token)) if is_scoped(token) => self.by_scope(token, door, now),
            (Caller::Stranger, Some(token)) => self.by_review(token, door).await,
            (Caller::Stranger, None) => Err(Refusal::Unauthenticated),
        }
    }

    fn by_scope(&self, token: &str, door: &Door<'_>, now: Timestamp) -> Result<(), Refusal> {
        let scope = self.scope_of(token, now)?;
        let covers = scope.covers(door.sandbox, door.uid, door.port);
        if covers { Ok(()) } else { Err(Refusal::Forbidden) }
    }

    fn scope_of(&self, token: &str, now: Timestamp) -> Result<Arc<Scope>, Refusal> {
        let key = Digest::of(token);
        if let Some(known) = self.scopes.get(&key).filter(|known| known.is_good_at(now)) {
            return Ok(known);
        }
        let scope = Arc::new(self.keys.check(token, now).map_err(|_| Refusal::Unauthenticated)?);
        self.scopes.put(key, Arc::clone(&scope));
        Ok(scope)
    }

    async fn by_review(&self, token: &str, door: &Door<'_>) -> Result<(), Refusal> {
        let reviews = self.reviews.as_ref().ok_or(Refusal::Unauthenticated)?;
        let user = reviews.user_of(token).await?.ok_or(Refusal::Unauthenticated)?;
        self.review(&user, door).await
    }

    async fn review(&self, user: &User, door: &Door<'_>) -> Result<(), Refusal> {
        let reviews = self.reviews.as_ref().ok_or(Refusal::Forbidden)?;
        if reviews.may_connect(user, door.sandbox).await? { Ok(()) } else { Err(Refusal::Forbidden) }
    }
}

fn is_scoped(token: &str) -> bool {
    token.starts_with("v1.") || token.starts_with("v2.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::Secret;

    const NOON: Timestamp = Timestamp::constant(1_893_499_200, 0);

    fn secret() -> Secret {
        Secret::read(&[7; 32]).expect("long enough")
    }

    fn token(name: &str) -> String {
        let exp = NOON.as_second() + 60;
        let scope = Scope { namespace: "team".to_owned(), name: name.to_owned(), exp, uid: None, port: None };
        scope.signed_with_secret(&secret())
    }

    async fn admitted(authority: &Authority, caller: Caller, token: Option<&str>) -> Result<(), Refusal> {
        let sandbox = Key::new("team", "box");
        authority.admit(&caller, token, &Door { sandbox: &sandbox, uid: None, port: 80 }, NOON).await
    }

    #[tokio::test]
    async fn a_stranger_needs_a_token_for_this_sandbox() {
        let authority = Authority::default().with_keys(Keys { secrets: vec![secret()], public: Vec::new() });
        let stranger = |token: Option<String>| {
            let authority = &authority;
            async move { admitted(authority, Caller::Stranger, token.as_deref()).await }
        };
        assert_eq!(stranger(Some(token("box"))).await, Ok(()));
        assert_eq!(stranger(Some(token("other"))).await, Err(Refusal::Forbidden));
        assert_eq!(stranger(Some("v1.a.b".to_owned())).await, Err(Refusal::Unauthenticated));
        assert_eq!(stranger(Some("something".to_owned())).await, Err(Refusal::Unauthenticated));
        assert_eq!(stranger(None).await, Err(Refusal::Unauthenticated));
    }

    #[tokio::test]
    async fn a_token_that_is_known_lets_in_no_further_and_no_longer() {
        let authority = Authority::default().with_keys(Keys { secrets: vec![secret()], public: Vec::new() });
        let token = token("box");
        let at = async |sandbox: &str, now| {
            let (sandbox, token) = (Key::new("team", sandbox), Some(token.as_str()));
            let door = Door { sandbox: &sandbox, uid: None, port: 80 };
            authority.admit(&Caller::Stranger, token, &door, now).await
        };
        assert_eq!(at("box", NOON).await, Ok(()));
        assert!(authority.scopes.get(&Digest::of(&token)).is_some(), "its signature is not looked at again");
        assert_eq!(at("other", NOON).await, Err(Refusal::Forbidden));
        let late = NOON + jiff::SignedDuration::from_secs(60);
        assert_eq!(at("box", late).await, Err(Refusal::Unauthenticated));
    }

    #[tokio::test]
    async fn where_nothing_is_set_nobody_is_let_in() {
        let authority = Authority::default();
        assert!(!authority.lets_somebody_in());
        assert!(admitted(&authority, Caller::Stranger, Some(&token("box"))).await.is_err());
        let user = User { name: "ann".to_owned(), ..User::default() };
        assert_eq!(admitted(&authority, Caller::User(user), None).await, Err(Refusal::Forbidden));
        assert_eq!(admitted(&Authority::everyone(), Caller::Stranger, None).await, Ok(()));
    }
}
