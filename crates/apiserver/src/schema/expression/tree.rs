//! Walks over the parts of an expression.

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{EntryExpr, Expr};

/// Calls `look` for an expression and for everything inside.
pub(super) fn visit<'a>(expression: &'a IdedExpr, look: &mut dyn FnMut(&'a IdedExpr)) {
    look(expression);
    for child in children(expression) {
        visit(child, look);
    }
}

/// How many levels an expression has.
pub(super) fn depth(expression: &IdedExpr) -> usize {
    1 + children(expression).into_iter().map(depth).max().unwrap_or_default()
}

pub(super) fn children_mut(expression: &mut IdedExpr) -> Vec<&mut IdedExpr> {
    match &mut expression.expr {
        Expr::Call(call) => {
            call.target.iter_mut().map(|target| &mut **target).chain(&mut call.args).collect()
        }
        Expr::Comprehension(loops) => {
            let loops = &mut **loops;
            vec![
                &mut loops.iter_range,
                &mut loops.accu_init,
                &mut loops.loop_cond,
                &mut loops.loop_step,
                &mut loops.result,
            ]
        }
        Expr::List(list) => list.elements.iter_mut().collect(),
        Expr::Map(map) => map.entries.iter_mut().flat_map(|entry| entry_parts_mut(&mut entry.expr)).collect(),
        Expr::Struct(object) => {
            object.entries.iter_mut().flat_map(|entry| entry_parts_mut(&mut entry.expr)).collect()
        }
        Expr::Select(select) => vec![&mut *select.operand],
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => Vec::new(),
    }
}

fn entry_parts_mut(entry: &mut EntryExpr) -> Vec<&mut IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&mut field.value],
        EntryExpr::MapEntry(entry) => vec![&mut entry.key, &mut entry.value],
    }
}

pub(super) fn children(expression: &IdedExpr) -> Vec<&IdedExpr> {
    match &expression.expr {
        Expr::Call(call) => call.target.iter().map(|target| &**target).chain(&call.args).collect(),
        Expr::Comprehension(loops) => {
            vec![&loops.iter_range, &loops.accu_init, &loops.loop_cond, &loops.loop_step, &loops.result]
        }
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map.entries.iter().flat_map(|entry| entry_parts(&entry.expr)).collect(),
        Expr::Struct(object) => object.entries.iter().flat_map(|entry| entry_parts(&entry.expr)).collect(),
        Expr::Select(select) => vec![&select.operand],
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => Vec::new(),
    }
}

fn entry_parts(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}
