//! CustomResourceDefinitions: whether one is in order, what its status says, and the kinds that it defines.
//! Serving those kinds is for others.

mod acceptance;
mod approval;
mod conversion;
mod default_values;
mod defaulting;
mod keywords;
mod names;
mod reading;
mod rules;
mod scale;
mod schemas;
pub(crate) mod shipped;
mod structural;
mod validation;
mod version;

use std::sync::Arc;

use serde_json::Value;

use crate::field;
use crate::identity::maturity;
use crate::schema::{Compiled, Verdict, from_open_api};
use crate::text::Text;
use reading::{list, text, texts};

pub use acceptance::{Emptying, deletion_status, statuses};
pub use defaulting::{default, prepare_for_create, prepare_for_update, prepare_status_for_update};
pub use scale::Scale;
pub use validation::{validate_create, validate_update, warnings};

/// A definition in a form that objects can be served by.
#[derive(Debug)]
pub struct Definition {
    pub group: String,
    pub names: Names,
    pub scope: Scope,
    pub conversion: Conversion,
    /// In the order in which they are written.
    pub versions: Vec<Version>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    pub plural: String,
    pub singular: String,
    pub kind: String,
    pub list_kind: String,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Namespaced,
    Cluster,
}

/// How objects get from one version to another.
#[derive(Clone, Debug, PartialEq)]
pub enum Conversion {
    /// Only `apiVersion` changes.
    None,
    /// What stands under `spec.conversion.webhook`.
    Webhook(Value),
}

/// One version of the kind.
#[derive(Debug)]
pub struct Version {
    pub name: String,
    pub is_served: bool,
    /// Objects are kept in this version.
    pub is_stored: bool,
    /// What a client that uses the version is told; only deprecated versions have one.
    pub deprecation_warning: Option<String>,
    pub schema: Arc<Compiled>,
    /// The schema as it was written, for OpenAPI.
    pub open_api: Text,
    pub has_status: bool,
    pub scale: Option<Scale>,
    /// As they stand under `additionalPrinterColumns`.
    pub printer_columns: Vec<Value>,
    /// Paths such as `spec.color`, without the first dot, as field selectors name them.
    pub selectable_fields: Vec<String>,
}

impl Definition {
    /// Reads a definition that has been defaulted and found valid. The errors are of definitions that have not.
    pub fn compile(crd: &Value) -> Result<Self, Vec<field::Error>> {
        let spec = &crd["spec"];
        let names = Names::read(&spec["names"]);
        let group = text(spec, "group").to_owned();
        let read = |version| Version::compile(version, spec, &names.kind);
        let versions: Vec<Version> = list(spec, "versions").iter().map(read).collect::<Result<_, _>>()?;
        let scope = if text(spec, "scope") == "Cluster" { Scope::Cluster } else { Scope::Namespaced };
        let conversion = match text(&spec["conversion"], "strategy") {
            "Webhook" => Conversion::Webhook(spec["conversion"]["webhook"].clone()),
            _ => Conversion::None,
        };
        Ok(Self { group, names, scope, conversion, versions })
    }

    pub fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// The version in which objects are kept.
    pub fn stored(&self) -> Option<&Version> {
        self.versions.iter().find(|version| version.is_stored)
    }
}

impl Names {
    pub(crate) fn read(names: &Value) -> Self {
        Self {
            plural: text(names, "plural").into(),
            singular: text(names, "singular").into(),
            kind: text(names, "kind").into(),
            list_kind: text(names, "listKind").into(),
            short_names: texts(names, "shortNames"),
            categories: texts(names, "categories"),
        }
    }
}

impl Version {
    /// Validates an object of this version, or a change of one; it has been defaulted and pruned.
    pub fn validate(&self, new: &Value, old: Option<&Value>) -> Verdict {
        self.validate_after(Vec::new(), new, old)
    }

    /// The same after other things were found wrong, which decide with the rest whether rules are looked at.
    pub fn validate_after(&self, errors: Vec<field::Error>, new: &Value, old: Option<&Value>) -> Verdict {
        let scale = self.scale.as_ref().map(|scale| scale.validate(new)).unwrap_or_default();
        self.schema.validate_with(errors, new, old, scale)
    }

    /// Validates a change of the status alone.
    pub fn validate_status(&self, new: &Value, old: &Value) -> Verdict {
        let scale = self.scale.as_ref().map(|scale| scale.validate_status(new)).unwrap_or_default();
        self.schema.validate_status_with(new, old, scale)
    }

    fn compile(version: &Value, spec: &Value, kind: &str) -> Result<Self, Vec<field::Error>> {
        let name = text(version, "name").to_owned();
        let open_api = &version["schema"]["openAPIV3Schema"];
        let schema = Compiled::new(Arc::new(from_open_api(open_api)))?;
        let selectable = list(version, "selectableFields").iter().map(|field| text(field, "jsonPath"));
        Ok(Self {
            is_served: version["served"].as_bool().unwrap_or_default(),
            is_stored: version["storage"].as_bool().unwrap_or_default(),
            deprecation_warning: deprecation_warning(version, spec, kind),
            schema: Arc::new(schema),
            open_api: Text::of(open_api),
            has_status: version["subresources"].get("status").is_some_and(Value::is_object),
            scale: Scale::read(&version["subresources"]["scale"]),
            printer_columns: list(version, "additionalPrinterColumns").to_vec(),
            selectable_fields: selectable.map(|path| path.trim_start_matches('.').to_owned()).collect(),
            name,
        })
    }
}

fn deprecation_warning(version: &Value, spec: &Value, kind: &str) -> Option<String> {
    if version["deprecated"] != true {
        return None;
    }
    if let Some(written) = version["deprecationWarning"].as_str() {
        return Some(written.to_owned());
    }
    let (group, name) = (text(spec, "group"), text(version, "name"));
    let is_better = |it: &&Value| it["served"] == true && it["deprecated"] != true;
    let better = list(spec, "versions").iter().filter(is_better).map(|it| text(it, "name"));
    let better = better.filter(|it| maturity(it) > maturity(name)).max_by_key(|it| maturity(it));
    let advice = better.map(|better| format!("; use {group}/{better} {kind}")).unwrap_or_default();
    Some(format!("{group}/{name} {kind} is deprecated{advice}"))
}

#[cfg(test)]
mod suite_tests;
#[cfg(test)]
mod tests;
