//! Asks the API server who a token is and what a user may. Answers count for a while, so that a busy client costs it
//! little; that it could not be asked is not remembered.

use std::collections::BTreeMap;
use std::time::Duration;

use asb_core::object::Key;
use asb_types::GROUP;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};

use super::remembered::{Digest, Remembered};
use crate::refusal::Refusal;

const PATIENCE: Duration = Duration::from_secs(3);

/// Somebody, as the API server knows them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct User {
    pub name: String,
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
}

pub(super) struct Reviews {
    client: Client,
    audiences: Vec<String>,
    users: Remembered<Digest, Option<User>>,
    rights: Remembered<(User, Key), bool>,
}

impl Reviews {
    pub(super) fn new(client: Client, audiences: Vec<String>) -> Self {
        Self { client, audiences, users: Remembered::default(), rights: Remembered::default() }
    }

    /// Nobody, where the token is nobody's.
    pub(super) async fn user_of(&self, token: &str) -> Result<Option<User>, Refusal> {
        let key = Digest::of(token);
        if let Some(user) = self.users.get(&key) {
            return Ok(user);
        }
        let audiences = (!self.audiences.is_empty()).then(|| self.audiences.clone());
        let review = TokenReview {
            spec: TokenReviewSpec { token: token.to_owned(), audiences },
            ..TokenReview::default()
        };
        let reviewed = self.ask(&review).await?.status.unwrap_or_default();
        let is_somebody = reviewed.authenticated.unwrap_or_default();
        let user = is_somebody.then(|| reviewed.user.map(user)).flatten();
        self.users.put(key, user.clone());
        Ok(user)
    }

    pub(super) async fn may_connect(&self, user: &User, sandbox: &Key) -> Result<bool, Refusal> {
        let key = (user.clone(), sandbox.clone());
        if let Some(may) = self.rights.get(&key) {
            return Ok(may);
        }
        let review = SubjectAccessReview { spec: question(user, sandbox), ..SubjectAccessReview::default() };
        let may = self.ask(&review).await?.status.is_some_and(|status| status.allowed);
        self.rights.put(key, may);
        Ok(may)
    }

    async fn ask<K>(&self, review: &K) -> Result<K, Refusal>
    where
        K: kube::Resource<Scope = kube::core::ClusterResourceScope, DynamicType = ()>
            + Clone
            + std::fmt::Debug
            + serde::Serialize
            + serde::de::DeserializeOwned,
    {
        let reviews: Api<K> = Api::all(self.client.clone());
        let parameters = PostParams::default();
        match tokio::time::timeout(PATIENCE, reviews.create(&parameters, review)).await {
            Ok(Ok(reviewed)) => Ok(reviewed),
            Ok(Err(error)) => {
                tracing::warn!(%error, "the API server did not say who may reach a Sandbox");
                Err(Refusal::Undecided)
            }
            Err(_) => {
                tracing::warn!("the API server took too long to say who may reach a Sandbox");
                Err(Refusal::Undecided)
            }
        }
    }
}

fn question(user: &User, sandbox: &Key) -> SubjectAccessReviewSpec {
    SubjectAccessReviewSpec {
        user: Some(user.name.clone()),
        uid: Some(user.uid.clone()).filter(|uid| !uid.is_empty()),
        groups: Some(user.groups.clone()),
        extra: Some(user.extra.clone()).filter(|extra| !extra.is_empty()),
        resource_attributes: Some(ResourceAttributes {
            group: Some(GROUP.to_owned()),
            resource: Some("sandboxes".to_owned()),
            subresource: Some("connect".to_owned()),
            verb: Some("create".to_owned()),
            namespace: Some(sandbox.namespace.to_string()),
            name: Some(sandbox.name.to_string()),
            ..ResourceAttributes::default()
        }),
        ..SubjectAccessReviewSpec::default()
    }
}

fn user(info: k8s_openapi::api::authentication::v1::UserInfo) -> User {
    User {
        name: info.username.unwrap_or_default(),
        uid: info.uid.unwrap_or_default(),
        groups: info.groups.unwrap_or_default(),
        extra: info.extra.unwrap_or_default(),
    }
}
