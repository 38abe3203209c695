//! Macros that kube-cel does not expand: loops over two variables, and sorting by a key. Here they are functions that
//! evaluate their last argument again and again.

use std::cmp::Ordering;
use std::sync::Arc;

use kube_cel::cel::common::ast::{CallExpr, Expr};
use kube_cel::cel::objects::Map;
use kube_cel::cel::{Context, ExecutionError, FunctionContext, IdedExpr, ResolveResult, Value};

use super::budget;

type Call<'a, 'b> = FunctionContext<'a, 'b>;

pub(super) fn register(context: &mut Context<'_>) {
    context.add_function("all", |call: &Call<'_, '_>| count(call, |found, all| found == all));
    context.add_function("exists", |call: &Call<'_, '_>| count(call, |found, _| found > 0));
    context.add_function("exists_one", |call: &Call<'_, '_>| count(call, |found, _| found == 1));
    context.add_function("existsOne", |call: &Call<'_, '_>| count(call, |found, _| found == 1));
    context.add_function("transformList", transform_list);
    context.add_function("transformMap", transform_map);
    context.add_function("sortBy", sort_by);
}

/// The variables that a call brings along.
pub(super) fn variables(call: &CallExpr) -> Vec<&str> {
    let count = match (call.func_name.as_str(), call.args.len()) {
        ("all" | "exists" | "exists_one" | "existsOne", 3) | ("transformList" | "transformMap", 3 | 4) => 2,
        ("sortBy", 2) => 1,
        _ => 0,
    };
    call.args[..count].iter().filter_map(name).collect()
}

fn name(argument: &IdedExpr) -> Option<&str> {
    if let Expr::Ident(name) = &argument.expr { Some(name) } else { None }
}

/// Keys and values of a map in the order of the keys, or indices and items of a list.
fn entries(this: Option<&Value>) -> Result<Vec<(Value, Value)>, ExecutionError> {
    match this {
        Some(Value::List(items)) => Ok((0..).map(Value::Int).zip(items.iter().cloned()).collect()),
        Some(Value::Map(map)) => {
            let mut entries: Vec<_> = map.map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            Ok(entries.into_iter().map(|(key, value)| (Value::from(key), value.clone())).collect())
        }
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// Evaluates an argument for one entry.
fn evaluate(call: &Call<'_, '_>, argument: &IdedExpr, values: &[Value]) -> ResolveResult {
    if !budget::tick() {
        return Err(super::functions::spent());
    }
    let mut scope = call.ptx.new_inner_scope();
    for (variable, value) in call.args.iter().zip(values) {
        let variable = name(variable).ok_or(ExecutionError::NoSuchOverload)?;
        scope.add_variable_from_value(variable, value.clone());
    }
    scope.resolve(argument)
}

fn holds(
    call: &Call<'_, '_>,
    argument: &IdedExpr,
    key: &Value,
    value: &Value,
) -> Result<bool, ExecutionError> {
    match evaluate(call, argument, &[key.clone(), value.clone()])? {
        Value::Bool(holds) => Ok(holds),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

fn count(call: &Call<'_, '_>, decide: fn(usize, usize) -> bool) -> ResolveResult {
    let [_, _, condition] = call.args else { return Err(ExecutionError::NoSuchOverload) };
    let entries = entries(call.this.as_ref())?;
    let mut found = 0;
    for (key, value) in &entries {
        found += usize::from(holds(call, condition, key, value)?);
    }
    Ok(Value::Bool(decide(found, entries.len())))
}

/// The keys of those entries that pass the filter, if there is one, with what they are turned into.
fn transformed(call: &Call<'_, '_>) -> Result<Vec<(Value, Value)>, ExecutionError> {
    let (filter, change) = match call.args {
        [_, _, change] => (None, change),
        [_, _, filter, change] => (Some(filter), change),
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    let mut out = Vec::new();
    for (key, value) in entries(call.this.as_ref())? {
        if filter.map_or(Ok(true), |filter| holds(call, filter, &key, &value))? {
            let changed = evaluate(call, change, &[key.clone(), value])?;
            out.push((key, changed));
        }
    }
    Ok(out)
}

fn transform_list(call: &Call<'_, '_>) -> ResolveResult {
    Ok(Value::List(Arc::new(transformed(call)?.into_iter().map(|(_, value)| value).collect())))
}

fn transform_map(call: &Call<'_, '_>) -> ResolveResult {
    let entries = transformed(call)?.into_iter();
    let keyed =
        entries.map(|(key, value)| Ok((key.try_into().map_err(|_| ExecutionError::NoSuchOverload)?, value)));
    let map = keyed.collect::<Result<_, ExecutionError>>()?;
    Ok(Value::Map(Map { map: Arc::new(map) }))
}

fn sort_by(call: &Call<'_, '_>) -> ResolveResult {
    let ([_, key], Some(Value::List(items))) = (call.args, &call.this) else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let mut keyed = Vec::with_capacity(items.len());
    for item in items.iter() {
        keyed.push((evaluate(call, key, std::slice::from_ref(item))?, item.clone()));
    }
    keyed.sort_by(|(one, _), (other, _)| one.partial_cmp(other).unwrap_or(Ordering::Equal));
    Ok(Value::List(Arc::new(keyed.into_iter().map(|(_, item)| item).collect())))
}
