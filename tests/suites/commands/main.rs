//! `asb` as people type it, on the embedded server with a kubelet that runs nothing: everything that needs no container.

mod daemons;
mod destinations;
mod home;
mod images;
mod lives;
mod names;
mod pools;
mod refusals;
mod stage;
