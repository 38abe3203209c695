//! A Pod on the node that runs it: what of its spec is supported, whether the node has room for it, what it needs next,
//! and how it is reported. Leaves watching, containers, images and mounts to `node`.

pub mod backoff;
mod clock;
pub mod ephemeral_volume;
pub mod lifecycle;
pub mod member;
pub mod observed;
pub mod probe;
pub mod quantity;
pub mod resources;
pub mod scheduler;
pub mod selection;
pub mod status;
pub mod support;
pub mod taints;
