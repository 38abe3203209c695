//! What a write takes from others and gives to its manager. Each manager is looked at in the version in which it said
//! what it owns.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::Value;

use super::check::{Duplicates, check};
use super::comparison::compare;
use super::conflict::{Conflict, Refusal};
use super::field_set::FieldSet;
use super::managed::{Identity, Managed, Manager, Operation, Owned};
use super::owned::reconciled;
use super::presence::settled;
use super::typing::Type;
use super::{Context, Origin, address};

/// So many updaters are told apart; the oldest beyond that are put together.
const MOST_UPDATERS: usize = 10;
const ANCIENT: &str = "ancient-changes";

/// Fields that say which object it is, and those that only the server sets, are nobody's.
static UNOWNED: LazyLock<FieldSet> = LazyLock::new(|| {
    FieldSet::of_fields(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});

/// What a write does to the fields of an object in one version, as far as it can.
#[derive(Debug, Default)]
pub(super) struct Changes {
    written: FieldSet,
    removed: FieldSet,
}

/// One object becomes another.
pub(super) struct Write<'a> {
    pub(super) context: &'a Context<'a>,
    /// The version of both objects.
    pub(super) version: &'a str,
    pub(super) old: &'a Value,
    pub(super) new: &'a Value,
}

impl Write<'_> {
    /// Gives the manager all that it changed.
    pub(super) fn record(&self, managed: &mut Managed, writer: &Manager) -> Result<(), String> {
        self.check()?;
        reconcile(managed, self.context);
        let changes = match self.take(managed, None, true) {
            Ok(changes) => changes,
            Err(Refusal::Status(status)) => return Err(status.message),
            Err(Refusal::Conflicts(_)) => return Err("a forced write met a conflict".into()),
        };
        let written = changes.written.difference(&UNOWNED);
        if !written.is_empty() {
            let identity = Identity::from(writer);
            let owned = managed.owners.entry(identity.clone()).or_insert_with(|| Owned {
                set: FieldSet::default(),
                api_version: writer.api_version.clone(),
            });
            owned.set.extend(written);
            managed.times.insert(identity, self.context.time());
        }
        cap(managed);
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        let version = self.context.versions.get(self.version).ok_or("the version is not served")?;
        let kind = Type::of(&version.schema);
        for (object, which) in [(self.new, "new"), (self.old, "live")] {
            check(kind, object, Duplicates::Tolerated).map_err(|misfit| {
                format!("failed to convert {which} object ({}) to smd typed: {misfit}", address(object))
            })?;
        }
        Ok(())
    }

    /// Takes what changes from all but one. What is gone is taken from everybody, without asking.
    pub(super) fn take(
        &self,
        managed: &mut Managed,
        except: Option<&Identity>,
        force: bool,
    ) -> Result<Changes, Refusal> {
        let mut views = self.views(managed)?;
        let is_other = |identity: &Identity| except.is_none_or(|except| except != identity);
        managed
            .owners
            .retain(|identity, owned| !is_other(identity) || views.contains_key(&owned.api_version));
        let mut conflicts = Vec::new();
        for (identity, owned) in managed.owners.iter_mut().filter(|(identity, _)| is_other(identity)) {
            let Some(changes) = views.get(&owned.api_version) else { continue };
            let taken = owned.set.intersection(&changes.written);
            owned.set = owned.set.difference(&taken).difference(&changes.removed);
            if !force {
                let paths = taken.paths().into_iter();
                conflicts.extend(paths.map(|path| Conflict { owner: identity.clone(), path }));
            }
        }
        if !conflicts.is_empty() {
            return Err(Refusal::Conflicts(conflicts));
        }
        managed.owners.retain(|_, owned| !owned.set.is_empty());
        Ok(views.remove(self.version).unwrap_or_default())
    }

    /// What changes, in its own version and in all in which somebody owns fields, as far as they are served.
    fn views(&self, managed: &Managed) -> Result<BTreeMap<String, Changes>, String> {
        let owned = managed.owners.values().map(|owned| owned.api_version.as_str());
        let versions: BTreeSet<&str> = owned.chain([self.version]).collect();
        let mut views = BTreeMap::new();
        for version in versions {
            if let Some(changes) = self.seen_from(version)? {
                views.insert(version.to_owned(), changes);
            }
        }
        Ok(views)
    }

    fn seen_from(&self, version: &str) -> Result<Option<Changes>, String> {
        let Some(served) = self.context.versions.get(version) else { return Ok(None) };
        let converted = |object| self.context.in_version(object, self.version, version);
        let (Some(old), Some(new)) = (converted(self.old), converted(self.new)) else { return Ok(None) };
        let kind = Type::of(&served.schema);
        for object in [&old, &new] {
            check(kind, object, Duplicates::Tolerated)
                .map_err(|misfit| format!("failed to compare objects: {misfit}"))?;
        }
        let comparison = match self.context.origin {
            Origin::Custom => compare(kind, &old, &new),
            Origin::BuiltIn => {
                let settled = |object, other| settled(&served.schema, &without_same(object, other));
                compare(kind, &settled(&old, &new), &settled(&new, &old))
            }
        };
        let written = comparison.written().without(&served.reset);
        Ok(Some(Changes { written, removed: comparison.removed.without(&served.reset) }))
    }
}

/// A copy without the parts that the other has just so. They can be large, and tell nothing apart.
fn without_same(object: &Value, other: &Value) -> Value {
    let Some(fields) = object.as_object() else { return object.clone() };
    let differs = |(name, value): &(&String, &Value)| other.get(name) != Some(value);
    fields.iter().filter(differs).map(|(name, value)| (name.clone(), value.clone())).collect()
}

impl Context<'_> {
    pub(super) fn in_version<'v>(&self, object: &'v Value, from: &str, to: &str) -> Option<Cow<'v, Value>> {
        if from == to { Some(Cow::Borrowed(object)) } else { (self.convert)(object, to).map(Cow::Owned) }
    }
}

/// Brings sets that were written under an older schema in line with that of today, and forgets what is owned in versions
/// that are no longer served.
pub(super) fn reconcile(managed: &mut Managed, context: &Context<'_>) {
    managed.owners.retain(|_, owned| context.versions.contains_key(&owned.api_version));
    for owned in managed.owners.values_mut() {
        owned.set = reconciled(&owned.set, Type::of(&context.versions[&owned.api_version].schema));
    }
}

/// Takes the fields that are nobody's from a manager.
pub(super) fn strip(managed: &mut Managed, identity: &Identity) {
    if let Some(owned) = managed.owners.get_mut(identity) {
        owned.set = owned.set.difference(&UNOWNED);
        if owned.set.is_empty() {
            managed.owners.remove(identity);
        }
    }
}

/// The first of each version stays what it is until there is another to put with it.
fn cap(managed: &mut Managed) {
    let is_updater = |identity: &&Identity| identity.operation == Operation::Update;
    let mut updaters: Vec<Identity> = managed.owners.keys().filter(is_updater).cloned().collect();
    let mut count = updaters.len();
    updaters.sort_by_cached_key(|identity| (managed.age(identity), identity.clone()));
    let mut firsts: BTreeMap<String, Identity> = BTreeMap::new();
    for updater in updaters {
        if count <= MOST_UPDATERS {
            return;
        }
        let Some(version) = managed.owners.get(&updater).map(|owned| owned.api_version.clone()) else {
            continue;
        };
        let Some(first) = firsts.get(&version) else {
            firsts.insert(version, updater);
            continue;
        };
        put_together(managed, &version, first, &updater);
        count -= 1;
    }
}

/// The newer of two gives its time, unless it is what others were put into before.
fn put_together(managed: &mut Managed, version: &str, first: &Identity, next: &Identity) {
    let ancient = Identity::new(ANCIENT, Operation::Update, version, "");
    for updater in [first, next].into_iter().filter(|updater| **updater != ancient) {
        let Some(owned) = managed.owners.remove(updater) else { continue };
        match managed.owners.get_mut(&ancient) {
            Some(bucket) => bucket.set.extend(owned.set),
            None => {
                managed.owners.insert(ancient.clone(), owned);
            }
        }
    }
    match managed.times.get(next).cloned() {
        Some(time) => managed.times.insert(ancient, time),
        None => managed.times.remove(&ancient),
    };
}
