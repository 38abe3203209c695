//! Finds mistakes in an expression before it runs: names and fields that are not there, and results of another type
//! than is asked for. Not all that Kubernetes' compiler finds: what is not sure is let pass, and fails when it runs.

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{CallExpr, Expr, LiteralValue, operators};

use super::escape::escape;
use super::parsing::located;
use crate::schema::{Schema, Shape};

/// What an expression is to result in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Bool,
    Text,
}

/// What is known of a value.
#[derive(Clone, Copy)]
enum Kind<'a> {
    Known(&'static str),
    Described(&'a Schema, IsResource),
    Unknown,
}

type IsResource = bool;

pub(super) struct Checker<'a> {
    pub source: &'a str,
    pub schema: &'a Schema,
    pub is_resource: bool,
    pub old_is_optional: bool,
}

impl<'a> Checker<'a> {
    pub(super) fn check(&self, expression: &IdedExpr, output: Output) -> Result<(), String> {
        let mut scope = Vec::new();
        let kind = self.kind(expression, &mut scope).map_err(|why| format!("compilation failed: {why}"))?;
        let (wanted, words) = match output {
            Output::Bool => ("bool", "cel expression must evaluate to a bool"),
            Output::Text => ("string", "must evaluate to a string"),
        };
        match name_of(kind) {
            Some(found) if found != wanted => Err(words.to_owned()),
            _ => Ok(()),
        }
    }

    fn kind(
        &self,
        expression: &'a IdedExpr,
        scope: &mut Vec<(&'a str, Kind<'a>)>,
    ) -> Result<Kind<'a>, String> {
        match &expression.expr {
            Expr::Literal(literal) => Ok(literal_kind(literal)),
            Expr::Ident(name) => Ok(self.variable(name, scope)),
            Expr::Select(select) => {
                let operand = self.kind(&select.operand, scope)?;
                let field = self.field(operand, &select.field)?;
                Ok(if select.test { Kind::Known("bool") } else { field })
            }
            Expr::Call(call) => self.call(call, scope),
            Expr::Comprehension(loops) => {
                let range = self.kind(&loops.iter_range, scope)?;
                if name_of(range) == Some("object") && !is_map(range) {
                    let why = "expression of type 'object' cannot be range of a comprehension (must be list, map, or \
                               dynamic)";
                    return Err(located(self.source, 1, 1, why));
                }
                let start = self.kind(&loops.accu_init, scope)?;
                scope.push((&loops.iter_var, element(range)));
                scope.push((&loops.accu_var, start));
                self.kind(&loops.loop_step, scope)?;
                let result = self.kind(&loops.result, scope)?;
                scope.truncate(scope.len() - 2);
                Ok(result)
            }
            Expr::List(list) => {
                for element in &list.elements {
                    self.kind(element, scope)?;
                }
                Ok(Kind::Known("list"))
            }
            Expr::Map(_) => Ok(Kind::Known("map")),
            Expr::Struct(_) | Expr::Unspecified => Ok(Kind::Unknown),
        }
    }

    fn variable(&self, name: &str, scope: &[(&'a str, Kind<'a>)]) -> Kind<'a> {
        match name {
            "self" => Kind::Described(self.schema, self.is_resource),
            "oldSelf" if !self.old_is_optional => Kind::Described(self.schema, self.is_resource),
            _ => {
                scope.iter().rev().find(|(known, _)| *known == name).map_or(Kind::Unknown, |(_, kind)| *kind)
            }
        }
    }

    fn field(&self, operand: Kind<'a>, field: &str) -> Result<Kind<'a>, String> {
        let Kind::Described(schema, is_resource) = operand else { return Ok(Kind::Unknown) };
        if is_resource && matches!(field, "apiVersion" | "kind") {
            return Ok(Kind::Known("string"));
        }
        if is_resource && field == "metadata" {
            return Ok(Kind::Unknown);
        }
        let undefined = || {
            let column = self.source.find(&format!(".{field}")).map_or(1, |at| at + 1);
            Err(located(self.source, 1, column, &format!("undefined field '{field}'")))
        };
        match &schema.shape {
            Shape::Object(fields) => {
                if let Some(others) = fields.others.as_ref().filter(|_| fields.known.is_empty()) {
                    return Ok(Kind::Described(others, others.is_embedded_resource));
                }
                let known = fields.known.iter().find(|(name, _)| escape(name).as_deref() == Some(field));
                match known {
                    Some((_, found)) if matches!(found.shape, Shape::Any) => undefined(),
                    Some((_, found)) => Ok(Kind::Described(found, found.is_embedded_resource)),
                    None => undefined(),
                }
            }
            Shape::Any | Shape::IntOrString => Ok(Kind::Unknown),
            _ => {
                let column = self.source.find(&format!(".{field}")).map_or(1, |at| at + 1);
                let found = name_of(operand).unwrap_or("dyn");
                Err(located(
                    self.source,
                    1,
                    column,
                    &format!("type '{found}' does not support field selection"),
                ))
            }
        }
    }

    fn call(&self, call: &'a CallExpr, scope: &mut Vec<(&'a str, Kind<'a>)>) -> Result<Kind<'a>, String> {
        let mut kinds = Vec::new();
        if let Some(target) = &call.target
            && !matches!(&target.expr, Expr::Ident(name) if super::functions::is_library(name))
        {
            kinds.push(self.kind(target, scope)?);
        }
        for argument in &call.args {
            kinds.push(self.kind(argument, scope)?);
        }
        let name = call.func_name.as_str();
        match name {
            operators::EQUALS | operators::NOT_EQUALS => self.comparable(name, &kinds),
            operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS => {
                self.comparable(name, &kinds)
            }
            operators::LOGICAL_AND | operators::LOGICAL_OR | operators::LOGICAL_NOT | operators::IN => {
                Ok(Kind::Known("bool"))
            }
            operators::ADD
            | operators::SUBSTRACT
            | operators::MULTIPLY
            | operators::DIVIDE
            | operators::MODULO => {
                Ok(kinds.first().copied().filter(|kind| is_number_or_text(*kind)).unwrap_or(Kind::Unknown))
            }
            operators::CONDITIONAL => Ok(kinds.get(1).copied().unwrap_or(Kind::Unknown)),
            operators::INDEX => Ok(kinds.first().map_or(Kind::Unknown, |list| element(*list))),
            "matches" => match call.args.last().map(|argument| &argument.expr) {
                Some(Expr::Literal(LiteralValue::String(pattern)))
                    if crate::schema::pattern::compile(pattern.inner()).is_err() =>
                {
                    Err(self.at(pattern.inner(), "invalid matches argument"))
                }
                _ => Ok(Kind::Known("bool")),
            },
            "startsWith" | "endsWith" | "contains" | "isSorted" => Ok(Kind::Known("bool")),
            "size" => Ok(Kind::Known("int")),
            _ => Ok(Kind::Unknown),
        }
    }

    /// An error about a literal; it is found at its quote.
    fn at(&self, literal: &str, why: &str) -> String {
        located(self.source, 1, self.source.find(literal).unwrap_or(1), why)
    }

    fn comparable(&self, operator: &str, kinds: &[Kind<'a>]) -> Result<Kind<'a>, String> {
        let names: Vec<Option<&str>> = kinds.iter().map(|kind| name_of(*kind)).collect();
        let [Some(left), Some(right)] = names.as_slice() else { return Ok(Kind::Known("bool")) };
        let numbers = ["int", "uint", "double"];
        let plain = |name: &str| numbers.contains(&name) || matches!(name, "bool" | "string" | "bytes");
        let ordered = !matches!(operator, operators::EQUALS | operators::NOT_EQUALS);
        // Numbers of any kind can be put in order, but not be equal.
        let fits = left == right || (ordered && numbers.contains(left) && numbers.contains(right));
        if fits || !plain(left) || !plain(right) {
            return Ok(Kind::Known("bool"));
        }
        let sign = operator.trim_matches('_');
        let column = self.source.find(sign).map_or(1, |at| at + 1);
        let why = format!("found no matching overload for '{operator}' applied to '({left}, {right})'");
        Err(located(self.source, 1, column, &why))
    }
}

fn is_map(kind: Kind<'_>) -> bool {
    matches!(kind, Kind::Described(schema, _)
        if matches!(&schema.shape, Shape::Object(fields) if fields.others.is_some()))
}

fn is_number_or_text(kind: Kind<'_>) -> bool {
    matches!(name_of(kind), Some("int" | "uint" | "double" | "string"))
}

fn element(kind: Kind<'_>) -> Kind<'_> {
    match kind {
        Kind::Described(schema, _) => match &schema.shape {
            Shape::Array(items) if !matches!(items.shape, Shape::Any) => {
                Kind::Described(items, items.is_embedded_resource)
            }
            Shape::Object(fields) if fields.known.is_empty() => Kind::Unknown,
            _ => Kind::Unknown,
        },
        _ => Kind::Unknown,
    }
}

fn literal_kind<'a>(literal: &LiteralValue) -> Kind<'a> {
    Kind::Known(match literal {
        LiteralValue::Boolean(_) => "bool",
        LiteralValue::Bytes(_) => "bytes",
        LiteralValue::Double(_) => "double",
        LiteralValue::Int(_) => "int",
        LiteralValue::Null => "null",
        LiteralValue::String(_) => "string",
        LiteralValue::UInt(_) => "uint",
    })
}

/// The name of a type of which there is no doubt.
fn name_of(kind: Kind<'_>) -> Option<&'static str> {
    match kind {
        Kind::Known(name) => Some(name),
        Kind::Unknown => None,
        Kind::Described(schema, _) => {
            let format = schema.rules.as_ref().and_then(|rules| rules.format.as_deref());
            match (&schema.shape, format) {
                (Shape::String, Some("byte")) => Some("bytes"),
                (Shape::String, Some("date" | "date-time")) => Some("timestamp"),
                (Shape::String, Some("duration")) => Some("duration"),
                (Shape::String, _) => Some("string"),
                (Shape::Integer, _) => Some("int"),
                (Shape::Number, _) => Some("double"),
                (Shape::Boolean, _) => Some("bool"),
                (Shape::Array(_), _) => Some("list"),
                (Shape::Object(_), _) if !schema.is_untyped => Some("object"),
                _ => None,
            }
        }
    }
}
