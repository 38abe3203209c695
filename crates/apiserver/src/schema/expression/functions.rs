//! The functions and names that rules can use: those of kube-cel, and those that it lacks or that need bounds.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::{CallExpr, Expr};
use kube_cel::cel::extractors::{Arguments, This};
use kube_cel::cel::{Context, ExecutionError, IdedExpr, ResolveResult, Value};

use super::{budget, casts, loops};

/// No expression can name these: they do not start like names do.
pub(super) const TICK: &str = "@tick";
pub(super) const STOP: &str = "@stop";
pub(super) const MEASURED_ADD: &str = "@add";

/// All that is there without an object.
pub(super) static CONTEXT: LazyLock<Context<'static>> = LazyLock::new(context);

const TYPES: [&str; 9] = ["bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type"];

fn context() -> Context<'static> {
    let mut context = Context::default().with_all();
    context.add_function(TICK, tick);
    context.add_function(STOP, || false);
    context.add_function(MEASURED_ADD, |left: Value, right: Value| add(left, right));
    context.add_function("replace", replace);
    context.add_function("join", join);
    context.add_function("type", |value: Value| -> ResolveResult {
        Ok(Value::from(type_name(&value).to_owned()))
    });
    context.add_function("dyn", |value: Value| -> ResolveResult { Ok(value) });
    casts::register(&mut context);
    loops::register(&mut context);
    for name in TYPES {
        context.add_variable_from_value(name, name.to_owned());
    }
    context
}

/// Kubernetes has more of them elsewhere, but not for the rules of definitions.
const LIBRARIES: [&str; 6] = ["sets", "lists", "strings", "ip", "format", "optional"];

pub(super) fn is_library(name: &str) -> bool {
    LIBRARIES.contains(&name)
}

/// The first name or function that nothing provides, and whether it is a function.
pub(super) fn unknown_reference(expression: &IdedExpr) -> Option<(String, bool)> {
    let bound = bound_names(expression);
    let mut unknown = None;
    super::tree::visit(expression, &mut |expression| {
        let name = match &expression.expr {
            Expr::Ident(name) => {
                let known = matches!(name.as_str(), "self" | "oldSelf")
                    || TYPES.contains(&name.as_str())
                    || is_library(name)
                    || name.starts_with('@')
                    || bound.contains(name.as_str());
                (!known).then(|| (name.clone(), false))
            }
            Expr::Call(call) => (!is_function(call)).then(|| (call.func_name.clone(), true)),
            _ => None,
        };
        unknown = unknown.take().or(name);
    });
    unknown
}

/// Operators are not written with letters.
fn is_function(call: &CallExpr) -> bool {
    let is_operator = !call.func_name.starts_with(|first: char| first.is_ascii_alphabetic());
    let qualified = match call.target.as_ref().map(|target| &target.expr) {
        Some(Expr::Ident(library)) => is_provided(&format!("{library}.{}", call.func_name)),
        _ => false,
    };
    is_operator || qualified || is_provided(&call.func_name)
}

/// The context does not tell what functions it has, but a call without arguments fails in another way if there is one.
fn is_provided(name: &str) -> bool {
    let call = CallExpr { func_name: name.to_owned(), target: None, args: Vec::new() };
    let call = IdedExpr { id: 0, expr: Expr::Call(call) };
    let result = budget::guarded(|| CONTEXT.resolve(&call));
    !matches!(result, Ok(Err(ExecutionError::UndeclaredReference(_))))
}

/// The variables of loops.
fn bound_names(expression: &IdedExpr) -> HashSet<&str> {
    let mut names = HashSet::new();
    super::tree::visit(expression, &mut |expression| match &expression.expr {
        Expr::Comprehension(loops) => {
            names.insert(loops.iter_var.as_str());
            names.insert(loops.accu_var.as_str());
        }
        Expr::Call(call) => names.extend(loops::variables(call)),
        _ => {}
    });
    names
}

fn tick() -> ResolveResult {
    if budget::tick() { Ok(Value::Bool(true)) } else { Err(spent()) }
}

pub(super) fn spent() -> ExecutionError {
    ExecutionError::function_error("evaluation", "operation cancelled: actual cost limit exceeded")
}

fn add(left: Value, right: Value) -> ResolveResult {
    let size = match (&left, &right) {
        (Value::String(left), Value::String(right)) => left.len() + right.len(),
        (Value::Bytes(left), Value::Bytes(right)) => {
            return if budget::allows(left.len() + right.len()) {
                Ok(Value::Bytes(Arc::new([left.as_slice(), right.as_slice()].concat())))
            } else {
                Err(spent())
            };
        }
        (Value::List(left), Value::List(right)) => left.len() + right.len(),
        _ => 0,
    };
    if budget::allows(size) { left + right } else { Err(spent()) }
}

/// `text.replace(old, new)` and `text.replace(old, new, count)`; a negative count is none.
fn replace(This(text): This<Arc<String>>, Arguments(arguments): Arguments) -> ResolveResult {
    let (old, new, count) = match arguments.as_slice() {
        [Value::String(old), Value::String(new)] => (old, new, -1),
        [Value::String(old), Value::String(new), Value::Int(count)] => (old, new, *count),
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    let found = text.matches(old.as_str()).count();
    let count = usize::try_from(count).map_or(found, |count| count.min(found));
    if !budget::allows(text.len().saturating_add(count.saturating_mul(new.len()))) {
        return Err(spent());
    }
    Ok(Value::String(Arc::new(text.replacen(old.as_str(), new, count))))
}

fn join(This(list): This<Arc<Vec<Value>>>, Arguments(arguments): Arguments) -> ResolveResult {
    let separator = match arguments.as_slice() {
        [] => "",
        [Value::String(separator)] => separator.as_str(),
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    let texts: Option<Vec<&str>> = list
        .iter()
        .map(|value| if let Value::String(text) = value { Some(text.as_str()) } else { None })
        .collect();
    let texts = texts.ok_or(ExecutionError::NoSuchOverload)?;
    let size = texts.iter().map(|text| text.len() + separator.len()).fold(0, usize::saturating_add);
    if budget::allows(size) { Ok(Value::String(Arc::new(texts.join(separator)))) } else { Err(spent()) }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::Int(_) => "int",
        Value::UInt(_) => "uint",
        Value::Float(_) => "double",
        Value::String(_) => "string",
        Value::Bytes(_) => "bytes",
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Null => "null_type",
        Value::Timestamp(_) => "google.protobuf.Timestamp",
        Value::Duration(_) => "google.protobuf.Duration",
        _ => "dyn",
    }
}
