//! The tokens of ServiceAccounts that this server has issued.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::claims::Claims;
use super::jwt::Refused;
use super::liveness::Objects;
use super::{SigningKey, User};
use crate::security::authorization::rule::QuotedList;

/// Issues tokens, and knows its own again.
#[derive(Debug)]
pub struct Tokens {
    pub key: SigningKey,
    /// By which name it issues them, such as `https://kubernetes.default.svc.cluster.local`
    pub issuer: String,
    /// For whom tokens are that do not say; whoever asks this server with one must be among them.
    pub audiences: Vec<String>,
}

/// A token that is good, and for which of the wanted audiences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    pub user: User,
    pub audiences: Vec<String>,
}

impl Tokens {
    /// Tokens that are for this server itself.
    pub fn new(key: SigningKey, issuer: &str) -> Self {
        Self { key, issuer: issuer.to_owned(), audiences: vec![issuer.to_owned()] }
    }

    /// What `/.well-known/openid-configuration` says, for others who want to check tokens themselves.
    pub fn discovery(&self, keys: &str) -> Value {
        json!({
            "issuer": self.issuer,
            "jwks_uri": keys,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        })
    }

    /// What `/openid/v1/jwks` says.
    pub fn keys(&self) -> Value {
        json!({"keys": [self.key.to_jwk()]})
    }

    /// Who a token is, if it is good now and for one of the audiences.
    pub fn accept(
        &self,
        token: &str,
        audiences: &[String],
        objects: &impl Objects,
        now: Timestamp,
    ) -> Result<Accepted, String> {
        let claims = self.key.verify(token, &self.issuer).map_err(|refused| refused.in_words().to_owned())?;
        let claims = Claims::parse(&claims).ok_or_else(|| Refused::BadSignature.in_words().to_owned())?;
        let common: Vec<_> =
            audiences.iter().filter(|audience| claims.audiences.contains(audience)).cloned().collect();
        if common.is_empty() {
            let (own, wanted) = (QuotedList(&claims.audiences), QuotedList(audiences));
            let why = format!("token audiences {own} is invalid for the target audiences {wanted}");
            return Err(with_cause(&why));
        }
        claims.check(objects, now).map_err(|why| with_cause(&why))?;
        Ok(Accepted { user: claims.user(), audiences: common })
    }
}

impl Refused {
    fn in_words(self) -> &'static str {
        match self {
            Self::Foreign => "invalid bearer token",
            Self::UnknownKey => "[invalid bearer token, invalid signature, no keys found]",
            Self::BadSignature => "[invalid bearer token, invalid signature]",
        }
    }
}

fn with_cause(why: &str) -> String {
    format!("[invalid bearer token, {why}]")
}
