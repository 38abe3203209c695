//! Pods on the node of `asb up`: what their specs say, seen from inside the containers that run. Each field that the node
//! honours names its test here, in `asb_core::pod::support`. Needs `asb up` with its node, which needs root.

mod allowed;
mod alone;
mod claims;
mod commands;
mod environment;
mod halts;
mod hooks;
mod images;
mod lives;
mod mounts;
mod names;
mod probes;
mod projected;
mod refusals;
mod resources;
mod restarts;
mod runtimes;
mod scheduling;
mod security;
mod streams;
mod tokens;
mod users;
mod volumes;

use asb_tests::pods::{spec, stage};
