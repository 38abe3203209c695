//! What a Sandbox is not given, and why: in the words that clients of other implementations know.

use std::fmt;

use asb_types::hash::fnv1a_hex;
use asb_types::labels::{ADOPTABLE, SANDBOX_NAME_HASH};
use serde::{Serialize, Serializer};

use super::runtime::Unfit;
use super::trouble::Class;
use crate::object::{Metadata, Owner};
use crate::views::SandboxView;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("{thing} {name:?} is owned by {owner}, not by sandbox {sandbox:?}")]
    OwnedByAnother { thing: Thing, name: String, owner: String, sandbox: String },
    #[error(
        "cannot adopt unowned {thing} {name:?}: missing required pool authorization label ({ADOPTABLE:?}) \
         or sandbox tracking label ({SANDBOX_NAME_HASH:?})"
    )]
    Unadoptable { thing: Thing, name: String },
    #[error(
        "cannot adopt service {name:?}: ClusterIP is {cluster_ip:?} (expected \"None\", field is immutable)"
    )]
    NotHeadless { name: String, cluster_ip: String },
    #[error("multiple Pods ({0}) are controlled by this Sandbox; refusing to choose or create a Pod")]
    MultiplePods(usize),
    #[error(
        "the name has the same hash ({hash}) as that of Sandbox {twin:?}, which was there first, and Services select \
         by it; use another name"
    )]
    NameHashCollision { hash: String, twin: String },
    #[error(transparent)]
    Runtime(#[from] Unfit),
}

/// What may stand in a Sandbox's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thing {
    Pod,
    Service,
    Volume,
}

impl fmt::Display for Thing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Pod => "pod",
            Self::Service => "service",
            Self::Volume => "PVC",
        })
    }
}

impl Refusal {
    pub(super) fn owned(thing: Thing, metadata: &Metadata, owner: &Owner, sandbox: &SandboxView) -> Self {
        Self::OwnedByAnother {
            thing,
            name: metadata.name().to_owned(),
            owner: format!("{}/{} (UID: {})", owner.kind, owner.name, owner.uid),
            sandbox: sandbox.metadata.name().to_owned(),
        }
    }

    pub(super) fn unadoptable(thing: Thing, metadata: &Metadata) -> Self {
        Self::Unadoptable { thing, name: metadata.name().to_owned() }
    }

    pub(super) fn collision(sandbox: &SandboxView, twin: &str) -> Self {
        Self::NameHashCollision { hash: fnv1a_hex(sandbox.metadata.name()), twin: twin.to_owned() }
    }

    pub fn class(&self) -> Class {
        match self {
            Self::OwnedByAnother { .. } | Self::Unadoptable { .. } | Self::NotHeadless { .. } => {
                Class::InTheWay
            }
            Self::MultiplePods(_) => Class::MultiplePods,
            Self::NameHashCollision { .. } => Class::NameHashCollision,
            Self::Runtime(_) => Class::Invalid,
        }
    }
}

impl Serialize for Refusal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
