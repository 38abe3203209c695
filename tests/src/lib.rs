//! What the suites stand on: the Kubernetes they run against, waiting without sleeping, Pods that come to life
//! without a node, and a server for conversion webhooks. Holds no tests of the product; those are in `suites/`.

pub mod cluster;
pub mod kubelet;
pub mod wait;
pub mod webhook;
