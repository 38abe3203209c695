//! One apply: a configuration meets the object as it is stored.

use serde_json::Value;

use super::check::{Duplicates, check};
use super::conflict::{Conflict, Refusal};
use super::ledger::{self, Write};
use super::managed::{Identity, Managed, Manager, Operation, Owned, entries};
use super::typing::Type;
use super::{
    Context, Origin, Version, address, kind_of, last_applied, merge, owned, presence, pruning, values,
};
use crate::status::Status;

/// Owns what an object held when somebody applied to it for the first time.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

pub(super) struct Application<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) writer: &'a Manager,
    /// Without entries, as the configuration is.
    pub(super) live: &'a Value,
    pub(super) config: &'a Value,
}

impl Application<'_> {
    /// kubectl may take what it applied from its own side before, as far as nobody changed it since.
    pub(super) fn run(&self, managed: Managed, force: bool) -> Result<(Value, Managed), Status> {
        self.check_kind()?;
        let conflicts = match self.merge(managed.clone(), force) {
            Ok(done) => return Ok(done),
            Err(Refusal::Status(status)) => return Err(status),
            Err(Refusal::Conflicts(conflicts)) => conflicts,
        };
        let allowed = last_applied::allowed(self.live, self.writer, self.context).unwrap_or_default();
        let is_allowed = |conflict: &Conflict| allowed.contains(&conflict.path);
        let remaining: Vec<Conflict> =
            conflicts.into_iter().filter(|conflict| !is_allowed(conflict)).collect();
        if !remaining.is_empty() {
            return Err(Refusal::Conflicts(remaining).into());
        }
        Ok(self.merge(managed, true)?)
    }

    fn check_kind(&self) -> Result<(), Status> {
        if let Some(kind) = not_a_map(self.config) {
            let decoding = "error decoding YAML: error unmarshaling JSON: while decoding JSON: json";
            let message = format!(
                "{decoding}: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
            );
            return Err(Status::bad_request(message));
        }
        let text = |name: &str| self.config.get(name).and_then(Value::as_str).unwrap_or_default();
        if (text("apiVersion"), text("kind")) == (self.writer.api_version.as_str(), self.context.kind) {
            return Ok(());
        }
        Err(Status::bad_request(format!("invalid object type: {}", kind_of(self.config))))
    }

    fn merge(&self, mut managed: Managed, force: bool) -> Result<(Value, Managed), Refusal> {
        self.begin(&mut managed)?;
        let version = self.checked_version()?;
        let kind = Type::of(&version.schema);
        ledger::reconcile(&mut managed, self.context);
        let set = owned::fields(kind, self.config).without(&version.reset);
        let owned = Owned { set, api_version: self.writer.api_version.clone() };
        let identity = Identity::from(self.writer);
        let last = managed.owners.insert(identity.clone(), owned);
        let merged = merge::merge(kind, self.live, self.config);
        let new = self.pruned(merged, &managed, last.as_ref(), version);
        let write =
            Write { context: self.context, version: &self.writer.api_version, old: self.live, new: &new };
        write.take(&mut managed, Some(&identity), force)?;
        ledger::strip(&mut managed, &identity);
        // Who comes to share what is there already has no time, as in Kubernetes.
        if !values::equal(self.live, &new) {
            managed.times.insert(identity, self.context.time());
        }
        Ok((new, managed))
    }

    /// Gives all that is there to a manager of its own, where nobody is known to own anything.
    fn begin(&self, managed: &mut Managed) -> Result<(), String> {
        if !managed.owners.is_empty() {
            return Ok(());
        }
        let name = BEFORE_FIRST_APPLY.to_owned();
        let before = Manager { name, operation: Operation::Update, ..self.writer.clone() };
        let empty = self.context.empty(self.writer);
        let write =
            Write { context: self.context, version: &before.api_version, old: &empty, new: self.live };
        let recorded = write.record(managed, &before);
        recorded.map_err(|reason| format!("failed to create manager for existing fields: {reason}"))
    }

    fn checked_version(&self) -> Result<&Version, Refusal> {
        if entries(self.config).is_some_and(Value::is_array) {
            return Err(Status::bad_request("metadata.managedFields must be nil").into());
        }
        let version = self.context.versions.get(&self.writer.api_version);
        let version = version.ok_or_else(|| format!("no corresponding type for {}", kind_of(self.config)))?;
        let kind = Type::of(&version.schema);
        let sides = [(self.config, "patch", Duplicates::Refused), (self.live, "live", Duplicates::Tolerated)];
        for (object, which, duplicates) in sides {
            check(kind, object, duplicates).map_err(|misfit| {
                format!("failed to create typed {which} object ({}): {misfit}", address(object))
            })?;
        }
        Ok(version)
    }

    fn pruned(&self, merged: Value, managed: &Managed, last: Option<&Owned>, version: &Version) -> Value {
        let pruned = pruning::prune(merged, &self.writer.api_version, managed, last, self.context);
        match self.context.origin {
            Origin::BuiltIn => presence::without_nulls(&version.schema, pruned),
            Origin::Custom => pruned,
        }
    }
}

fn not_a_map(config: &Value) -> Option<&'static str> {
    match config {
        Value::Object(_) | Value::Null => None,
        Value::Array(_) => Some("array"),
        Value::String(_) => Some("string"),
        Value::Number(_) => Some("number"),
        Value::Bool(_) => Some("bool"),
    }
}
