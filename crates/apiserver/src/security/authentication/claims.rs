//! What a ServiceAccount's token says: whose it is, for whom, for how long, and which objects must still exist.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::liveness::{LEEWAY, Object, Objects};
use super::{CREDENTIAL_ID, User, service_account};
use crate::field::Quoted;
use crate::security::json::{at, text, texts};

/// Where the claims of Kubernetes are.
const PRIVATE: &str = "kubernetes.io";
const INVALIDATED: &str = "service account token has been invalidated";

/// A name that means one object, by its uid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) name: String,
    pub(super) uid: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Claims {
    pub(super) id: String,
    pub(super) issuer: String,
    pub(super) audiences: Vec<String>,
    /// In seconds, as are the others
    pub(super) issued: i64,
    pub(super) not_before: i64,
    pub(super) expires: i64,
    pub(super) warn_after: Option<i64>,
    pub(super) namespace: String,
    pub(super) account: Reference,
    pub(super) pod: Option<Reference>,
    pub(super) secret: Option<Reference>,
    /// Of the Pod, or what the token is bound to where there is none
    pub(super) node: Option<Reference>,
}

impl Claims {
    pub(super) fn to_json(&self) -> Value {
        let bound = [("pod", &self.pod), ("secret", &self.secret), ("node", &self.node)];
        let mut private = json!({"namespace": self.namespace, "serviceaccount": self.account.to_json()});
        for (kind, reference) in bound {
            if let Some(reference) = reference {
                private[kind] = reference.to_json();
            }
        }
        if let Some(seconds) = self.warn_after {
            private["warnafter"] = seconds.into();
        }
        json!({
            "aud": self.audiences, "exp": self.expires, "iat": self.issued, "iss": self.issuer, "jti": self.id,
            "nbf": self.not_before, "sub": service_account::username(&self.namespace, &self.account.name),
            PRIVATE: private,
        })
    }

    /// Of a token whose signature is good, so that what is there is what `to_json` wrote. Nothing where a time or the
    /// account is missing, which only a key used for something else could have signed.
    pub(super) fn parse(claims: &Value) -> Option<Self> {
        let seconds = |field| claims.get(field).and_then(Value::as_i64);
        let reference = |kind| at(claims, &[PRIVATE, kind]).map(Reference::parse);
        Some(Self {
            id: text(claims, &["jti"]).to_owned(),
            issuer: text(claims, &["iss"]).to_owned(),
            audiences: texts(claims, &["aud"]),
            issued: seconds("iat")?,
            not_before: seconds("nbf")?,
            expires: seconds("exp")?,
            warn_after: at(claims, &[PRIVATE, "warnafter"]).and_then(Value::as_i64),
            namespace: text(claims, &[PRIVATE, "namespace"]).to_owned(),
            account: reference("serviceaccount")?,
            pod: reference("pod"),
            secret: reference("secret"),
            node: reference("node"),
        })
    }

    /// Whether the token is good now, in the words in which a review says that it is not.
    pub(super) fn check(&self, objects: &impl Objects, now: Timestamp) -> Result<(), String> {
        self.check_times(now)?;
        self.check_account(objects, now)?;
        let namespace = self.namespace.as_str();
        let bound = [
            ("secret", "secrets", namespace, &self.secret),
            ("pod", "pods", namespace, &self.pod),
            // The node of a Pod may go before the Pod does.
            ("node", "nodes", "", if self.pod.is_some() { &None } else { &self.node }),
        ];
        for (kind, resource, namespace, reference) in bound {
            if let Some(reference) = reference {
                let found = objects.find(resource, namespace, &reference.name);
                reference.check(kind, found.as_ref(), now)?;
            }
        }
        Ok(())
    }

    fn check_times(&self, now: Timestamp) -> Result<(), String> {
        let (now, leeway) = (now.as_second(), LEEWAY.as_secs());
        let problem = if self.not_before > now.saturating_add(leeway) {
            "is not valid yet"
        } else if self.expires < now.saturating_sub(leeway) {
            "has expired"
        } else if self.issued > now.saturating_add(leeway) {
            "is issued in the future"
        } else {
            return Ok(());
        };
        Err(format!("service account token {problem}"))
    }

    fn check_account(&self, objects: &impl Objects, now: Timestamp) -> Result<(), String> {
        let Reference { name, uid } = &self.account;
        let found = objects.find("serviceaccounts", &self.namespace, name);
        let found = found.ok_or_else(|| format!("serviceaccounts {} not found", Quoted(name)))?;
        if found.uid != *uid {
            return Err(format!("service account UID ({}) does not match claim ({uid})", found.uid));
        }
        if found.is_gone(now) {
            return Err(format!("service account {}/{name} has been deleted", self.namespace));
        }
        Ok(())
    }

    pub(super) fn user(&self) -> User {
        let mut user = User {
            name: service_account::username(&self.namespace, &self.account.name),
            uid: self.account.uid.clone(),
            groups: service_account::groups(&self.namespace),
            ..User::default()
        };
        let mut add = |key: &str, value: &str| {
            if !value.is_empty() {
                user.extra.insert(format!("authentication.kubernetes.io/{key}"), vec![value.to_owned()]);
            }
        };
        if let Some(pod) = &self.pod {
            add("pod-name", &pod.name);
            add("pod-uid", &pod.uid);
        }
        if let Some(node) = &self.node {
            add("node-name", &node.name);
            add("node-uid", &node.uid);
        }
        if !self.id.is_empty() {
            user.extra.insert(CREDENTIAL_ID.to_owned(), vec![format!("JTI={}", self.id)]);
        }
        user.authenticated()
    }
}

impl Reference {
    pub(super) fn new(name: &str, uid: &str) -> Self {
        Self { name: name.to_owned(), uid: uid.to_owned() }
    }

    fn parse(reference: &Value) -> Self {
        Self::new(text(reference, &["name"]), text(reference, &["uid"]))
    }

    /// The node of a Pod is known by name before it exists.
    fn to_json(&self) -> Value {
        let fields = [("name", &self.name), ("uid", &self.uid)].into_iter();
        let fields = fields.filter(|(_, text)| !text.is_empty());
        fields.map(|(name, text)| (name.to_owned(), Value::from(text.as_str()))).collect::<Map<_, _>>().into()
    }

    fn check(&self, kind: &str, found: Option<&Object>, now: Timestamp) -> Result<(), String> {
        match found {
            Some(found) if found.uid != self.uid => {
                let uid = &self.uid;
                Err(format!(
                    "{kind} UID ({}) does not match service account {kind} ref claim ({uid})",
                    found.uid
                ))
            }
            Some(found) if !found.is_gone(now) => Ok(()),
            _ => Err(INVALIDATED.to_owned()),
        }
    }
}
