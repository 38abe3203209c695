//! Values as Go prints them with `%v`, which is how messages about patches quote objects.

use std::fmt::{self, Display, Formatter};

use serde_json::Value;

/// Prints `{"a": [1, null]}` as `map[a:[1 <nil>]]`.
pub struct Printed<'a>(pub &'a Value);

impl Display for Printed<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => formatter.write_str("<nil>"),
            Value::Bool(value) => write!(formatter, "{value}"),
            Value::Number(number) if number.is_i64() => write!(formatter, "{number}"),
            Value::Number(number) => float(formatter, number.as_f64().unwrap_or_default()),
            Value::String(text) => formatter.write_str(text),
            Value::Array(items) => {
                spaced(formatter, "[", items, |item, formatter| Printed(item).fmt(formatter))
            }
            Value::Object(fields) => spaced(formatter, "map[", fields, |(name, value), formatter| {
                write!(formatter, "{name}:{}", Printed(value))
            }),
        }
    }
}

fn spaced<T>(
    formatter: &mut Formatter<'_>,
    opening: &str,
    parts: impl IntoIterator<Item = T>,
    print: impl Fn(T, &mut Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    formatter.write_str(opening)?;
    for (index, part) in parts.into_iter().enumerate() {
        if index > 0 {
            formatter.write_str(" ")?;
        }
        print(part, formatter)?;
    }
    formatter.write_str("]")
}

/// Go writes very large and very small numbers with an exponent of at least two digits.
fn float(formatter: &mut Formatter<'_>, number: f64) -> fmt::Result {
    if number == 0.0 || (1e-4..1e21).contains(&number.abs()) {
        return write!(formatter, "{number}");
    }
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    write!(formatter, "{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_look_as_go_prints_them() {
        let value =
            json!({"b": true, "l": [1, "a", 1.5], "m": {}, "z": null, "large": 1e21, "small": 0.000_01});
        let text = "map[b:true l:[1 a 1.5] large:1e+21 m:map[] small:1e-05 z:<nil>]";
        assert_eq!(Printed(&value).to_string(), text);
    }
}
