//! Everything of the API that is a stream instead of an answer: exec, attach, port-forward and logs of Pods.

pub mod spdy;
