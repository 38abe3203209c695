//! What a client asks for beside the object itself: the parameters of its query, and the options of a deletion.

use serde_json::Value;

use crate::decode::FieldValidation;
use crate::field;
use crate::identity::GroupKind;
use crate::selector::Selector;
use crate::status::Status;

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

impl WriteOptions {
    /// `kind` is that of the options, such as `CreateOptions`, as messages name it.
    pub fn parse(query: &Query, kind: &str) -> Result<Self, Status> {
        let dry_run: Vec<&str> = query.all("dryRun").filter(|value| !value.is_empty()).collect();
        let options = Self {
            is_dry_run: !dry_run.is_empty(),
            field_manager: query.text("fieldManager").map(str::to_owned),
            field_validation: FieldValidation::default(),
            force: query.flag("force"),
        };
        let mut errors = dry_run_errors(&dry_run);
        errors.extend(options.field_manager.as_deref().into_iter().flat_map(manager_errors));
        let validation = query.text("fieldValidation").unwrap_or_default();
        match FieldValidation::from_parameter(validation) {
            Some(field_validation) if errors.is_empty() => Ok(Self { field_validation, ..options }),
            Some(_) => Err(invalid(kind, &errors)),
            None => {
                let supported = ["Ignore", "Warn", "Strict"];
                errors.push(field::Error::not_supported("fieldValidation", validation, &supported));
                Err(invalid(kind, &errors))
            }
        }
    }
}

fn invalid(kind: &str, errors: &[field::Error]) -> Status {
    Status::invalid(&GroupKind::new("meta.k8s.io", kind), "", errors)
}

fn dry_run_errors(values: &[&str]) -> Vec<field::Error> {
    let is_bad = values.iter().any(|value| *value != "All");
    let given: Vec<Value> = values.iter().map(|&value| value.into()).collect();
    is_bad.then(|| field::Error::not_supported("dryRun", given, &["All"])).into_iter().collect()
}

const LONGEST_MANAGER: usize = 128;

fn manager_errors(manager: &str) -> Vec<field::Error> {
    let mut errors = Vec::new();
    if manager.len() > LONGEST_MANAGER {
        errors.push(field::Error::too_long("fieldManager", LONGEST_MANAGER));
    }
    if let Some((at, character)) = manager.char_indices().find(|(_, character)| character.is_control()) {
        let why = format!("should only contain printable characters (position {at} character {character:?})");
        errors.push(field::Error::invalid("fieldManager", manager, why));
    }
    errors
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
        let options = match body {
            Some(body) => Self::from_body(body)?,
            None => Self::from_query(query)?,
        };
        if options.orphan_dependents.is_some() && options.propagation.is_some() {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            let given = propagation_name(options.propagation);
            return Err(invalid("DeleteOptions", &[field::Error::invalid("propagationPolicy", given, why)]));
        }
        Ok(options)
    }

    fn from_query(query: &Query) -> Result<Self, Status> {
        let dry_run: Vec<&str> = query.all("dryRun").filter(|value| !value.is_empty()).collect();
        refuse(dry_run_errors(&dry_run))?;
        Ok(Self {
            is_dry_run: !dry_run.is_empty(),
            grace_period_seconds: query.number("gracePeriodSeconds")?,
            propagation: query.text("propagationPolicy").map(propagation).transpose()?,
            orphan_dependents: query.flag("orphanDependents"),
            uid: None,
            resource_version: None,
        })
    }

    fn from_body(body: &Value) -> Result<Self, Status> {
        let text =
            |pointer: &str| body.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
        let dry_run = body.get("dryRun").and_then(Value::as_array).into_iter().flatten();
        let dry_run: Vec<&str> = dry_run.filter_map(Value::as_str).collect();
        refuse(dry_run_errors(&dry_run))?;
        Ok(Self {
            is_dry_run: !dry_run.is_empty(),
            grace_period_seconds: body.get("gracePeriodSeconds").and_then(Value::as_i64),
            propagation: text("/propagationPolicy").map(propagation).transpose()?,
            orphan_dependents: body.get("orphanDependents").and_then(Value::as_bool),
            uid: text("/preconditions/uid").map(str::to_owned),
            resource_version: text("/preconditions/resourceVersion").map(str::to_owned),
        })
    }
}

fn refuse(errors: Vec<field::Error>) -> Result<(), Status> {
    if errors.is_empty() { Ok(()) } else { Err(invalid("DeleteOptions", &errors)) }
}

fn propagation(text: &str) -> Result<Propagation, Status> {
    match text {
        "Orphan" => Ok(Propagation::Orphan),
        "Background" => Ok(Propagation::Background),
        "Foreground" => Ok(Propagation::Foreground),
        other => {
            let known = ["Background", "Foreground", "Orphan"];
            Err(invalid("DeleteOptions", &[field::Error::not_supported("propagationPolicy", other, &known)]))
        }
    }
}

fn propagation_name(propagation: Option<Propagation>) -> String {
    propagation.map_or_else(String::new, |propagation| format!("{propagation:?}"))
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
        let options = Self {
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
        let errors = options.errors();
        if errors.is_empty() { Ok(options) } else { Err(invalid("ListOptions", &errors)) }
    }

    /// Combinations that make no sense, in Kubernetes' words.
    fn errors(&self) -> Vec<field::Error> {
        if self.is_watch { self.watch_errors() } else { self.list_errors() }
    }

    fn watch_errors(&self) -> Vec<field::Error> {
        let forbidden = |why: &str| vec![field::Error::forbidden("resourceVersionMatch", why)];
        let matching = self.resource_version_match.as_deref();
        match (self.sends_initial_events, matching) {
            (None, None) => Vec::new(),
            (None, Some(_)) => {
                forbidden("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
            }
            (Some(_), Some("NotOlderThan")) => Vec::new(),
            (Some(_), None) => {
                forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
            }
            (Some(_), Some(other)) => {
                vec![field::Error::not_supported("resourceVersionMatch", other, &["NotOlderThan"])]
            }
        }
    }

    fn list_errors(&self) -> Vec<field::Error> {
        let forbidden = |field: &str, why: &str| vec![field::Error::forbidden(field, why)];
        if self.sends_initial_events.is_some() {
            return forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list");
        }
        let version = self.resource_version.as_deref().unwrap_or_default();
        match self.resource_version_match.as_deref() {
            None => Vec::new(),
            Some(_) if self.continuation.is_some() => forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden when continue is provided",
            ),
            Some(_) if version.is_empty() => forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            ),
            Some("NotOlderThan") => Vec::new(),
            Some("Exact") if version == "0" => forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            ),
            Some("Exact") => Vec::new(),
            Some(other) => {
                vec![field::Error::not_supported(
                    "resourceVersionMatch",
                    other,
                    &["Exact", "NotOlderThan", ""],
                )]
            }
        }
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
        let parse = |query: &str| WriteOptions::parse(&Query::parse(Some(query)), "CreateOptions");
        assert!(parse("dryRun=All").unwrap().is_dry_run);
        assert_eq!(parse("dryRun=Some").unwrap_err().code, 422);
    }
}
