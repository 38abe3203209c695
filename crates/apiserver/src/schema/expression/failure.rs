//! How a failed evaluation is worded. The interpreter has its own words; these are Kubernetes'.

use kube_cel::cel::{ExecutionError, Value};

const NO_QUANTITY: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// None where the types of the operands are at fault, for which there are other words.
pub(super) fn described(error: &ExecutionError) -> Option<String> {
    let text = match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::IndexOutOfBounds(Value::Int(index)) => format!("index out of bounds: {index}"),
        ExecutionError::IndexOutOfBounds(_) => "index out of bounds".into(),
        ExecutionError::DivisionByZero(_) => "division by zero".into(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".into(),
        ExecutionError::Overflow(..) => "integer overflow".into(),
        ExecutionError::FunctionError { function, .. } if function == "quantity" => NO_QUANTITY.into(),
        ExecutionError::FunctionError { message, .. } => {
            out_of_range(message).unwrap_or_else(|| message.clone())
        }
        ExecutionError::UndeclaredReference(name) => format!("no such attribute(s): {name}"),
        _ => return None,
    };
    Some(text)
}

/// `start index 9 out of range for string of length 3` and its like.
fn out_of_range(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("index ")?;
    let (index, _) = rest.split_once(" out of range")?;
    Some(format!("index out of range: {index}"))
}
