//! Where in an object a walk is. Written out only when something is wrong there.

use std::fmt;

/// One step of a walk and the steps before it.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    /// `.name`
    Field(&'a str),
    /// `.name`, also where nothing is before it: so does Kubernetes write keys of maps when it validates values.
    Entry(&'a str),
    /// `[key]`
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    pub(super) const ROOT: Self = Path { parent: None, step: Step::Root };

    /// A walk that starts at a field as if that were the root of the object.
    pub(super) fn starting_at(name: &'a str) -> Self {
        Path { parent: None, step: Step::Field(name) }
    }

    pub(super) fn field<'b>(&'b self, name: &'b str) -> Path<'b> {
        Path { parent: Some(self), step: Step::Field(name) }
    }

    pub(super) fn entry<'b>(&'b self, name: &'b str) -> Path<'b> {
        Path { parent: Some(self), step: Step::Entry(name) }
    }

    pub(super) fn key<'b>(&'b self, name: &'b str) -> Path<'b> {
        Path { parent: Some(self), step: Step::Key(name) }
    }

    pub(super) fn index(&self, index: usize) -> Path<'_> {
        Path { parent: Some(self), step: Step::Index(index) }
    }

    pub(super) fn is_root(&self) -> bool {
        matches!(self.step, Step::Root)
    }

    /// The path as the name of a field in an error; that of the root has a name of its own.
    pub(super) fn name(&self) -> String {
        if self.is_root() { "<nil>".to_owned() } else { self.to_string() }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(formatter)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Field(name) if self.parent.is_none_or(Path::is_root) => formatter.write_str(name),
            Step::Field(name) | Step::Entry(name) => write!(formatter, ".{name}"),
            Step::Key(name) => write!(formatter, "[{name}]"),
            Step::Index(index) => write!(formatter, "[{index}]"),
        }
    }
}
