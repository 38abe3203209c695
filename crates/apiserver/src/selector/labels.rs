//! Label selectors as they are written in a query: `app=web,tier in (a, b),!canary`.

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::str::Chars;

use serde_json::Value;

use crate::names;
use crate::object::Object;

/// Every requirement must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

impl LabelSelector {
    /// The error is in the words that Kubernetes uses.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { tokens: tokens(text), position: 0 };
        let mut requirements = Vec::new();
        if *parser.peek() == Token::End {
            return Ok(Self(requirements));
        }
        loop {
            match parser.peek() {
                Token::Word(_) | Token::Not => {}
                other if requirements.is_empty() => {
                    return Err(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        other.text()
                    ));
                }
                other => return Err(format!("found '{}', expected: identifier after ','", other.text())),
            }
            let requirement =
                parser.requirement().map_err(|why| format!("unable to parse requirement: {why}"))?;
            requirements.push(requirement);
            match parser.next() {
                Token::End => return Ok(Self(requirements)),
                Token::Comma => {}
                other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
            }
        }
    }

    /// A selector as objects hold one. Nothing where it is not well-formed.
    pub fn read(selector: &Value) -> Option<Self> {
        let labels = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
        let equal = labels.map(|(key, value)| {
            Requirement::checked(key, Operator::In, BTreeSet::from([value.as_str()?.to_owned()]))
        });
        let expressions = selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
        equal.chain(expressions.map(Requirement::read)).collect::<Option<_>>().map(Self)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn matches(&self, object: &Value) -> bool {
        self.matches_labels(|name| object.label(name))
    }

    /// The same of an object that has these labels.
    pub fn matches_labels<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|requirement| requirement.holds(label(&requirement.key)))
    }
}

impl Requirement {
    fn new(key: String, operator: Operator, values: BTreeSet<String>) -> Result<Self, String> {
        let is_number = |value: &String| value.parse::<i64>().is_ok();
        let compares = matches!(operator, Operator::GreaterThan | Operator::LessThan);
        if let Some(bad) = values.iter().find(|value| compares && !is_number(value)) {
            let why = "for 'Gt', 'Lt' operators, the value must be an integer";
            return Err(crate::field::Error::invalid("values[0]", bad.as_str(), why).to_string());
        }
        for (index, value) in values.iter().enumerate() {
            names::label_value(value).into_iter().next().map_or(Ok(()), |why| {
                let field = format!("values[{index}][{key}]");
                Err(crate::field::Error::invalid(field, value.as_str(), why).to_string())
            })?;
        }
        Ok(Self { key, operator, values })
    }

    fn read(expression: &Value) -> Option<Self> {
        let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
        let values: BTreeSet<String> =
            values.map(|value| value.as_str().map(str::to_owned)).collect::<Option<_>>()?;
        let operator = match (expression.get("operator")?.as_str()?, values.is_empty()) {
            ("In", false) => Operator::In,
            ("NotIn", false) => Operator::NotIn,
            ("Exists", true) => Operator::Exists,
            ("DoesNotExist", true) => Operator::DoesNotExist,
            _ => return None,
        };
        Self::checked(expression.get("key")?.as_str()?, operator, values)
    }

    fn checked(key: &str, operator: Operator, values: BTreeSet<String>) -> Option<Self> {
        names::qualified_name(key).is_empty().then(|| Self::new(key.to_owned(), operator, values).ok())?
    }

    fn holds(&self, label: Option<&str>) -> bool {
        let number = |text: &str| text.parse::<i64>().ok();
        let bound = || self.values.first().and_then(|value| number(value));
        match self.operator {
            Operator::In => label.is_some_and(|label| self.values.contains(label)),
            Operator::NotIn => label.is_none_or(|label| !self.values.contains(label)),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => {
                label.and_then(number).zip(bound()).is_some_and(|(own, bound)| own > bound)
            }
            Operator::LessThan => label.and_then(number).zip(bound()).is_some_and(|(own, bound)| own < bound),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Comma,
    Open,
    Close,
    Not,
    /// `=`, `==`, `!=`, `>`, `<`, and whatever else is made of their characters
    Sign(String),
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(text) | Self::Sign(text) => text,
            Self::Comma => ",",
            Self::Open => "(",
            Self::Close => ")",
            Self::Not => "!",
            Self::End => "",
        }
    }
}

fn tokens(text: &str) -> Vec<Token> {
    let mut characters = text.chars().peekable();
    let mut tokens = Vec::new();
    while let Some(first) = characters.next() {
        match first {
            ' ' | '\t' | '\r' | '\n' => {}
            ',' => tokens.push(Token::Comma),
            '(' => tokens.push(Token::Open),
            ')' => tokens.push(Token::Close),
            sign if is_sign(sign) => tokens.extend(signs(sign, &mut characters)),
            other => {
                let mut word = String::from(other);
                while let Some(more) = characters.next_if(|&it| !is_special(it)) {
                    word.push(more);
                }
                tokens.push(Token::Word(word));
            }
        }
    }
    tokens.push(Token::End);
    tokens
}

/// The longest of the known signs that the characters begin with, again and again.
fn signs(first: char, characters: &mut Peekable<Chars<'_>>) -> Vec<Token> {
    let mut run = String::from(first);
    while let Some(more) = characters.next_if(|&it| is_sign(it)) {
        run.push(more);
    }
    let mut found = Vec::new();
    let mut rest = run.as_str();
    while !rest.is_empty() {
        let known = ["==", "!=", "=", "!", ">", "<"];
        let sign = known.into_iter().find(|sign| rest.starts_with(sign)).unwrap_or(rest);
        found.push(if sign == "!" { Token::Not } else { Token::Sign(sign.to_owned()) });
        rest = &rest[sign.len()..];
    }
    found
}

fn is_sign(character: char) -> bool {
    matches!(character, '=' | '!' | '>' | '<')
}

fn is_special(character: char) -> bool {
    is_sign(character) || matches!(character, ',' | '(' | ')' | ' ' | '\t' | '\r' | '\n')
}

struct Parser {
    tokens: Vec<Token>,
    position: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.position).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.position += 1;
        token
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let negated = *self.peek() == Token::Not;
        if negated {
            self.next();
        }
        let key = match self.next() {
            Token::Word(key) => key,
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        if let Some(why) = names::qualified_name(&key).into_iter().next() {
            return Err(crate::field::Error::invalid("<nil>", key, why).to_string());
        }
        if negated {
            return Requirement::new(key, Operator::DoesNotExist, BTreeSet::new());
        }
        if matches!(self.peek(), Token::End | Token::Comma) {
            return Requirement::new(key, Operator::Exists, BTreeSet::new());
        }
        let operator = self.operator()?;
        let values = match operator {
            (operator, true) => return Requirement::new(key, operator, self.list()?),
            (_, false) => self.value()?,
        };
        Requirement::new(key, operator.0, BTreeSet::from([values]))
    }

    /// The operator, and whether a list follows.
    fn operator(&mut self) -> Result<(Operator, bool), String> {
        let token = self.next();
        Ok(match (&token, token.text()) {
            (Token::Word(_), "in") => (Operator::In, true),
            (Token::Word(_), "notin") => (Operator::NotIn, true),
            (Token::Sign(_), "=" | "==") => (Operator::In, false),
            (Token::Sign(_), "!=") => (Operator::NotIn, false),
            (Token::Sign(_), ">") => (Operator::GreaterThan, false),
            (Token::Sign(_), "<") => (Operator::LessThan, false),
            (_, text) => return Err(format!("found '{text}', expected: in, notin, =, ==, !=, gt, lt")),
        })
    }

    fn value(&mut self) -> Result<String, String> {
        if matches!(self.peek(), Token::End | Token::Comma) {
            return Ok(String::new());
        }
        match self.next() {
            Token::Word(value) => Ok(value),
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    /// `(a, b)`; an empty place in the list is the empty value.
    fn list(&mut self) -> Result<BTreeSet<String>, String> {
        match self.next() {
            Token::Open => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        let mut values = BTreeSet::new();
        let mut place_is_empty = true;
        loop {
            match self.next() {
                Token::Word(value) if place_is_empty => {
                    values.insert(value);
                    place_is_empty = false;
                }
                Token::Comma => {
                    if place_is_empty {
                        values.insert(String::new());
                    }
                    place_is_empty = true;
                }
                Token::Close => {
                    if place_is_empty {
                        values.insert(String::new());
                    }
                    return Ok(values);
                }
                other if place_is_empty => {
                    return Err(format!("found '{}', expected: ',', or identifier", other.text()));
                }
                other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn matches(selector: &str, labels: Value) -> bool {
        LabelSelector::parse(selector).unwrap().matches(&json!({"metadata": {"labels": labels}}))
    }

    #[test]
    fn every_requirement_must_hold() {
        let labels = || json!({"app": "web", "tier": "a", "size": "5"});
        for selector in [
            "",
            "app",
            "app=web",
            "app==web,tier in (a, b)",
            "!gone",
            "x!=y",
            "tier notin (b)",
            "size>4",
            "size<6",
        ] {
            assert!(matches(selector, labels()), "{selector}");
        }
        for selector in
            ["gone", "app=db", "tier in (b,c)", "!app", "app!=web", "tier notin (a)", "size>5", "app>1"]
        {
            assert!(!matches(selector, labels()), "{selector}");
        }
    }

    #[test]
    fn selectors_of_objects_select_the_same() {
        let matches = |selector: Value| {
            let object = json!({"metadata": {"labels": {"app": "web", "tier": "a"}}});
            LabelSelector::read(&selector).map(|selector| selector.matches(&object))
        };
        let expression = |key: &str, operator: &str, values: Value| {
            matches(json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]}))
        };
        assert_eq!(matches(json!({})), Some(true));
        assert_eq!(matches(json!({"matchLabels": {"app": "web"}})), Some(true));
        assert_eq!(matches(json!({"matchLabels": {"app": "db"}})), Some(false));
        assert_eq!(expression("tier", "In", json!(["a", "b"])), Some(true));
        assert_eq!(expression("tier", "NotIn", json!(["a"])), Some(false));
        assert_eq!(expression("tier", "Exists", json!([])), Some(true));
        assert_eq!(expression("tier", "DoesNotExist", json!(null)), Some(false));
        for (key, operator, values) in [
            ("a", "In", json!([])),
            ("a", "Exists", json!(["b"])),
            ("a", "Gt", json!(["1"])),
            ("-", "Exists", json!([])),
        ] {
            assert_eq!(expression(key, operator, values), None, "{key} {operator}");
        }
    }

    #[test]
    fn the_empty_value_is_a_value() {
        assert!(matches("a=", json!({"a": ""})));
        assert!(matches("a in ()", json!({"a": ""})));
        assert!(matches("a in (x,)", json!({"a": ""})));
        assert!(!matches("a in ()", json!({"a": "x"})));
    }

    #[test]
    fn mistakes_are_named_as_kubernetes_names_them() {
        let cases = [
            ("a===b", "unable to parse requirement: found '=', expected: identifier"),
            ("!a b", "found 'b', expected: ',' or 'end of string'"),
            ("a in b", "unable to parse requirement: found 'b' expected: '('"),
            ("a,b notin (c", "unable to parse requirement: found '', expected: ',' or ')'"),
            ("a gt b", "unable to parse requirement: found 'gt', expected: in, notin, =, ==, !=, gt, lt"),
            (
                "a>b",
                "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
            ),
            ("=b", "found '=', expected: !, identifier, or 'end of string'"),
            ("a,", "found '', expected: identifier after ','"),
        ];
        for (selector, expected) in cases {
            assert_eq!(LabelSelector::parse(selector).unwrap_err(), expected, "{selector}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([a-z]|[=!<>,() ]|in|notin|\\PC)*") {
            let _ = LabelSelector::parse(&text);
        }
    }
}
