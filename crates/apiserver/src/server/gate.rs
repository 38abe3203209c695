//! Who comes in and what they may do: the decisions of [`crate::security`], fed with what the store holds.

use std::sync::{Arc, Mutex, PoisonError};

use axum::http::{HeaderMap, header};
use jiff::Timestamp;
use serde_json::Value;

use crate::api::Api;
use crate::security::authentication::impersonation;
use crate::security::authentication::{self, Authenticator, Credentials, Objects, ServiceAccount, User};
use crate::security::authorization::index::MASTERS;
use crate::security::authorization::{Attributes, Index, Resource, escalation, forbidden, review};
use crate::status::Status;
use crate::store::{Event, EventKind, Revision, Scope, Store, Watch};

const RULES: [&str; 4] = [
    "clusterrolebindings.rbac.authorization.k8s.io",
    "clusterroles.rbac.authorization.k8s.io",
    "rolebindings.rbac.authorization.k8s.io",
    "roles.rbac.authorization.k8s.io",
];

/// The program itself, when it talks to its own server.
pub(super) fn program() -> User {
    User::new("system:asb", &[MASTERS])
}

pub(super) struct Gate {
    authenticator: Authenticator,
    api: Arc<Api>,
    rules: Mutex<Rules>,
}

/// The roles and bindings as of a revision of the store. They are brought up to date before each decision, so that one
/// who was just given a permission has it.
struct Rules {
    /// Shared with decisions that are being made, so that a long one holds up nobody.
    index: Arc<Index>,
    watches: Vec<Watch>,
    at: Revision,
}

impl Gate {
    pub(super) fn new(api: &Arc<Api>, authenticator: Authenticator) -> Self {
        let rules = Mutex::new(Rules::read(api.store()));
        Self { authenticator, api: Arc::clone(api), rules }
    }

    /// The user of a request, after all that its headers say about that.
    pub(super) fn user(
        &self,
        certificate: Option<&User>,
        headers: &HeaderMap,
        request: &Attributes,
    ) -> Result<User, Status> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let credentials = Credentials { certificate, authorization: text(header::AUTHORIZATION) };
        let user = self.authenticator.authenticate(credentials, &Known(&self.api), Timestamp::now())?;
        match impersonation::wanted(headers)? {
            None => Ok(user),
            Some(wanted) => {
                impersonation::impersonate(&self.rules(), &user, &wanted, request, None).map(|(user, _)| user)
            }
        }
    }

    pub(super) fn authorize(&self, user: &User, request: &Attributes) -> Result<(), Status> {
        if user.is_in(MASTERS) {
            return Ok(());
        }
        let decision = self.rules().allowed(user, request);
        if decision.is_allowed() { Ok(()) } else { Err(forbidden(user, request, decision.reason())) }
    }

    /// Whoever writes a role or a binding must have what it grants.
    pub(super) fn check_grants(
        &self,
        user: &User,
        request: &Resource,
        new: &Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        if user.is_in(MASTERS) {
            return Ok(());
        }
        escalation::confirm(&self.rules(), user, request, new, old)
    }

    pub(super) fn issue_token(&self, account: ServiceAccount<'_>, request: &Value) -> Result<Value, Status> {
        let id = uuid::Uuid::new_v4();
        self.authenticator.tokens.issue(request, account, &Known(&self.api), Timestamp::now(), id)
    }

    /// Where others learn how to check the tokens of this server, and with which keys.
    pub(super) fn issuer(&self, keys: &str) -> Value {
        self.authenticator.tokens.discovery(keys)
    }

    pub(super) fn keys(&self) -> Value {
        self.authenticator.tokens.keys()
    }

    /// Answers a question of one of the review kinds.
    pub(super) fn review(
        &self,
        kind: &str,
        user: &User,
        namespace: Option<&str>,
        question: &Value,
    ) -> Result<Value, Status> {
        let rules = self.rules();
        match kind {
            "SubjectAccessReview" => review::subject_access(&rules, question),
            "LocalSubjectAccessReview" => {
                review::local_subject_access(&rules, namespace.unwrap_or_default(), question)
            }
            "SelfSubjectAccessReview" => review::self_subject_access(&rules, user, question),
            "SelfSubjectRulesReview" => review::self_subject_rules(&rules, user, question),
            "SelfSubjectReview" => Ok(authentication::review::self_subject(user, Timestamp::now())),
            "TokenReview" => self.authenticator.token_review(question, &Known(&self.api), Timestamp::now()),
            _ => Err(Status::method_not_allowed()),
        }
    }

    /// As they are now. The lock is held for no longer than it takes to bring them up to date.
    fn rules(&self) -> Arc<Index> {
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        rules.catch_up(self.api.store());
        Arc::clone(&rules.index)
    }
}

impl Rules {
    fn read(store: &Store) -> Self {
        loop {
            let at = store.revision();
            let watches: Result<Vec<Watch>, _> =
                RULES.iter().map(|resource| store.watch(Scope::resource(resource), at)).collect();
            let Ok(watches) = watches else { continue };
            let entries = RULES.iter().flat_map(|it| store.list(&Scope::resource(it)).entries);
            let objects: Vec<Value> = entries.map(|entry| entry.value()).collect();
            return Self { index: Arc::new(Index::build(&objects)), watches, at };
        }
    }

    fn catch_up(&mut self, store: &Store) {
        let latest = store.revision();
        if latest == self.at {
            return;
        }
        for watch in &mut self.watches {
            loop {
                let Ok(events) = watch.now() else {
                    *self = Self::read(store);
                    return;
                };
                if events.is_empty() {
                    break;
                }
                take(Arc::make_mut(&mut self.index), &events);
            }
        }
        self.at = latest;
    }
}

fn take(index: &mut Index, events: &[Event]) {
    for event in events {
        match event.kind {
            EventKind::Deleted => index.remove(&event.entry.value()),
            EventKind::Added | EventKind::Modified => index.put(&event.entry.value()),
        }
    }
}

/// The objects that tokens are bound to.
struct Known<'a>(&'a Api);

impl Objects for Known<'_> {
    fn find(&self, resource: &str, namespace: &str, name: &str) -> Option<authentication::Object> {
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
        let entry = self.0.store().get(&crate::store::Key::new(resource, namespace, name))?;
        Some(authentication::Object::from(&entry.value()))
    }
}
