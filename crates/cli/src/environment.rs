//! Variables of the environment, as they are given on a command line.

use std::env;
use std::str::FromStr;

use anyhow::{Context, Result};

/// `NAME=VALUE`, or `NAME` for the value that this process has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    name: String,
    value: Option<String>,
}

impl FromStr for Variable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err("it must be NAME=VALUE, or NAME".to_owned());
        }
        Ok(Self { name: name.to_owned(), value: value.map(str::to_owned) })
    }
}

impl Variable {
    /// Names and values; those without one have that of this process.
    pub(crate) fn all(variables: &[Self]) -> Result<Vec<(String, String)>> {
        variables.iter().map(|variable| variable.resolved(|name| env::var(name).ok())).collect()
    }

    fn resolved(&self, around: impl Fn(&str) -> Option<String>) -> Result<(String, String)> {
        let value = self.value.clone().or_else(|| around(&self.name));
        let value =
            value.with_context(|| format!("{0} is not set here; give it a value with {0}=…", self.name))?;
        Ok((self.name.clone(), value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(text: &str) -> Result<(String, String)> {
        text.parse::<Variable>().unwrap().resolved(|name| (name == "HOME").then(|| "/root".to_owned()))
    }

    #[test]
    fn a_variable_has_the_value_given_or_that_of_this_process() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(resolved("A=b=c").unwrap(), pair("A", "b=c"));
        assert_eq!(resolved("A=").unwrap(), pair("A", ""));
        assert_eq!(resolved("HOME").unwrap(), pair("HOME", "/root"));
        assert_eq!(
            resolved("NONE").unwrap_err().to_string(),
            "NONE is not set here; give it a value with NONE=…"
        );
    }

    #[test]
    fn a_variable_needs_a_name() {
        assert!("=x".parse::<Variable>().is_err() && "A B=x".parse::<Variable>().is_err());
    }
}
