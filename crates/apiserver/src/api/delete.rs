//! Deleting objects, one or many.

use serde_json::{Value, json};

use super::{Api, Target, check_shown, failed};
use crate::deletion::{self, Deletion};
use crate::object::Object;
use crate::options::{DeleteOptions, ListOptions};
use crate::status::Status;
use crate::store::{Action, Entry, Precondition, Rejection, Write, WriteError};
use crate::{admission, rules};

/// What became of a deletion.
#[derive(Clone, Debug)]
pub struct Deleted {
    /// The object, or a Status that says that it is gone.
    pub answer: Value,
    pub is_gone: bool,
}

impl Api {
    pub async fn delete(
        &self,
        target: &Target<'_>,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        loop {
            let entry = self.get(target, name)?;
            let object = entry.value();
            check_preconditions(target, &object, options)?;
            // What could not be shown in the answer stays, so that nobody takes a deletion for a failure.
            check_shown(target.resource, &entry)?;
            target.admission(|admitted| admission::check_delete(admitted, name))?;
            let grace = rules::grace(target.resource, &object);
            let options = &rules::deletion_options(target.resource, options);
            let decision = deletion::decide(&object, options, grace, self.now());
            let decision = rules::deletion(target.resource, &object, decision, self.now());
            match self.carry_out(target, &entry, object, decision, options.is_dry_run).await {
                Err(WriteError::Rejected(Rejection::Changed(_))) => {}
                Err(error) => return Err(failed(target, name, error)),
                Ok(deleted) => return deleted,
            }
        }
    }

    async fn carry_out(
        &self,
        target: &Target<'_>,
        entry: &Entry,
        object: Value,
        decision: Deletion,
        is_dry_run: bool,
    ) -> Result<Result<Deleted, Status>, WriteError> {
        let unchanged = Precondition::Unchanged(entry.revision);
        let (object, is_gone) = match decision {
            Deletion::Pending => (object, false),
            Deletion::Marked(marked) if is_dry_run || marked == object => (marked, false),
            Deletion::Now | Deletion::MarkedThenGone(_) if is_dry_run => (object, true),
            Deletion::Marked(marked) => {
                (self.store.put(entry.key.clone(), unchanged, marked).await?.object, false)
            }
            Deletion::Now => (self.store.delete(entry.key.clone(), unchanged).await?.object, true),
            Deletion::MarkedThenGone(marked) => {
                let (key, action) = (entry.key.clone(), Action::PutThenDelete(marked));
                let write = Write { key, precondition: unchanged, action, guards: Vec::new() };
                (self.store.write(write).await?.object, true)
            }
        };
        Ok(answer(target, object, is_gone))
    }

    /// Deletes what a list with these options would show, and returns that list.
    pub async fn delete_collection(
        &self,
        target: &Target<'_>,
        options: &DeleteOptions,
        list: &ListOptions,
    ) -> Result<super::Page, Status> {
        let page = self.list(target, list)?;
        for entry in &page.entries {
            let target = Target { namespace: entry.key.namespace(), ..*target };
            match self.delete(&target, entry.key.name(), options).await {
                Err(status) if status.code != 404 => return Err(status),
                _ => {}
            }
        }
        Ok(page)
    }
}

fn answer(target: &Target<'_>, object: Value, is_gone: bool) -> Result<Deleted, Status> {
    let answers_with_object = !is_gone || rules::returns_deleted_object(target.resource);
    let answer =
        if answers_with_object { rules::to_version(target.resource, object)? } else { gone(target, &object) };
    Ok(Deleted { answer, is_gone })
}

fn gone(target: &Target<'_>, object: &Value) -> Value {
    let resource = target.resource;
    let mut details = json!({"name": object.name(), "kind": resource.plural, "uid": object.uid()});
    if !resource.group.is_empty() {
        details["group"] = resource.group.as_str().into();
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

pub(super) fn check_preconditions(
    target: &Target<'_>,
    object: &Value,
    options: &DeleteOptions,
) -> Result<(), Status> {
    let kind = crate::identity::GroupResource::new(&target.resource.group, &target.resource.kind);
    let refuse = |why: String| Err(Status::conflict(&kind, object.name(), &why));
    match (&options.uid, &options.resource_version) {
        (Some(uid), _) if uid != object.uid() => refuse(format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). \
             The object might have been deleted and then recreated",
            object.uid()
        )),
        (_, Some(version)) if version != object.resource_version() => refuse(format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). \
             The object might have been modified",
            object.resource_version()
        )),
        _ => Ok(()),
    }
}
