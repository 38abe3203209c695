//! What comes of the work that a keeper begins.

use std::net::Ipv4Addr;

use asb_core::pod::observed::{PullReason, Pulled, TroubleReason, User};
use asb_core::pod::probe::{Outcome as Answer, ProbeKind};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use crate::shim::protocol::State;

#[derive(Debug)]
pub(super) enum Outcome {
    Volumes(Result<(), String>),
    VolumesReleased(Result<(), String>),
    /// The address, unless the Pod is on the host's network.
    Sandbox(Result<Option<Ipv4Addr>, String>),
    SandboxRemoved(Result<(), String>),
    Pulling {
        container: String,
    },
    Image {
        container: String,
        attempt: u32,
        result: Result<(String, Option<Pulled>), (PullReason, String)>,
    },
    /// What became of it then is told by the shim.
    Created {
        container: String,
        attempt: u32,
        result: Result<User, (TroubleReason, String)>,
    },
    Shim(State),
    ShimLost {
        sandbox: u32,
    },
    PostStart {
        container: String,
        attempt: u32,
        result: Result<(), String>,
    },
    PreStop {
        container: String,
        attempt: u32,
        result: Result<(), String>,
    },
    Probed(Probed),
    Removed {
        container: String,
        attempt: u32,
        result: Result<(), String>,
    },
    /// Why it takes more of the disk than it may, if it does.
    Measured(Option<String>),
    /// The status was written, and this is the Pod then.
    Told(Result<Box<Pod>, kube::Error>),
    /// The Pod as it is now, if it still is.
    Reread(Result<Option<Box<Pod>>, kube::Error>),
    Deleted(Result<(), kube::Error>),
}

/// One probe that was made.
#[derive(Debug)]
pub(super) struct Probed {
    pub(super) container: String,
    pub(super) attempt: u32,
    pub(super) kind: ProbeKind,
    pub(super) began: Timestamp,
    pub(super) answer: Answer,
    /// Why it failed.
    pub(super) output: String,
}
