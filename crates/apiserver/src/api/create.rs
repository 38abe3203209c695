//! Creating objects.

use serde_json::Value;

use super::ground::Ground;
use super::update::Obstacle;
use super::{Api, Target, bounds, exists, failed};
use crate::object::{Object, time};
use crate::options::WriteOptions;
use crate::status::Status;
use crate::store::{Action, Precondition, Rejection, Write, WriteError};
use crate::{admission, rules};

/// Names are tried this often before a client hears that the generated one is taken.
const MOST_NAMES: usize = 8;

/// An object that was made, in the version that was asked for, and what its writer should know.
#[derive(Clone, Debug)]
pub struct Created {
    pub object: Value,
    pub warnings: Vec<String>,
}

impl Api {
    /// Creates an object that was decoded already.
    pub async fn create(
        &self,
        target: &Target<'_>,
        object: Value,
        options: &WriteOptions,
    ) -> Result<Created, Status> {
        let mut object = object;
        for field in
            ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"]
        {
            object.meta_mut().remove(field);
        }
        let object = rules::managed(&self.registry(), target, None, object, options, self.now());
        self.create_managed(target, object, options).await
    }

    /// Creates an object whose fields have their managers.
    pub(super) async fn create_managed(
        &self,
        target: &Target<'_>,
        mut object: Value,
        options: &WriteOptions,
    ) -> Result<Created, Status> {
        settle_namespace(target, &mut object)?;
        let warnings = rules::deduplicate_owners(&mut object);
        if !options.is_dry_run {
            self.provide_account(target).await?;
        }
        loop {
            let ground = self.ground_of_new(target, object.name())?;
            // What may be overtaken is tried again.
            let draft = if ground.is_firm() { object.take() } else { object.clone() };
            match self.create_on(&ground, target, draft, options).await {
                Err(Obstacle::Overtaken) => {}
                Err(Obstacle::Refused(status)) => return Err(*status),
                Ok(created) => {
                    return Ok(Created { warnings: [warnings, created.warnings].concat(), ..created });
                }
            }
        }
    }

    /// Creates an object as long as its ground holds.
    async fn create_on(
        &self,
        ground: &Ground,
        target: &Target<'_>,
        mut object: Value,
        options: &WriteOptions,
    ) -> Result<Created, Obstacle> {
        let surroundings = self.surroundings();
        target.admission(|admitted| {
            admission::mutate_create(admitted, &mut object, &surroundings, &mut random)
        })?;
        let generates = object.name().is_empty() && !object.meta_text("generateName").is_empty();
        for attempt in 1.. {
            // Only a name that is made up may be taken, so that another is tried.
            let draft = if generates { object.clone() } else { object.take() };
            let candidate = self.finish(target, draft, generates)?;
            let name = candidate.name().to_owned();
            let stored = rules::to_storage(target.resource, candidate)?;
            bounds::check(&stored)?;
            match self.store_new(ground, target, &name, stored, options).await {
                Err(WriteError::Rejected(Rejection::Outdated(_))) => return Err(Obstacle::Overtaken),
                Err(WriteError::Rejected(Rejection::Exists(_))) if generates && attempt < MOST_NAMES => {}
                Err(WriteError::Rejected(Rejection::Exists(entry))) if generates => {
                    return Err(exists(target, &name, &entry).retry_after(1).into());
                }
                Err(error) => return Err(failed(target, &name, error).into()),
                Ok(stored) => {
                    let warnings = rules::warnings(target.resource, None, &stored, None);
                    let object = rules::to_version(target.resource, stored)?;
                    return Ok(Created { object, warnings });
                }
            }
        }
        unreachable!("the loop ends by returning")
    }

    /// Everything that only the server sets, and the check of the whole.
    fn finish(&self, target: &Target<'_>, mut object: Value, generates: bool) -> Result<Value, Status> {
        object.set_meta("uid", uuid::Uuid::new_v4().to_string());
        object.set_meta("creationTimestamp", time(self.now()));
        if generates {
            let name = generated_name(object.meta_text("generateName"));
            object.set_meta("name", name);
        }
        let surroundings = self.surroundings();
        rules::prepare_create(target.resource, &mut object, &surroundings, self.now())?;
        let errors = rules::validate_create(target.resource, &object);
        if !errors.is_empty() {
            return Err(Status::invalid(&rules::kind_in_messages(target.resource), object.name(), &errors));
        }
        target.admission(|admitted| admission::check_create(admitted, &object, &surroundings))?;
        if !matches!(object.resource_version(), "" | "0") {
            return Err(Status::unexplained("resourceVersion should not be set on objects to be created"));
        }
        object.meta_mut().remove("resourceVersion");
        Ok(object)
    }

    /// Stores an object that was decided on this ground, if that still holds.
    pub(super) async fn store_new(
        &self,
        ground: &Ground,
        target: &Target<'_>,
        name: &str,
        stored: Value,
        options: &WriteOptions,
    ) -> Result<Value, WriteError> {
        let key = target.resource.key(target.namespace, name);
        if options.is_dry_run {
            return match self.store.get(&key) {
                Some(entry) => Err(Rejection::Exists(entry).into()),
                None => Ok(stored),
            };
        }
        let guards = ground.guards(&key, target.resource, &stored);
        let (precondition, action) = (Precondition::Absent, Action::Put(stored));
        Ok(self.store.write(Write { key, precondition, action, guards }).await?.object)
    }
}

/// The namespace of an object is the one of the path it is sent to.
pub(super) fn settle_namespace(target: &Target<'_>, object: &mut Value) -> Result<(), Status> {
    if !target.resource.is_namespaced {
        object.meta_mut().remove("namespace");
        return Ok(());
    }
    let expected = target.namespace.unwrap_or_default();
    match object.meta_text("namespace") {
        given if given == expected => Ok(()),
        "" => {
            object.set_meta("namespace", expected);
            Ok(())
        }
        _ => Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
    }
}

const SUFFIX: usize = 5;
const LONGEST_NAME: usize = 63;

fn generated_name(base: &str) -> String {
    let most = LONGEST_NAME - SUFFIX;
    let end = (0..=base.len().min(most)).rev().find(|&end| base.is_char_boundary(end)).unwrap_or_default();
    format!("{}{}", &base[..end], random())
}

/// Five characters that cannot be taken for each other or make words.
fn random() -> String {
    const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let bytes = uuid::Uuid::new_v4().into_bytes();
    bytes.iter().take(SUFFIX).map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_name_keeps_as_much_of_its_base_as_fits() {
        assert!(generated_name("demo-").starts_with("demo-"));
        assert_eq!(generated_name("demo-").len(), 10);
        assert_eq!(generated_name(&"a".repeat(100)).len(), LONGEST_NAME);
        generated_name(&"ä".repeat(40));
    }
}
