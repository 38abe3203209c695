//! Being taken for somebody else. What the headers ask for is a user; which permissions that needs depends on the mode,
//! of which the server tries all that apply: four that are limited to what the impersonator may do under that name, and
//! the old one, that is not.

mod headers;
mod modes;

#[cfg(test)]
mod tests;

pub use headers::wanted;
pub use modes::Mode;

use super::User;
use crate::security::authorization::{Attributes, Index};
use crate::status::Status;

/// The user that `requestor` becomes for one request, and by which mode. `last` is the mode that served this requestor
/// the last time, if that is known: it is tried first, and its refusal is the one that is told.
pub fn impersonate(
    index: &Index,
    requestor: &User,
    wanted: &User,
    request: &Attributes,
    last: Option<Mode>,
) -> Result<(User, Mode), Status> {
    let others = Mode::ALL.into_iter().filter(|mode| Some(*mode) != last);
    let mut refusal = None;
    for mode in last.into_iter().chain(others).filter(|mode| mode.applies(requestor, wanted)) {
        match mode.impersonate(index, requestor, wanted, request) {
            Ok(user) => return Ok((user, mode)),
            Err(status) => refusal = refusal.or(Some(status)),
        }
    }
    Err(refusal.unwrap_or_else(|| Status::internal("all impersonation modes failed")))
}
