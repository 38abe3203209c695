//! Who somebody is, as every decision sees it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub const ANONYMOUS: &str = "system:anonymous";
pub const AUTHENTICATED: &str = "system:authenticated";
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// Where a user's extra says by which certificate or token they came.
pub const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    pub fn new(name: &str, groups: &[&str]) -> Self {
        let groups = groups.iter().map(|&group| group.to_owned()).collect();
        Self { name: name.to_owned(), groups, ..Self::default() }
    }

    /// Who has not said who they are.
    pub fn anonymous() -> Self {
        Self::new(ANONYMOUS, &[UNAUTHENTICATED])
    }

    /// The same user, in the group of all who have said who they are, unless it is said otherwise already.
    #[must_use]
    pub fn authenticated(mut self) -> Self {
        let said = self.is_in(AUTHENTICATED) || self.is_in(UNAUTHENTICATED) || self.name == ANONYMOUS;
        if !said {
            self.groups.push(AUTHENTICATED.to_owned());
        }
        self
    }

    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    /// The `UserInfo` of the authentication API, without what is empty.
    pub fn to_json(&self) -> Value {
        let mut fields = Map::new();
        if !self.name.is_empty() {
            fields.insert("username".into(), self.name.as_str().into());
        }
        if !self.uid.is_empty() {
            fields.insert("uid".into(), self.uid.as_str().into());
        }
        if !self.groups.is_empty() {
            fields.insert("groups".into(), self.groups.as_slice().into());
        }
        if !self.extra.is_empty() {
            let extra = self.extra.iter().map(|(key, values)| (key.clone(), values.as_slice().into()));
            fields.insert("extra".into(), Value::Object(extra.collect()));
        }
        fields.into()
    }
}
