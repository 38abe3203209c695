//! The JSON paths of printer columns: Kubernetes' own dialect, of which only the first result matters.

mod parser;

use serde_json::Value;

/// More values than this on the way to a cell are a path gone wild.
const MOST_VALUES: usize = 10_000;

pub(super) struct JsonPath(Vec<Step>);

/// Leads from values to values.
#[derive(Debug, PartialEq)]
enum Step {
    Field(String),
    /// All fields or items.
    Wildcard,
    /// The value, and all objects, lists and texts inside it.
    Descent,
    Slice(Slice),
    Union(Vec<Vec<Step>>),
    Filter(Filter),
    /// A literal, as they stand in filters.
    Constant(Value),
    /// A word that means something only in templates.
    Word,
}

/// `[start:end:step]`; a lone index is a slice of one.
#[derive(Debug, PartialEq)]
struct Slice {
    start: Option<i64>,
    end: Option<i64>,
    step: Option<i64>,
    is_index: bool,
}

#[derive(Debug, PartialEq)]
struct Filter {
    left: Vec<Step>,
    comparison: Option<(Operator, Vec<Step>)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// One that nobody knows, and that nothing satisfies.
    Unknown,
}

/// A path that does not fit the object. Its cell stays empty.
#[derive(Debug)]
struct Unfit;

type Values<'a> = Result<Vec<&'a Value>, Unfit>;

impl JsonPath {
    /// A path such as `.spec.names[0]`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        parser::parse(text).map(Self)
    }

    pub(super) fn first<'a>(&'a self, object: &'a Value) -> Option<&'a Value> {
        walk(&self.0, vec![object]).ok()?.first().copied()
    }
}

fn walk<'a>(steps: &'a [Step], values: Vec<&'a Value>) -> Values<'a> {
    steps.iter().try_fold(values, |values, step| {
        let results = follow(step, values)?;
        if results.len() > MOST_VALUES { Err(Unfit) } else { Ok(results) }
    })
}

fn follow<'a>(step: &'a Step, values: Vec<&'a Value>) -> Values<'a> {
    match step {
        Step::Field(name) => {
            Ok(values.into_iter().filter_map(|value| value.as_object()?.get(name)).collect())
        }
        Step::Wildcard => Ok(values.into_iter().flat_map(children).collect()),
        Step::Descent => descend(values),
        Step::Slice(slice) => cut(slice, values),
        Step::Union(paths) => {
            let results =
                paths.iter().map(|path| walk(path, values.clone())).collect::<Result<Vec<_>, _>>()?;
            Ok(results.concat())
        }
        Step::Filter(filter) => sift(filter, values),
        Step::Constant(text @ Value::String(_)) => Ok(vec![text]),
        Step::Constant(constant) => Ok(vec![constant; values.len()]),
        Step::Word => Err(Unfit),
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    }
}

fn descend(values: Vec<&Value>) -> Values<'_> {
    let mut results = Vec::new();
    let mut waiting: Vec<&Value> = values.into_iter().rev().collect();
    while let Some(value) = waiting.pop() {
        let children = children(value);
        if !children.is_empty() || value.as_str().is_some_and(|text| !text.is_empty()) {
            results.push(value);
        }
        if results.len() > MOST_VALUES {
            return Err(Unfit);
        }
        waiting.extend(children.into_iter().rev());
    }
    Ok(results)
}

fn cut<'a>(slice: &Slice, values: Vec<&'a Value>) -> Values<'a> {
    let mut results = Vec::new();
    for value in values.into_iter().filter(|value| !value.is_null()) {
        let items = value.as_array().ok_or(Unfit)?;
        let Some((start, end)) = slice.bounds(items.len())? else { return Ok(results) };
        let step =
            slice.step.map_or(Ok(1), |step| usize::try_from(step).ok().filter(|&step| step > 0).ok_or(Unfit));
        results.extend(items[start..end].iter().step_by(step?));
    }
    Ok(results)
}

impl Slice {
    /// The part of so many items that is meant; nothing where it is empty by its own words.
    fn bounds(&self, count: usize) -> Result<Option<(usize, usize)>, Unfit> {
        let length = i64::try_from(count).map_err(|_| Unfit)?;
        let from_end = |index: i64| if index < 0 { index.saturating_add(length) } else { index };
        let start = from_end(self.start.unwrap_or_default());
        let end = match self.end {
            // The index -1 ends where the list does.
            Some(0) if self.is_index => length,
            Some(end) => from_end(end),
            None => length,
        };
        if start == end {
            return Ok(None);
        }
        let is_inside = (0..length).contains(&start) && (0..=length).contains(&end) && start < end;
        let place = |index: i64| usize::try_from(index).map_err(|_| Unfit);
        if is_inside { Ok(Some((place(start)?, place(end)?))) } else { Err(Unfit) }
    }
}

fn sift<'a>(filter: &'a Filter, values: Vec<&'a Value>) -> Values<'a> {
    let mut results = Vec::new();
    for value in values {
        for item in value.as_array().ok_or(Unfit)? {
            if filter.passes(item)? {
                results.push(item);
            }
        }
    }
    Ok(results)
}

impl Filter {
    fn passes(&self, item: &Value) -> Result<bool, Unfit> {
        let left = walk(&self.left, vec![item]);
        let Some((operator, right)) = &self.comparison else {
            return Ok(left.is_ok_and(|values| !values.is_empty()));
        };
        let (left, right) = (left?, walk(right, vec![item])?);
        match (left.as_slice(), right.as_slice()) {
            ([], _) | (_, []) => Ok(false),
            ([left], [right]) => operator.holds(left, right),
            _ => Err(Unfit),
        }
    }
}

impl Operator {
    /// Only values of one type compare, and whole numbers are of another type than those with a point.
    fn holds(self, left: &Value, right: &Value) -> Result<bool, Unfit> {
        let ordering = match (left, right) {
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Number(left), Value::Number(right)) if left.is_f64() == right.is_f64() => {
                left.as_f64().partial_cmp(&right.as_f64()).ok_or(Unfit)?
            }
            (Value::Bool(left), Value::Bool(right)) if self.is_equality() => left.cmp(right),
            _ => return Err(Unfit),
        };
        Ok(match self {
            Self::Equal => ordering.is_eq(),
            Self::NotEqual => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
            Self::Unknown => return Err(Unfit),
        })
    }

    fn is_equality(self) -> bool {
        matches!(self, Self::Equal | Self::NotEqual)
    }
}

#[cfg(test)]
mod tests;
