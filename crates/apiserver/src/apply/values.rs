//! The order of JSON values in which Kubernetes sorts the steps of paths. Numbers compare by what they count, so 1 and
//! 1.0 are the same step.

use std::cmp::Ordering;

use serde_json::{Number, Value};

pub(super) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => compare_all(a.iter(), b.iter(), compare),
        (Value::Object(a), Value::Object(b)) => {
            compare_all(a.iter(), b.iter(), |(name, value), (other_name, other)| {
                name.cmp(other_name).then_with(|| compare(value, other))
            })
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

pub(super) fn equal(a: &Value, b: &Value) -> bool {
    compare(a, b).is_eq()
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => float(a).total_cmp(&float(b)),
    }
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// Negative zero is zero.
fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or_default() + 0.0
}

fn compare_all<T>(
    mut a: impl Iterator<Item = T>,
    mut b: impl Iterator<Item = T>,
    order: impl Fn(T, T) -> Ordering,
) -> Ordering {
    loop {
        let next = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(a), Some(b)) => order(a, b),
        };
        if next.is_ne() {
            return next;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kinds_of_values_sort_before_one_another() {
        let sorted =
            [json!(-1), json!(2.5), json!("a"), json!(false), json!([1]), json!({"a": 1}), json!(null)];
        assert!(sorted.windows(2).all(|pair| compare(&pair[0], &pair[1]).is_lt()));
    }

    #[test]
    fn whole_numbers_equal_floats_of_the_same_size() {
        assert!(equal(&json!(1), &json!(1.0)) && equal(&json!(0), &json!(-0.0)));
        assert!(!equal(&json!(9_007_199_254_740_993_i64), &json!(9_007_199_254_740_992_i64)));
    }
}
