//! A compiled expression, with what keeps its evaluation within bounds built in: every round of a loop asks the
//! budget, and what could make values grow without end is measured first.

use std::collections::BTreeSet;

use kube_cel::cel::common::ast::{CallExpr, Expr, operators};
use kube_cel::cel::{Context, ExecutionError, IdedExpr, Value};

use super::check::{Checker, Output};
use super::parsing::{column_of, located, parse};
use super::tree::{children, children_mut};
use super::{budget, casts, escape, functions};
use crate::schema::{ListType, Schema, Shape};

#[derive(Debug)]
pub(crate) struct Program {
    expression: IdedExpr,
    pub(crate) uses_old_value: bool,
    /// The fields of `self` and `oldSelf` that are looked at; all of them where that cannot be told.
    pub(super) looks_at: Option<BTreeSet<String>>,
}

/// Of the text of an expression. Kubernetes' limit is on cost; a rule that a person wrote is far below this.
const MOST_TEXT: usize = 64 << 10;

impl Program {
    /// Compiles, or says why not in the words of the CEL compiler of Kubernetes.
    pub(crate) fn new(source: &str, schema: &Schema) -> Result<Self, String> {
        Self::build(source, schema, |_| Ok(()))
    }

    /// Compiles for a definition that is being written, and looks closer than is needed for one that is in use.
    pub(crate) fn checked(
        source: &str,
        schema: &Schema,
        is_resource: bool,
        old_is_optional: bool,
        output: Output,
    ) -> Result<Self, String> {
        let checker = Checker { source, schema, is_resource, old_is_optional };
        Self::build(source, schema, |expression| checker.check(expression, output))
    }

    fn build(
        source: &str,
        schema: &Schema,
        check: impl FnOnce(&IdedExpr) -> Result<(), String>,
    ) -> Result<Self, String> {
        if source.len() > MOST_TEXT {
            return Err(format!(
                "expression code point size exceeds limit: size: {}, limit {MOST_TEXT}",
                source.len()
            ));
        }
        let mut expression = parse(source).map_err(|why| format!("compilation failed: {why}"))?;
        if let Some((name, is_function)) = functions::unknown_reference(&expression) {
            let column = column_of(source, &name, is_function);
            let why = format!("undeclared reference to '{name}' (in container '')");
            return Err(format!("compilation failed: {}", located(source, 1, column, &why)));
        }
        check(&expression)?;
        let uses_old_value = expression.references().has_variable("oldSelf");
        let mut fields = BTreeSet::new();
        let looks_at = collect_fields(&expression, &mut fields).then_some(fields);
        bound(&mut expression, None);
        ignore_order(&mut expression, schema);
        Ok(Self { expression, uses_old_value, looks_at })
    }

    /// Panics of the interpreter count as errors.
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Value, ExecutionError> {
        budget::guarded(|| Value::resolve(&self.expression, context))
            .unwrap_or_else(|()| Err(ExecutionError::function_error("evaluation", "internal error")))
    }
}

/// Sets and keyed lists are equal in any order.
fn ignore_order(expression: &mut IdedExpr, schema: &Schema) {
    for child in children_mut(expression) {
        ignore_order(child, schema);
    }
    let Expr::Call(call) = &mut expression.expr else { return };
    let is_unequal = call.func_name == operators::NOT_EQUALS;
    let compares = call.func_name == operators::EQUALS || is_unequal;
    if !compares || !call.args.iter().any(|argument| is_unordered(argument, schema)) {
        return;
    }
    let library = IdedExpr { id: 0, expr: Expr::Ident("sets".into()) };
    let args = std::mem::take(&mut call.args);
    let equal = CallExpr { func_name: "equivalent".into(), target: Some(Box::new(library)), args };
    expression.expr = Expr::Call(equal);
    if is_unequal {
        let equal = std::mem::take(expression);
        let negation = CallExpr { func_name: operators::LOGICAL_NOT.into(), target: None, args: vec![equal] };
        expression.expr = Expr::Call(negation);
    }
}

fn is_unordered(expression: &IdedExpr, schema: &Schema) -> bool {
    let found = schema_of(expression, schema);
    found.is_some_and(|schema| matches!(schema.shape, Shape::Array(_)) && schema.list != ListType::Atomic)
}

/// The schema of `self.some.field`.
fn schema_of<'a>(expression: &IdedExpr, schema: &'a Schema) -> Option<&'a Schema> {
    match &expression.expr {
        Expr::Ident(name) if matches!(name.as_str(), "self" | "oldSelf") => Some(schema),
        Expr::Select(select) => {
            let Shape::Object(fields) = &schema_of(&select.operand, schema)?.shape else { return None };
            let is_named = |name: &&String| escape::escape(name).as_ref() == Some(&select.field);
            let name = fields.known.keys().find(is_named)?;
            fields.known.get(name).map(|field| &**field)
        }
        _ => None,
    }
}

/// Whether all that is looked at of `self` and `oldSelf` are fields by name.
fn collect_fields(expression: &IdedExpr, fields: &mut BTreeSet<String>) -> bool {
    match &expression.expr {
        Expr::Ident(name) => !matches!(name.as_str(), "self" | "oldSelf"),
        Expr::Select(select) => match &select.operand.expr {
            Expr::Ident(name) if matches!(name.as_str(), "self" | "oldSelf") => {
                fields.insert(select.field.clone());
                true
            }
            _ => collect_fields(&select.operand, fields),
        },
        _ => children(expression).into_iter().all(|child| collect_fields(child, fields)),
    }
}

/// Puts the budget into the loops and the measures around additions. `accumulator` is the variable in which the
/// innermost loop gathers its result: adding to that is paid for by the round.
fn bound(expression: &mut IdedExpr, accumulator: Option<&str>) {
    match &mut expression.expr {
        Expr::Comprehension(loops) => {
            bound(&mut loops.iter_range, accumulator);
            bound(&mut loops.accu_init, accumulator);
            bound(&mut loops.loop_step, Some(&loops.accu_var));
            bound(&mut loops.result, Some(&loops.accu_var));
            let condition = std::mem::take(&mut loops.loop_cond);
            loops.loop_cond = ticked(condition);
        }
        Expr::Call(call) => {
            let gathers = matches!(call.args.first().map(|first| &first.expr),
                Some(Expr::Ident(name)) if Some(name.as_str()) == accumulator);
            if call.func_name == operators::ADD && call.args.len() == 2 && !gathers {
                functions::MEASURED_ADD.clone_into(&mut call.func_name);
            }
            let ours = casts::OVERRIDDEN.iter().find(|(name, _)| *name == call.func_name);
            if let Some((_, ours)) = ours.filter(|_| call.target.is_none()) {
                (*ours).clone_into(&mut call.func_name);
            }
            call.target.iter_mut().for_each(|target| bound(target, accumulator));
            call.args.iter_mut().for_each(|argument| bound(argument, accumulator));
        }
        _ => children_mut(expression).into_iter().for_each(|child| bound(child, accumulator)),
    }
}

/// `tick() ? condition : false`: unlike `&&`, a conditional does not swallow the error of a spent budget.
fn ticked(condition: IdedExpr) -> IdedExpr {
    let call = |name: &str, args: Vec<IdedExpr>| IdedExpr {
        id: condition.id,
        expr: Expr::Call(CallExpr { func_name: name.to_owned(), target: None, args }),
    };
    let tick = call(functions::TICK, Vec::new());
    let stop = call(functions::STOP, Vec::new());
    call(operators::CONDITIONAL, vec![tick, condition.clone(), stop])
}
