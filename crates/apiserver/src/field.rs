//! What is wrong with one field of an object, in the words that Kubernetes uses.

use std::collections::HashSet;
use std::fmt;

use serde_json::Value;

/// One broken rule: where, what kind of rule, and the details.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// Such as `spec.containers[0].name`
    pub field: String,
    pub problem: Problem,
    pub detail: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    Required,
    Forbidden,
    TooLong,
    Internal,
    Invalid(Value),
    /// Invalid as well, of a value that is not worth showing.
    InvalidUnshown,
    /// The value has a type that the schema does not know here.
    TypeInvalid(Value),
    NotSupported(Value),
    NotFound(Value),
    Duplicate(Value),
    TooMany(Value),
    /// An invalid value of a type that Kubernetes shows in its own way, as that text.
    InvalidShown(String),
    /// A duplicate of such a value.
    DuplicateShown(String),
}

impl Problem {
    /// The machine-readable name, as it stands in a cause.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::Internal => "InternalError",
            Self::Invalid(_) | Self::InvalidShown(_) | Self::InvalidUnshown => "FieldValueInvalid",
            Self::TypeInvalid(_) => "FieldValueTypeInvalid",
            Self::NotSupported(_) => "FieldValueNotSupported",
            Self::NotFound(_) => "FieldValueNotFound",
            Self::Duplicate(_) | Self::DuplicateShown(_) => "FieldValueDuplicate",
            Self::TooMany(_) => "FieldValueTooMany",
        }
    }

    fn title(&self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::Internal => "Internal error",
            Self::Invalid(_) | Self::InvalidShown(_) | Self::InvalidUnshown | Self::TypeInvalid(_) => {
                "Invalid value"
            }
            Self::NotSupported(_) => "Unsupported value",
            Self::NotFound(_) => "Not found",
            Self::Duplicate(_) | Self::DuplicateShown(_) => "Duplicate value",
            Self::TooMany(_) => "Too many",
        }
    }

    fn value(&self) -> Option<String> {
        match self {
            Self::Required | Self::Forbidden | Self::TooLong | Self::Internal | Self::InvalidUnshown => None,
            Self::Invalid(value)
            | Self::TypeInvalid(value)
            | Self::NotSupported(value)
            | Self::NotFound(value)
            | Self::Duplicate(value)
            | Self::TooMany(value) => Some(shown(value)),
            Self::InvalidShown(text) | Self::DuplicateShown(text) => Some(text.clone()),
        }
    }
}

impl Error {
    pub fn new(field: impl Into<String>, problem: Problem, detail: impl Into<String>) -> Self {
        Self { field: field.into(), problem, detail: detail.into() }
    }

    pub fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(field, Problem::Required, detail)
    }

    pub fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(field, Problem::Forbidden, detail)
    }

    pub fn invalid(field: impl Into<String>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(field, Problem::Invalid(value.into()), detail)
    }

    pub fn type_invalid(
        field: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(field, Problem::TypeInvalid(value.into()), detail)
    }

    pub fn duplicate(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(field, Problem::Duplicate(value.into()), "")
    }

    pub fn not_found(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(field, Problem::NotFound(value.into()), "")
    }

    /// `most` is a number of bytes.
    pub fn too_long(field: impl Into<String>, most: usize) -> Self {
        Self::new(field, Problem::TooLong, format!("may not be more than {most} bytes"))
    }

    pub fn too_many(field: impl Into<String>, actual: usize, most: usize) -> Self {
        let items = if most == 1 { "item" } else { "items" };
        Self::new(field, Problem::TooMany(actual.into()), format!("must have at most {most} {items}"))
    }

    pub fn not_supported(field: impl Into<String>, value: impl Into<Value>, supported: &[&str]) -> Self {
        let supported: Vec<String> = supported.iter().map(|value| Quoted(value).to_string()).collect();
        let detail = format!("supported values: {}", supported.join(", "));
        Self::new(field, Problem::NotSupported(value.into()), detail)
    }

    /// The error without the name of the field.
    pub fn body(&self) -> String {
        let mut text = self.problem.title().to_owned();
        if let Some(value) = self.problem.value() {
            text.push_str(": ");
            text.push_str(&value);
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field, self.body())
    }
}

/// Several errors after a colon, as a message ends with them; nothing where there are none.
pub(crate) fn summary(errors: &[Error]) -> String {
    let mut seen = HashSet::with_capacity(errors.len());
    let texts: Vec<String> =
        errors.iter().map(Error::to_string).filter(|text| seen.insert(text.clone())).collect();
    match texts.as_slice() {
        [] => String::new(),
        [only] => format!(": {only}"),
        several => format!(": [{}]", several.join(", ")),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => Quoted(text).to_string(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => shown_float(float),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// As Go's `%v` writes a float: the shortest digits, with an exponent where it is below -4 or above 5.
pub(crate) fn shown_float(float: f64) -> String {
    let scientific = format!("{float:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return float.to_string() };
    match exponent.parse::<i32>() {
        Ok(power @ ..-4) => format!("{digits}e-{:02}", -power),
        Ok(power @ 6..) => format!("{digits}e+{power:02}"),
        _ => float.to_string(),
    }
}

/// Text in quotes, with the escapes that Go's `%q` writes.
pub(crate) struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("\"")?;
        for character in self.0.chars() {
            match character {
                '"' => formatter.write_str("\\\"")?,
                '\\' => formatter.write_str("\\\\")?,
                '\n' => formatter.write_str("\\n")?,
                '\r' => formatter.write_str("\\r")?,
                '\t' => formatter.write_str("\\t")?,
                '\u{7}' => formatter.write_str("\\a")?,
                '\u{8}' => formatter.write_str("\\b")?,
                '\u{b}' => formatter.write_str("\\v")?,
                '\u{c}' => formatter.write_str("\\f")?,
                control if (control as u32) < 0x20 || control == '\u{7f}' => {
                    write!(formatter, "\\x{:02x}", control as u32)?;
                }
                other => write!(formatter, "{other}")?,
            }
        }
        formatter.write_str("\"")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_shown_as_their_kind_of_value_is() {
        let text = |error: Error| error.to_string();
        assert_eq!(text(Error::invalid("a", "x\"y", "no")), r#"a: Invalid value: "x\"y": no"#);
        assert_eq!(text(Error::invalid("a", 3, "no")), "a: Invalid value: 3: no");
        assert_eq!(text(Error::duplicate("a", json!({"k": 1}))), r#"a: Duplicate value: {"k":1}"#);
        assert_eq!(text(Error::too_long("a", 63)), "a: Too long: may not be more than 63 bytes");
        let unsupported = Error::not_supported("a", "x", &["y", "z"]);
        assert_eq!(text(unsupported), r#"a: Unsupported value: "x": supported values: "y", "z""#);
    }

    #[test]
    fn the_same_error_twice_is_said_once() {
        let error = Error::required("a", "");
        assert_eq!(summary(&[error.clone(), error]), ": a: Required value");
    }
}
