//! Who a client is and what it may do: certificates, tokens, RBAC. Decisions and texts only; what is stored, routed and
//! put on the wire is for others. Only `certificates` touches files.

pub mod authentication;
pub mod authorization;
pub mod certificates;
mod json;
