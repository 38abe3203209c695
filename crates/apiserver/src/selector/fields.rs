//! Field selectors: `metadata.name=demo,status.phase!=Running`. Which fields there are to choose by differs from kind to
//! kind and is data.

use serde_json::Value;

/// Every term must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: String,
    value: String,
    is_equal: bool,
}

/// The fields of a kind that can be selected by, beyond those that every kind has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectableFields(pub Vec<SelectableField>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectableField {
    /// As clients name it.
    pub name: String,
    /// Where it is in the object.
    pub pointer: String,
    /// What an object without it counts as having.
    pub otherwise: &'static str,
}

impl SelectableFields {
    /// Fields that are found where their names say.
    pub fn of(names: &[impl AsRef<str>]) -> Self {
        let field = |name: &str| SelectableField {
            name: name.to_owned(),
            pointer: pointer(name),
            otherwise: otherwise(name),
        };
        Self(names.iter().map(|name| field(name.as_ref())).collect())
    }

    fn knows(&self, name: &str) -> bool {
        matches!(name, "metadata.name" | "metadata.namespace")
            || self.0.iter().any(|field| field.name == name)
    }

    /// `at` is what an object has under a pointer.
    fn read(&self, name: &str, at: impl Fn(&str) -> Option<Value>) -> String {
        let field = self.0.iter().find(|field| field.name == name);
        let value = match field {
            Some(field) => at(&field.pointer),
            None => at(&pointer(name)),
        };
        match value {
            Some(Value::String(text)) => text,
            Some(Value::Null) | None => field.map_or("", |field| field.otherwise).to_owned(),
            Some(other) => other.to_string(),
        }
    }
}

fn pointer(name: &str) -> String {
    // Of the source of an Event, its component is what people mean.
    if name == "source" {
        return "/source/component".to_owned();
    }
    format!("/{}", name.trim_start_matches('.').replace('.', "/"))
}

fn otherwise(name: &str) -> &'static str {
    if matches!(name, "spec.unschedulable" | "spec.hostNetwork") { "false" } else { "" }
}

impl FieldSelector {
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts: Vec<&str> = parts(text).into_iter().filter(|part| !part.is_empty()).collect();
        parts.sort_unstable();
        parts.into_iter().map(|part| term(text, part)).collect::<Result<_, _>>().map(Self)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A selector by a field that the kind does not offer is refused, not ignored.
    pub fn check(&self, known: &SelectableFields) -> Result<(), String> {
        let unknown = self.0.iter().find(|term| !known.knows(&term.field));
        unknown.map_or(Ok(()), |term| Err(format!("field label not supported: {}", term.field)))
    }

    /// Whether an object that has this under pointers satisfies all terms.
    pub fn matches(&self, known: &SelectableFields, at: impl Fn(&str) -> Option<Value>) -> bool {
        self.0.iter().all(|term| (known.read(&term.field, &at) == term.value) == term.is_equal)
    }

    /// The same, for objects of one name only.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.0.push(Term { field: "metadata.name".to_owned(), value: name.to_owned(), is_equal: true });
        self
    }

    /// The one name that objects must have, where the selector asks for one.
    pub fn name(&self) -> Option<&str> {
        let term = self.0.iter().find(|term| term.is_equal && term.field == "metadata.name")?;
        Some(&term.value)
    }
}

/// Splits at commas that are not escaped.
fn parts(text: &str) -> Vec<&str> {
    let mut escaped = false;
    text.split(|character| {
        let splits = character == ',' && !escaped;
        escaped = character == '\\' && !escaped;
        splits
    })
    .collect()
}

fn term(whole: &str, part: &str) -> Result<Term, String> {
    let at = part.find("!=").into_iter().chain(part.find('=')).min();
    let at = at.ok_or_else(|| format!("invalid selector: '{whole}'; can't understand '{part}'"))?;
    let (field, rest) = part.split_at(at);
    let operator = ["!=", "==", "="].into_iter().find(|sign| rest.starts_with(sign)).unwrap_or("=");
    let value = unescape(&rest[operator.len()..])?;
    Ok(Term { field: field.to_owned(), value, is_equal: operator != "!=" })
}

fn unescape(text: &str) -> Result<String, String> {
    let mut value = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => value.push(escaped),
                Some(other) => {
                    return Err(format!("invalid field selector: invalid escape sequence: \\{other}"));
                }
                None => return Err("invalid field selector: invalid escape sequence: \\".to_owned()),
            },
            ',' | '=' => {
                return Err(format!("invalid field selector: unescaped character in value: {character}"));
            }
            other => value.push(other),
        }
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn terms_compare_fields_where_they_are() {
        let known = SelectableFields::of(&["status.phase", "spec.unschedulable"]);
        let object = json!({"metadata": {"name": "a"}, "status": {"phase": "Running"}});
        let matches = |text: &str| {
            FieldSelector::parse(text).unwrap().matches(&known, |pointer| object.pointer(pointer).cloned())
        };
        for text in
            ["", "metadata.name=a", "metadata.name==a,status.phase!=Failed", "spec.unschedulable=false"]
        {
            assert!(matches(text), "{text}");
        }
        for text in ["metadata.name!=a", "status.phase=Failed", "metadata.namespace=x"] {
            assert!(!matches(text), "{text}");
        }
    }

    #[test]
    fn mistakes_are_named_as_kubernetes_names_them() {
        let error = |text: &str| FieldSelector::parse(text).unwrap_err();
        assert_eq!(error("a"), "invalid selector: 'a'; can't understand 'a'");
        assert_eq!(error("a=b\\"), "invalid field selector: invalid escape sequence: \\");
        let unknown = FieldSelector::parse("spec.foo=bar").unwrap();
        assert_eq!(
            unknown.check(&SelectableFields::default()).unwrap_err(),
            "field label not supported: spec.foo"
        );
    }

    #[test]
    fn an_escaped_comma_belongs_to_the_value() {
        assert_eq!(FieldSelector::parse("metadata.name=a\\,b").unwrap().name(), Some("a,b"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([a-z.]|[=!,\\\\]|\\PC)*") {
            let _ = FieldSelector::parse(&text);
        }
    }
}
