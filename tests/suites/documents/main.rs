//! What is printed in documents about Agent Sandbox, used as it is printed: manifests in short spellings, kubectl commands and
//! Python. With a kubelet that runs nothing; the same on the embedded API server and on the original.

mod commands;
mod lives;
mod manifests;
mod names;
mod snippets;
mod stage;
