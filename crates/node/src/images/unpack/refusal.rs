//! Why an archive was not unpacked, to the name of the file that is to blame.

use std::io;

use super::super::digest::Digest;
use super::Excess;

#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    #[error("reading the layer")]
    Read(#[source] io::Error),
    #[error(transparent)]
    Excess(Excess),
    #[error("the layer is no tar archive: {0}")]
    Malformed(&'static str),
    #[error("the layer's `{entry}` {refusal}")]
    Refused { entry: String, refusal: Refusal },
    #[error("writing the layer's `{entry}`")]
    Write { entry: String, source: io::Error },
    #[error("the layer's plain content is {found}, and {expected} was expected")]
    Digest { expected: Digest, found: Digest },
}

/// What makes one entry of an archive inacceptable.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("has an absolute name")]
    Absolute,
    #[error("climbs out of the image by `..`")]
    Climbs,
    #[error("has no name")]
    Nameless,
    #[error("has a NUL in its name")]
    Nul,
    #[error("has a name of {0} bytes, and no more than {1} are allowed")]
    LongName(usize, usize),
    #[error("lies {0} directories deep, and no more than {1} are allowed")]
    Deep(usize, usize),
    #[error("leads out of the image through the link `{0}`")]
    Escapes(String),
    #[error("goes through links that lead in a circle")]
    Circle,
    #[error("lies in something that is no directory")]
    NoDirectory,
    #[error("is the image's root and no directory")]
    Root,
    #[error("is a hard link to `{0}`, which the layer does not have")]
    LinkTarget(String),
    #[error("is a hard link to the directory `{0}`")]
    LinkToDirectory(String),
    #[error("is a link to nothing")]
    NoTarget,
    #[error("is of the unknown type {0:?}")]
    Kind(char),
    #[error("is owned by {0}, which is no id")]
    Owner(u64),
    #[error("has the attribute `{0}`, by which overlayfs is told what to hide")]
    ForgedAttribute(String),
    #[error("has more than {0} extended attributes")]
    Attributes(usize),
    #[error("has an extended attribute of {0} bytes, and no more than {1} are allowed")]
    LongAttribute(usize, usize),
    #[error("has holes that do not fit its data")]
    Holes,
    #[error("marks no file as removed")]
    Whiteout,
}

impl UnpackError {
    /// Limits are noticed while reading, where errors are of one kind only.
    pub(super) fn read(error: io::Error) -> Self {
        match error.downcast::<Excess>() {
            Ok(excess) => Self::Excess(excess),
            Err(error) => Self::Read(error),
        }
    }

    pub(super) fn write(error: impl Into<io::Error>) -> Self {
        Self::Write { entry: String::new(), source: error.into() }
    }

    /// Says which entry it is about.
    pub(super) fn within(self, name: &str) -> Self {
        let entry = name.chars().take(300).collect();
        match self {
            Self::Refused { refusal, .. } => Self::Refused { entry, refusal },
            Self::Write { source, .. } => Self::Write { entry, source },
            other => other,
        }
    }

    /// The archive is to blame, and not this machine.
    pub fn is_refusal(&self) -> bool {
        !matches!(self, Self::Read(_) | Self::Write { .. })
    }
}

impl From<Refusal> for UnpackError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused { entry: String::new(), refusal }
    }
}
