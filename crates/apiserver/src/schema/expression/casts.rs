//! Functions that kube-cel has, but that differ from those of Kubernetes for some values.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::common::ast::{CallExpr, Expr};
use kube_cel::cel::extractors::This;
use kube_cel::cel::{Context, ExecutionError, FunctionContext, IdedExpr, ResolveResult, Value};
use regex::Regex;

use crate::field::shown_float;
use crate::schema::pattern;

/// Calls to these are rewritten to our own, which hand on what they have nothing to say about.
pub(super) const OVERRIDDEN: [(&str, &str); 2] = [("string", "@string"), ("int", "@int")];

pub(super) fn register(context: &mut Context<'_>) {
    context.add_function("@string", |call: &FunctionContext<'_, '_>| cast(call, "string", to_text));
    context.add_function("@int", |call: &FunctionContext<'_, '_>| cast(call, "int", to_int));
    context.add_function("bool", to_bool);
    context.add_function("size", size);
    context.add_function("matches", matches);
}

fn cast(call: &FunctionContext<'_, '_>, name: &str, ours: fn(&Value) -> Option<Value>) -> ResolveResult {
    let [argument] = call.args else { return Err(ExecutionError::NoSuchOverload) };
    let value = call.ptx.resolve(argument)?;
    if let Some(value) = ours(&value) {
        return Ok(value);
    }
    let argument = IdedExpr { id: 0, expr: Expr::Ident("@value".into()) };
    let theirs = CallExpr { func_name: name.to_owned(), target: None, args: vec![argument] };
    let mut context = call.ptx.new_inner_scope();
    context.add_variable_from_value("@value", value);
    context.resolve(&IdedExpr { id: 0, expr: Expr::Call(theirs) })
}

fn to_text(value: &Value) -> Option<Value> {
    let text = match value {
        Value::Bool(flag) => flag.to_string(),
        Value::Float(float) => shown_float(*float),
        Value::Timestamp(time) => time.to_rfc3339().replace("+00:00", "Z"),
        Value::Duration(duration) => {
            #[expect(clippy::cast_precision_loss, reason = "CEL writes durations as seconds in a float")]
            let seconds = duration.num_nanoseconds()? as f64 / 1e9;
            format!("{seconds}s")
        }
        _ => return None,
    };
    Some(Value::String(Arc::new(text)))
}

fn to_int(value: &Value) -> Option<Value> {
    match value {
        Value::Timestamp(time) => Some(Value::Int(time.timestamp())),
        _ => None,
    }
}

fn to_bool(This(value): This<Value>) -> ResolveResult {
    match value {
        Value::Bool(flag) => Ok(Value::Bool(flag)),
        Value::String(text) => match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(ExecutionError::function_error("bool", "type conversion error from 'string' to 'bool'")),
        },
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// Of text, the number of characters.
fn size(This(value): This<Value>) -> ResolveResult {
    let size = match &value {
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) => items.len(),
        Value::Map(map) => map.map.len(),
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    i64::try_from(size).map(Value::Int).map_err(|_| ExecutionError::NoSuchOverload)
}

/// By the patterns of Go, of which an expression has few: they are kept for the next time.
fn matches(This(text): This<Arc<String>>, pattern: Arc<String>) -> ResolveResult {
    const MOST_KEPT: usize = 64;
    thread_local! {
        static KEPT: RefCell<HashMap<String, Regex>> = RefCell::new(HashMap::new());
    }
    KEPT.with_borrow_mut(|kept| {
        if let Some(known) = kept.get(pattern.as_str()) {
            return Ok(Value::Bool(known.is_match(&text)));
        }
        let compiled =
            pattern::compile(&pattern).map_err(|why| ExecutionError::function_error("matches", why))?;
        let found = compiled.is_match(&text);
        if kept.len() >= MOST_KEPT {
            kept.clear();
        }
        kept.insert(pattern.to_string(), compiled);
        Ok(Value::Bool(found))
    })
}
