//! The object while it is patched: finds places by JSON pointer, and keeps hostile patches from growing it too deep to
//! walk or too large to hold.

use std::io;

use crate::pointer::unescaped;
use serde_json::Value;

/// How many bytes all copies of one patch may add.
const MOST_COPIED: usize = 3 * 1024 * 1024;

/// How many values may change their place: the items behind one that is put into a list or taken out of it, and all
/// that is inside a value that is moved.
const MOST_MOVED: usize = 100_000_000;

/// What can still be walked, and dropped, on a small stack.
const DEEPEST_WHILE_PATCHED: usize = 512;

/// What a body may be.
const DEEPEST: usize = 100;

pub(super) struct Document {
    root: Value,
    /// No value is deeper than this. Measuring it after each operation would make long patches slow.
    depth: usize,
    copied: usize,
    moved: usize,
}

/// A place in the document: the value that holds it, and its key in there.
struct Pointer {
    parents: Vec<String>,
    key: String,
}

impl Document {
    pub(super) fn new(root: Value) -> Self {
        Self { depth: depth(&root), root, copied: 0, moved: 0 }
    }

    pub(super) fn add(&mut self, path: &str, value: Value) -> Option<()> {
        let pointer = Pointer::parse(path)?;
        self.deepen(pointer.depth() + depth(&value))?;
        self.insert(&pointer, value)
    }

    pub(super) fn remove(&mut self, path: &str) -> Option<Value> {
        self.take(&Pointer::parse(path)?)
    }

    pub(super) fn replace(&mut self, path: &str, value: Value) -> Option<()> {
        if path.is_empty() {
            self.depth = depth(&value);
            self.root = Some(value).filter(|value| value.is_object() || value.is_array())?;
            return Some(());
        }
        let pointer = Pointer::parse(path)?;
        self.deepen(pointer.depth() + depth(&value))?;
        match pointer.parent(&mut self.root)? {
            Value::Object(fields) => drop(fields.insert(pointer.key, value)),
            Value::Array(items) => {
                let position = position(&pointer.key, items.len())?;
                items[position] = value;
            }
            _ => return None,
        }
        Some(())
    }

    pub(super) fn relocate(&mut self, from: &str, path: &str) -> Option<()> {
        let (source, target) = (Pointer::parse(from)?, Pointer::parse(path)?);
        let value = self.take(&source)?;
        self.moved += count(&value);
        self.deepen(target.depth() + depth(&value))?;
        self.insert(&target, value)
    }

    pub(super) fn copy(&mut self, from: &str, path: &str) -> Option<()> {
        let value = Pointer::parse(from)?.value(&self.root)?;
        self.copied = self.copied.saturating_add(size(value));
        if self.copied > MOST_COPIED {
            return None;
        }
        let value = value.clone();
        self.add(path, value)
    }

    pub(super) fn holds(&self, path: &str, expected: &Value) -> bool {
        if path.is_empty() {
            return self.root == *expected;
        }
        Pointer::parse(path).is_some_and(|pointer| pointer.value(&self.root) == Some(expected))
    }

    pub(super) fn finish(self) -> Option<Value> {
        (self.depth <= DEEPEST || depth(&self.root) <= DEEPEST).then_some(self.root)
    }

    fn insert(&mut self, pointer: &Pointer, value: Value) -> Option<()> {
        match pointer.parent(&mut self.root)? {
            Value::Object(fields) => drop(fields.insert(pointer.key.clone(), value)),
            Value::Array(items) if pointer.key == "-" => items.push(value),
            Value::Array(items) => {
                let position = position(&pointer.key, items.len() + 1)?;
                items.insert(position, value);
                self.moved += items.len() - position;
            }
            _ => return None,
        }
        (self.moved <= MOST_MOVED).then_some(())
    }

    fn take(&mut self, pointer: &Pointer) -> Option<Value> {
        let value = match pointer.parent(&mut self.root)? {
            Value::Object(fields) => fields.remove(&pointer.key)?,
            Value::Array(items) => {
                let position = position(&pointer.key, items.len())?;
                self.moved += items.len() - position;
                items.remove(position)
            }
            _ => return None,
        };
        (self.moved <= MOST_MOVED).then_some(value)
    }

    fn deepen(&mut self, depth: usize) -> Option<()> {
        self.depth = self.depth.max(depth);
        (self.depth <= DEEPEST_WHILE_PATCHED).then_some(())
    }
}

impl Pointer {
    fn parse(path: &str) -> Option<Self> {
        let mut parents: Vec<String> = path.split('/').skip(1).map(unescaped).collect();
        let key = parents.pop()?;
        Some(Self { parents, key })
    }

    /// How many values are around the place.
    fn depth(&self) -> usize {
        self.parents.len() + 1
    }

    fn value<'a>(&self, root: &'a Value) -> Option<&'a Value> {
        let parent = self.parents.iter().try_fold(root, |value, key| get(value, key))?;
        get(parent, &self.key)
    }

    fn parent<'a>(&self, root: &'a mut Value) -> Option<&'a mut Value> {
        self.parents.iter().try_fold(root, |value, key| match value {
            Value::Object(fields) => fields.get_mut(key),
            Value::Array(items) => {
                let position = position(key, items.len())?;
                items.get_mut(position)
            }
            _ => None,
        })
    }
}

/// A missing field reads as null; a missing item is an error.
fn get<'a>(parent: &'a Value, key: &str) -> Option<&'a Value> {
    match parent {
        Value::Object(fields) => Some(fields.get(key).unwrap_or(&Value::Null)),
        Value::Array(items) => items.get(position(key, items.len())?),
        _ => None,
    }
}

/// Which of so many items a key means.
fn position(key: &str, count: usize) -> Option<usize> {
    let index: i64 = key.parse().ok()?;
    let index = if index < 0 { index + i64::try_from(count).ok()? } else { index };
    usize::try_from(index).ok().filter(|&index| index < count)
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

fn size(value: &Value) -> usize {
    let mut counter = Counter(0);
    serde_json::to_writer(&mut counter, value).expect("a value has text keys, and counting cannot fail");
    counter.0
}

struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
