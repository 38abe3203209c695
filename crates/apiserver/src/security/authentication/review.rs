//! The review APIs of authentication: whose token is this, and who am I.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::token_request::in_seconds;
use super::{Authenticator, Objects, User};
use crate::security::json::{text, texts};
use crate::status::Status;

impl Authenticator {
    /// Answers a TokenReview. A token that is not good is an answer, not an error.
    pub fn token_review(
        &self,
        body: &Value,
        objects: &impl Objects,
        now: Timestamp,
    ) -> Result<Value, Status> {
        let token = match text(body, &["spec", "token"]) {
            "" => return Err(Status::bad_request("token is required for TokenReview in authentication")),
            token => token,
        };
        let mut answer = body.clone();
        answer["status"] = self.review(token, &texts(body, &["spec", "audiences"]), objects, now);
        Ok(answer)
    }

    /// The status of a TokenReview; without audiences, those of this server count.
    pub fn review(&self, token: &str, audiences: &[String], objects: &impl Objects, now: Timestamp) -> Value {
        let audiences = if audiences.is_empty() { &self.tokens.audiences } else { audiences };
        match self.accept(token, audiences, objects, now) {
            Ok(accepted) => json!({
                "authenticated": true,
                "user": accepted.user.to_json(),
                "audiences": accepted.audiences,
            }),
            Err(why) => json!({"user": {}, "error": why}),
        }
    }
}

/// Answers a SelfSubjectReview.
pub fn self_subject(user: &User, now: Timestamp) -> Value {
    json!({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "SelfSubjectReview",
        "metadata": {"creationTimestamp": in_seconds(now)},
        "status": {"userInfo": user.to_json()},
    })
}
