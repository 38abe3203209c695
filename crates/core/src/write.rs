//! Writes as data: what to create, patch or delete, decided here and carried out elsewhere.

use serde::Serialize;
use serde_json::Value;

use crate::object::{Key, Metadata, Uid, Version};

/// The kinds that the operator reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Kind {
    Sandbox,
    SandboxClaim,
    SandboxTemplate,
    SandboxWarmPool,
    Pod,
    Service,
    PersistentVolumeClaim,
    NetworkPolicy,
    /// The short spellings of three of ours.
    ShorthandClaim,
    ShorthandTemplate,
    ShorthandPool,
}

impl Kind {
    /// The kinds that are always served.
    pub const ALL: [Self; 8] = [
        Self::Sandbox,
        Self::SandboxClaim,
        Self::SandboxTemplate,
        Self::SandboxWarmPool,
        Self::Pod,
        Self::Service,
        Self::PersistentVolumeClaim,
        Self::NetworkPolicy,
    ];

    /// The kinds that are served where they are installed.
    pub const SHORTHAND: [Self; 3] = [Self::ShorthandClaim, Self::ShorthandTemplate, Self::ShorthandPool];

    pub fn group(self) -> &'static str {
        match self {
            Self::Sandbox | Self::ShorthandClaim | Self::ShorthandTemplate | Self::ShorthandPool => {
                asb_types::GROUP
            }
            Self::SandboxClaim | Self::SandboxTemplate | Self::SandboxWarmPool => asb_types::EXTENSIONS_GROUP,
            Self::Pod | Self::Service | Self::PersistentVolumeClaim => "",
            Self::NetworkPolicy => "networking.k8s.io",
        }
    }

    pub fn version(self) -> &'static str {
        if Self::SHORTHAND.contains(&self) {
            asb_types::shorthand::VERSION
        } else if self.is_ours() {
            asb_types::v1beta1::VERSION
        } else {
            "v1"
        }
    }

    pub fn api_version(self) -> String {
        match self.group() {
            "" => self.version().to_owned(),
            group => format!("{group}/{}", self.version()),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Sandbox => "Sandbox",
            Self::SandboxClaim | Self::ShorthandClaim => "SandboxClaim",
            Self::SandboxTemplate | Self::ShorthandTemplate => "SandboxTemplate",
            Self::SandboxWarmPool | Self::ShorthandPool => "SandboxWarmPool",
            Self::Pod => "Pod",
            Self::Service => "Service",
            Self::PersistentVolumeClaim => "PersistentVolumeClaim",
            Self::NetworkPolicy => "NetworkPolicy",
        }
    }

    pub fn plural(self) -> &'static str {
        match self {
            Self::Sandbox => "sandboxes",
            Self::SandboxClaim | Self::ShorthandClaim => "sandboxclaims",
            Self::SandboxTemplate | Self::ShorthandTemplate => "sandboxtemplates",
            Self::SandboxWarmPool | Self::ShorthandPool => "sandboxwarmpools",
            Self::Pod => "pods",
            Self::Service => "services",
            Self::PersistentVolumeClaim => "persistentvolumeclaims",
            Self::NetworkPolicy => "networkpolicies",
        }
    }

    /// Whether it is one of the kinds of Agent Sandbox.
    pub fn is_ours(self) -> bool {
        matches!(
            self.canonical(),
            Self::Sandbox | Self::SandboxClaim | Self::SandboxTemplate | Self::SandboxWarmPool
        )
    }

    /// The kind that a short spelling stands for; any other kind stands for itself.
    #[must_use]
    pub fn canonical(self) -> Self {
        match self {
            Self::ShorthandClaim => Self::SandboxClaim,
            Self::ShorthandTemplate => Self::SandboxTemplate,
            Self::ShorthandPool => Self::SandboxWarmPool,
            other => other,
        }
    }

    /// The kind with its group, as kubectl writes it where the name alone would not do.
    pub fn full_name(self) -> String {
        match self.group() {
            "" => self.name().to_owned(),
            group => format!("{}.{group}", self.name()),
        }
    }
}

/// One object among those of its kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Target {
    pub kind: Kind,
    pub key: Key,
}

impl Target {
    pub fn new(kind: Kind, key: Key) -> Self {
        Self { kind, key }
    }

    pub fn of(kind: Kind, metadata: &Metadata) -> Self {
        Self::new(kind, metadata.key.clone())
    }
}

/// One write to the API server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Write {
    /// Creates the object under the name it bears. Names are ours to choose, never the server's, so that a create whose
    /// answer was lost can be tried again and meets itself.
    Create { target: Target, object: Value },
    /// A merge patch.
    Patch { target: Target, part: Part, lock: Lock, body: Value },
    /// Deletes that very object and no other of its name; with a version, only if nobody has changed it.
    Delete { target: Target, uid: Uid, version: Option<Version>, how: Deleting },
}

/// Which part of an object a patch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Part {
    Object,
    Status,
}

/// What must still be so for a patch to apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Lock {
    /// It is the same object.
    Uid(Uid),
    /// It is the same object and nobody has changed it.
    Version(Uid, Version),
}

/// How an object is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Deleting {
    /// It goes, and the garbage collector takes what it owned.
    #[default]
    Background,
    /// It stays until what it owned is gone.
    Foreground,
    /// A Pod whose node cannot confirm: it goes without waiting for the node.
    Force,
}

impl Write {
    pub fn target(&self) -> &Target {
        match self {
            Self::Create { target, .. } | Self::Patch { target, .. } | Self::Delete { target, .. } => target,
        }
    }

    /// A merge patch that applies to this very object, whatever else has changed about it.
    pub fn patch(kind: Kind, metadata: &Metadata, body: Value) -> Self {
        let lock = Lock::Uid(metadata.uid.clone());
        Self::Patch { target: Target::of(kind, metadata), part: Part::Object, lock, body }
    }

    /// A merge patch of the object's status.
    pub fn patch_status(kind: Kind, metadata: &Metadata, body: Value) -> Self {
        let lock = Lock::Uid(metadata.uid.clone());
        Self::Patch { target: Target::of(kind, metadata), part: Part::Status, lock, body }
    }

    /// Whether it is the same but for what must still be so.
    pub fn asks_the_same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Patch { target, part, body, .. },
                Self::Patch { target: other_target, part: other_part, body: other_body, .. },
            ) => (target, part, body) == (other_target, other_part, other_body),
            (
                Self::Delete { target, uid, how, .. },
                Self::Delete { target: at, uid: other, how: as_, .. },
            ) => (target, uid, how) == (at, other, as_),
            _ => self == other,
        }
    }

    /// The same patch or deletion, only if nobody has changed the object.
    #[must_use]
    pub fn locked(self, version: Version) -> Self {
        match self {
            Self::Patch { target, part, lock: Lock::Uid(uid) | Lock::Version(uid, _), body } => {
                Self::Patch { target, part, lock: Lock::Version(uid, version), body }
            }
            Self::Delete { target, uid, how, .. } => {
                Self::Delete { target, uid, version: Some(version), how }
            }
            Self::Create { .. } => self,
        }
    }

    pub fn delete(kind: Kind, metadata: &Metadata, how: Deleting) -> Self {
        Self::Delete { target: Target::of(kind, metadata), uid: metadata.uid.clone(), version: None, how }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_written_in_the_version_that_is_stored() {
        let kinds = Kind::ALL.into_iter().chain(Kind::SHORTHAND);
        let versions: Vec<_> = kinds.map(|kind| (kind.name(), kind.api_version())).collect();
        insta::assert_compact_debug_snapshot!(versions);
    }
}
