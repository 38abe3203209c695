//! One rule, as `x-kubernetes-validations` holds it.

use serde_json::Value;

use super::paths;
use super::program::Program;
use crate::schema::Schema;

#[derive(Debug)]
pub(crate) struct Rule {
    /// None where the rule is empty: such a one asks for nothing.
    pub program: Option<Result<Program, String>>,
    pub message: Option<String>,
    /// One that does not compile is passed over in favour of the fixed message.
    pub message_program: Option<Program>,
    pub reason: Option<String>,
    /// Relative to the value; empty for the value itself.
    pub field: String,
    pub accepts_no_old_value: bool,
    text: String,
}

impl Rule {
    pub(crate) fn new(rule: &Value, schema: &Schema) -> Self {
        let text = |name: &str| rule.get(name).and_then(Value::as_str).map(str::to_owned);
        let source = text("rule").unwrap_or_default();
        let path = text("fieldPath").and_then(|path| paths::find(&path, schema, true).ok());
        Self {
            program: (!source.trim().is_empty()).then(|| Program::new(&source, schema)),
            message: text("message").map(|message| message.trim().to_owned()).filter(|text| !text.is_empty()),
            message_program: text("messageExpression").and_then(|source| Program::new(&source, schema).ok()),
            reason: text("reason"),
            field: path.map(|found| found.path).unwrap_or_default(),
            accepts_no_old_value: rule.get("optionalOldSelf").and_then(Value::as_bool).unwrap_or_default(),
            text: source.trim().to_owned(),
        }
    }

    /// What an error calls the rule.
    pub(super) fn title(&self) -> &str {
        self.message.as_deref().unwrap_or(&self.text)
    }

    pub(super) fn fixed_message(&self) -> String {
        self.message.clone().unwrap_or_else(|| format!("failed rule: {}", self.text))
    }
}
