//! Which addresses Pods get: those somebody named, those that were chosen before, or some that the machine does not use.

use std::sync::Arc;

use asb_core::network::cidr::{Cidr, choose};

use super::Error;
use crate::identity::Identity;
use crate::network;
use crate::settings::{SERVICES, Settings};

/// Blocks; what is chosen is kept before it is used.
pub(super) fn settle(settings: &Settings, identity: &mut Identity) -> Result<Cidr, Error> {
    let range = match settings.pods.or(identity.pods) {
        Some(range) => range,
        None => choose(&in_use(identity)?)?,
    };
    if identity.pods != Some(range) {
        identity.pods = Some(range);
        identity.save(&settings.root).map_err(|error| Error::Identity(Arc::new(error)))?;
    }
    Ok(range)
}

fn in_use(identity: &Identity) -> Result<Vec<Cidr>, Error> {
    let mut used = network::in_use(&identity.links()).map_err(Error::network)?;
    used.push(SERVICES);
    Ok(used)
}
