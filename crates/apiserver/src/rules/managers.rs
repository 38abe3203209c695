//! To whom the fields of an object belong: what [`crate::apply`] needs to know about a resource to settle that.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::{bare_version, scaling};
use crate::api::Target;
use crate::apply::{self, Manager, Operation, Version};
use crate::options::WriteOptions;
use crate::registry::Registry;
use crate::resource::{Origin, Resource};
use crate::status::Status;

/// Settles to whom the fields of a written object belong.
pub(crate) fn managed(
    registry: &Registry,
    target: &Target<'_>,
    live: Option<&Value>,
    object: Value,
    options: &WriteOptions,
    now: Timestamp,
) -> Value {
    let manager = manager(target, options, Operation::Update);
    let object =
        with_context(registry, target, now, |context| apply::update(live, object, &manager, context));
    if manager.subresource == "scale" {
        let versions = versions_of(registry, target.resource);
        return scaling::settled(live, object, target.resource, &versions, &manager.name);
    }
    object
}

/// What an applied configuration makes of an object.
pub(crate) fn applied(
    registry: &Registry,
    target: &Target<'_>,
    live: Option<&Value>,
    config: &Value,
    options: &WriteOptions,
    now: Timestamp,
) -> Result<Value, Status> {
    let manager = manager(target, options, Operation::Apply);
    let force = options.force.unwrap_or_default();
    with_context(registry, target, now, |context| apply::apply(live, config, &manager, force, context))
}

fn manager(target: &Target<'_>, options: &WriteOptions, operation: Operation) -> Manager {
    Manager {
        name: apply::manager_name(options.field_manager.as_deref().unwrap_or_default(), target.agent),
        operation,
        api_version: target.resource.api_version(),
        subresource: target.subresource.unwrap_or_default().to_owned(),
    }
}

fn with_context<T>(
    registry: &Registry,
    target: &Target<'_>,
    now: Timestamp,
    work: impl FnOnce(&apply::Context<'_>) -> T,
) -> T {
    let resource = target.resource;
    let all = versions_of(registry, resource);
    let subresource = target.subresource.unwrap_or_default();
    let versions: BTreeMap<String, Version> =
        all.iter().map(|it| (it.api_version(), version(it, subresource))).collect();
    let convert = |object: &Value, api_version: &str| {
        let wanted = all.iter().find(|it| it.api_version() == api_version)?;
        bare_version(wanted, object.clone()).ok()
    };
    let origin = if resource.is_built_in() { apply::Origin::BuiltIn } else { apply::Origin::Custom };
    work(&apply::Context { kind: &resource.kind, versions: &versions, convert: &convert, origin, now })
}

fn versions_of<'a>(registry: &'a Registry, resource: &Resource) -> Vec<&'a Resource> {
    let is_version = |it: &&Arc<Resource>| it.stored_as() == resource.stored_as();
    registry.known().filter(is_version).map(AsRef::as_ref).collect()
}

fn version(resource: &Resource, subresource: &str) -> Version {
    let reset = match &resource.origin {
        Origin::BuiltIn(_) => apply::reset_by_built_in(&resource.plural, subresource),
        Origin::Defined(defined) => {
            apply::reset_by_custom_resource(subresource, defined.version().has_status)
        }
    };
    Version { schema: Arc::clone(&resource.managed_schema), reset }
}
