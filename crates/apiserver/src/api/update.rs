//! Changing objects: whole, by patch, or through a subresource. One loop for all: propose from what is there, settle,
//! check, write if nobody else wrote in between, and otherwise begin again.

use serde_json::Value;

use super::create::settle_namespace;
use super::ground::Ground;
use super::{Api, CHANGED, Target, bounds, failed};
use crate::object::Object;
use crate::options::WriteOptions;
use crate::status::{Status, Unmet};
use crate::store::{Action, Entry, Precondition, Rejection, Write, WriteError};
use crate::{admission, apply, field, rules};

/// What a client wants an object to become.
pub enum Proposal {
    /// A whole object, which is meant for the object of its uid only.
    Replacement(Value),
    /// The object with something changed.
    Edit(Value),
    /// The object with a configuration applied, by which the managers of its fields are settled.
    Applied(Value),
}

impl Proposal {
    pub fn object(&self) -> &Value {
        match self {
            Self::Replacement(object) | Self::Edit(object) | Self::Applied(object) => object,
        }
    }
}

/// What became of a change.
#[derive(Clone, Debug)]
pub struct Updated {
    pub object: Value,
    pub is_new: bool,
    pub warnings: Vec<String>,
}

/// How a proposal comes about: from the object as it is, in the version of the request, or from nothing.
pub(crate) type Propose<'a> = dyn Fn(Option<&Value>) -> Result<Proposal, Status> + Send + Sync + 'a;

impl Api {
    /// `creates` says whether an object that is not there is made.
    pub async fn update(
        &self,
        target: &Target<'_>,
        name: &str,
        options: &WriteOptions,
        creates: bool,
        propose: &Propose<'_>,
    ) -> Result<Updated, Status> {
        loop {
            let attempt = match self.get(target, name) {
                Ok(entry) => self.change(target, name, options, &entry, propose).await,
                Err(status) if !creates => return Err(status),
                Err(_) => self.create_instead(target, options, propose).await,
            };
            match attempt {
                Err(Obstacle::Overtaken) => {}
                Err(Obstacle::Refused(status)) => return Err(*status),
                Ok(updated) => return Ok(updated),
            }
        }
    }

    async fn create_instead(
        &self,
        target: &Target<'_>,
        options: &WriteOptions,
        propose: &Propose<'_>,
    ) -> Result<Updated, Obstacle> {
        let created = match propose(None)? {
            Proposal::Applied(mut object) => {
                object.meta_mut().remove("resourceVersion");
                self.create_managed(target, object, options).await
            }
            Proposal::Replacement(mut object) | Proposal::Edit(mut object) => {
                check_uid(target, object.name(), &object, "")?;
                object.meta_mut().remove("resourceVersion");
                self.create(target, object, options).await
            }
        };
        match created {
            Err(status) if status.reason == "AlreadyExists" => Err(Obstacle::Overtaken),
            Err(status) => Err(status.into()),
            Ok(created) => Ok(Updated { object: created.object, is_new: true, warnings: created.warnings }),
        }
    }

    async fn change(
        &self,
        target: &Target<'_>,
        name: &str,
        options: &WriteOptions,
        entry: &Entry,
        propose: &Propose<'_>,
    ) -> Result<Updated, Obstacle> {
        let ground = self.ground(target)?;
        let live = rules::to_version(target.resource, entry.value())?;
        let mut new = match propose(Some(&live))? {
            Proposal::Applied(object) => object,
            Proposal::Replacement(object) => {
                check_uid(target, name, &object, live.uid())?;
                rules::managed(&self.registry(), target, Some(&live), object, options, self.now())
            }
            Proposal::Edit(object) => {
                rules::managed(&self.registry(), target, Some(&live), object, options, self.now())
            }
        };
        settle_namespace(target, &mut new)?;
        settle_version(target, name, &mut new, &live)?;
        let warnings = rules::deduplicate_owners(&mut new);
        let surroundings = self.surroundings();
        target.admission(|admitted| admission::mutate_update(admitted, &mut new, &live, &surroundings))?;
        settle_metadata(&mut new, &live);
        let warnings = [warnings, self.check(target, name, &mut new, &live)?].concat();
        if apply::same_but_for_times(&new, &live) {
            return Ok(Updated { object: live, is_new: false, warnings });
        }
        let object = self.write(&ground, target, name, options, entry, new).await?;
        Ok(Updated { object, is_new: false, warnings })
    }

    /// Prepares and checks the next state of an object. A binding is no update to Kubernetes, and only does its one thing.
    fn check(
        &self,
        target: &Target<'_>,
        name: &str,
        new: &mut Value,
        live: &Value,
    ) -> Result<Vec<String>, Status> {
        if target.subresource == Some("binding") {
            return Ok(Vec::new());
        }
        let surroundings = self.surroundings();
        rules::prepare_update(target.resource, target.subresource, new, live, &surroundings, self.now())?;
        let errors = rules::validate_update(target.resource, target.subresource, new, live);
        if !errors.is_empty() {
            return Err(Status::invalid(&rules::kind_in_messages(target.resource), name, &errors));
        }
        target.admission(|admitted| admission::check_update(admitted, new, live, &surroundings))?;
        Ok(rules::warnings(target.resource, target.subresource, new, Some(live)))
    }

    /// An object that was only waiting for its last finalizer goes with it.
    async fn write(
        &self,
        ground: &Ground,
        target: &Target<'_>,
        name: &str,
        options: &WriteOptions,
        entry: &Entry,
        new: Value,
    ) -> Result<Value, Obstacle> {
        if options.is_dry_run {
            return Ok(new);
        }
        let key = entry.key.clone();
        let unchanged = Precondition::Unchanged(entry.revision);
        if rules::goes_with_its_finalizers(target.resource, &new, entry.summary.is_deleting) {
            return match self.store.delete(key, unchanged).await {
                Err(WriteError::Rejected(Rejection::Changed(_))) => Err(Obstacle::Overtaken),
                Err(error) => Err(failed(target, name, error).into()),
                Ok(_) => Ok(new),
            };
        }
        let stored = rules::to_storage(target.resource, new)?;
        bounds::check(&stored)?;
        let guards = ground.guards(&key, target.resource, &stored);
        let write = Write { key, precondition: unchanged, action: Action::Put(stored), guards };
        match self.store.write(write).await {
            Err(WriteError::Rejected(
                Rejection::Changed(_) | Rejection::Missing(_) | Rejection::Outdated(_),
            )) => Err(Obstacle::Overtaken),
            Err(error) => Err(failed(target, name, error).into()),
            Ok(written) => Ok(rules::to_version(target.resource, written.object)?),
        }
    }
}

/// Why a change was not made.
pub(super) enum Obstacle {
    Refused(Box<Status>),
    /// Somebody else wrote first. What they left is the new beginning.
    Overtaken,
}

impl From<Status> for Obstacle {
    fn from(status: Status) -> Self {
        Self::Refused(Box::new(status))
    }
}

/// A writer that names the version it saw must have seen the latest.
fn settle_version(target: &Target<'_>, name: &str, new: &mut Value, live: &Value) -> Result<(), Status> {
    let resource = target.resource.group_resource();
    match new.resource_version() {
        "" | "0" if rules::allows_unconditional_update(target.resource) => {
            let version = live.resource_version().to_owned();
            new.set_meta("resourceVersion", version);
        }
        "" | "0" => {
            let kind = crate::identity::GroupKind::new(&resource.group, &resource.resource);
            let why = "must be specified for an update";
            return Err(Status::invalid(
                &kind,
                name,
                &[field::Error::invalid("metadata.resourceVersion", 0, why)],
            ));
        }
        version if version.parse::<u64>().is_err() => {
            let why = format!("strconv.ParseUint: parsing {}: invalid syntax", field::Quoted(version));
            return Err(Status::unexplained(why));
        }
        version if version != live.resource_version() => {
            return Err(Status::conflict(&resource, name, CHANGED));
        }
        _ => {}
    }
    Ok(())
}

/// A replacement that names a uid is meant for the object that has it.
fn check_uid(target: &Target<'_>, name: &str, new: &Value, actual: &str) -> Result<(), Status> {
    let uid = new.uid();
    if uid.is_empty() || uid == actual {
        return Ok(());
    }
    let resource = target.resource.group_resource();
    let group =
        Some(resource.group.as_str()).filter(|group| !group.is_empty() && !target.resource.is_built_in());
    let parts =
        ["/registry"].into_iter().chain(group).chain([resource.resource.as_str()]).chain(target.namespace);
    let key = parts.chain([name]).collect::<Vec<_>>().join("/");
    Err(Status::unmet(&resource, name, Unmet { key: &key, title: "UID", wanted: uid, actual }))
}

/// What no update changes.
fn settle_metadata(new: &mut Value, live: &Value) {
    for field in ["creationTimestamp", "generation"] {
        let value = live.meta(field).cloned().unwrap_or_default();
        new.set_meta(field, value);
    }
    if new.uid().is_empty() {
        new.set_meta("uid", live.uid());
    }
    if live.is_deleting() {
        new.set_meta("deletionTimestamp", live.meta_text("deletionTimestamp"));
        if new.meta("deletionGracePeriodSeconds").is_none() {
            new.set_meta(
                "deletionGracePeriodSeconds",
                live.meta("deletionGracePeriodSeconds").cloned().unwrap_or_default(),
            );
        }
    }
    new.meta_mut().remove("selfLink");
}
