//! What a client asks for beside the object itself: the parameters of its query, and the options of a deletion.

use serde_json::{Value, json};

use crate::decode::FieldValidation;
use crate::field;
use crate::identity::GroupKind;
use crate::selector::Selector;
use crate::status::Status;
use crate::validation::options;

/// The parameters after the question mark. The first of several with one name counts.
#[derive(Clone, Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    pub fn parse(query: Option<&str>) -> Self {
        Self(form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A parameter that is set to something, not nothing.
    fn text(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// Kubernetes takes anything but `false` and `0` for yes.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).map(|value| !(value.eq_ignore_ascii_case("false") || value == "0"))
    }

    fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let why = |_| {
            Status::bad_request(format!("strconv.ParseInt: parsing {}: invalid syntax", field::Quoted(text)))
        };
        text.parse().map(Some).map_err(why)
    }
}

/// How to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Do everything but the writing.
    pub is_dry_run: bool,
    /// Who the fields belong to; clients that do not say are known by their user agent.
    pub field_manager: Option<String>,
    pub field_validation: FieldValidation,
    /// Take fields from other managers. Only an apply patch knows this.
    pub force: Option<bool>,
}

/// The ways of writing, which differ in what they let a client ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    Create,
    Update,
    Patch,
    Apply,
}

impl WriteOptions {
    pub fn parse(query: &Query, write: Write) -> Result<Self, Status> {
        let given = options::WriteOptions {
            dry_run: query.all("dryRun").filter(|value| !value.is_empty()).map(str::to_owned).collect(),
            field_manager: query.text("fieldManager").unwrap_or_default().to_owned(),
            field_validation: query.text("fieldValidation").unwrap_or_default().to_owned(),
        };
        let force = query.flag("force");
        let (kind, errors) = match write {
            Write::Create => ("CreateOptions", options::write(&given)),
            Write::Update => ("UpdateOptions", options::write(&given)),
            Write::Apply => ("PatchOptions", options::patch(&given, options::Patch::Apply)),
            Write::Patch => {
                ("PatchOptions", options::patch(&given, options::Patch::Other { force: force.is_some() }))
            }
        };
        refuse(kind, errors)?;
        Ok(Self {
            is_dry_run: !given.dry_run.is_empty(),
            field_manager: query.text("fieldManager").map(str::to_owned),
            field_validation: FieldValidation::from_parameter(&given.field_validation).unwrap_or_default(),
            force,
        })
    }
}

fn refuse(kind: &str, errors: Vec<field::Error>) -> Result<(), Status> {
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Status::invalid(&GroupKind::new("meta.k8s.io", kind), "", &errors))
    }
}

/// What becomes of the objects that a deleted one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    Orphan,
    Background,
    Foreground,
}

/// How to delete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    pub is_dry_run: bool,
    pub grace_period_seconds: Option<i64>,
    pub propagation: Option<Propagation>,
    /// The older way of saying it.
    pub orphan_dependents: Option<bool>,
    pub uid: Option<String>,
    pub resource_version: Option<String>,
}

impl DeleteOptions {
    /// From the body where there is one, and otherwise from the query.
    pub fn parse(query: &Query, body: Option<&Value>) -> Result<Self, Status> {
        let asked = match body {
            Some(body) => body.clone(),
            None => asked(query)?,
        };
        refuse("DeleteOptions", options::delete(&asked))?;
        let text =
            |pointer: &str| asked.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
        Ok(Self {
            is_dry_run: asked["dryRun"].as_array().is_some_and(|values| !values.is_empty()),
            grace_period_seconds: asked["gracePeriodSeconds"].as_i64(),
            propagation: text("/propagationPolicy").and_then(propagation),
            orphan_dependents: asked["orphanDependents"].as_bool(),
            uid: text("/preconditions/uid").map(str::to_owned),
            resource_version: text("/preconditions/resourceVersion").map(str::to_owned),
        })
    }
}

/// The options of a query in the form of a body.
fn asked(query: &Query) -> Result<Value, Status> {
    let mut asked = json!({});
    let dry_run: Vec<&str> = query.all("dryRun").filter(|value| !value.is_empty()).collect();
    if !dry_run.is_empty() {
        asked["dryRun"] = dry_run.into();
    }
    if let Some(seconds) = query.number("gracePeriodSeconds")? {
        asked["gracePeriodSeconds"] = seconds.into();
    }
    if let Some(policy) = query.text("propagationPolicy") {
        asked["propagationPolicy"] = policy.into();
    }
    if let Some(orphan) = query.flag("orphanDependents") {
        asked["orphanDependents"] = orphan.into();
    }
    Ok(asked)
}

fn propagation(text: &str) -> Option<Propagation> {
    match text {
        "Orphan" => Some(Propagation::Orphan),
        "Background" => Some(Propagation::Background),
        "Foreground" => Some(Propagation::Foreground),
        _ => None,
    }
}

/// What to read from a collection.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    pub selector: Selector,
    pub resource_version: Option<String>,
    pub resource_version_match: Option<String>,
    pub limit: usize,
    pub continuation: Option<String>,
    pub is_watch: bool,
    pub timeout_seconds: Option<u64>,
    pub allows_bookmarks: bool,
    pub sends_initial_events: Option<bool>,
}

impl ListOptions {
    pub fn parse(query: &Query) -> Result<Self, Status> {
        let own = |name: &str| query.text(name).map(str::to_owned);
        let count =
            |name: &str| query.number(name).map(|number| number.and_then(|it| u64::try_from(it).ok()));
        let asked = Self {
            selector: Selector::parse(query.get("labelSelector"), query.get("fieldSelector"))?,
            resource_version: own("resourceVersion"),
            resource_version_match: own("resourceVersionMatch"),
            limit: count("limit")?.and_then(|limit| usize::try_from(limit).ok()).unwrap_or_default(),
            continuation: own("continue"),
            is_watch: query.flag("watch").unwrap_or_default(),
            timeout_seconds: count("timeoutSeconds")?,
            allows_bookmarks: query.flag("allowWatchBookmarks").unwrap_or_default(),
            sends_initial_events: query.flag("sendInitialEvents"),
        };
        let given = options::ListOptions {
            watch: asked.is_watch,
            resource_version: query.text("resourceVersion").unwrap_or_default().to_owned(),
            resource_version_match: query.text("resourceVersionMatch").unwrap_or_default().to_owned(),
            continuation: query.text("continue").unwrap_or_default().to_owned(),
            send_initial_events: asked.sends_initial_events,
        };
        refuse("ListOptions", options::list(&given))?;
        Ok(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(query: &str) -> Result<ListOptions, String> {
        ListOptions::parse(&Query::parse(Some(query))).map_err(|status| status.message)
    }

    #[test]
    fn a_watch_is_anything_but_a_no() {
        for query in ["watch=true", "watch=True", "watch=1", "watch="] {
            assert!(list(query).unwrap().is_watch, "{query}");
        }
        for query in ["watch=false", "watch=0", ""] {
            assert!(!list(query).unwrap().is_watch, "{query}");
        }
    }

    #[test]
    fn a_match_without_a_version_is_refused() {
        let message = list("resourceVersionMatch=Exact").unwrap_err();
        assert!(
            message.contains("resourceVersionMatch is forbidden unless resourceVersion is provided"),
            "{message}"
        );
        assert!(list("resourceVersionMatch=Exact&resourceVersion=5").is_ok());
    }

    #[test]
    fn a_deletion_is_told_once_how_to_treat_dependents() {
        let body = serde_json::json!({"orphanDependents": true, "propagationPolicy": "Orphan"});
        assert!(DeleteOptions::parse(&Query::default(), Some(&body)).is_err());
        let query = Query::parse(Some("propagationPolicy=Foreground&gracePeriodSeconds=5"));
        let options = DeleteOptions::parse(&query, None).unwrap();
        assert_eq!(
            (options.propagation, options.grace_period_seconds),
            (Some(Propagation::Foreground), Some(5))
        );
    }

    #[test]
    fn a_dry_run_is_of_everything_or_refused() {
        let parse = |query: &str| WriteOptions::parse(&Query::parse(Some(query)), Write::Create);
        assert!(parse("dryRun=All").unwrap().is_dry_run);
        assert_eq!(parse("dryRun=Some").unwrap_err().code, 422);
    }
}
