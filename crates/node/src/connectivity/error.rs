//! Why a Pod is not connected.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::sync::Arc;

use asb_core::network::cidr::NoFreeRange;
use asb_core::network::reservations::Unavailable;

use crate::identity::IdentityError;
use crate::network::NetworkError;

/// Several who wait may hear of the same failure, so causes are shared.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Range(#[from] NoFreeRange),
    #[error(transparent)]
    Identity(Arc<IdentityError>),
    #[error(transparent)]
    Network(Arc<NetworkError>),
    #[error("cannot read {0} from the API server")]
    Read(&'static str, #[source] Arc<kube::Error>),
    #[error("the API server does not answer about {0}")]
    Silence(&'static str),
    #[error("cannot answer questions about names on {0}")]
    Names(SocketAddr, #[source] Arc<io::Error>),
    #[error("cannot listen on {0} for Pods that look for the API server")]
    Door(SocketAddrV4, #[source] Arc<io::Error>),
    #[error(transparent)]
    Address(#[from] Unavailable),
    /// In the words of whoever cannot enforce a policy.
    #[error("{0}")]
    Refused(String),
    #[error("the Pod has no network of its own")]
    NoMember,
    #[error("the node's network has ended")]
    Ended,
}

impl Error {
    pub(super) fn network(error: NetworkError) -> Self {
        Self::Network(Arc::new(error))
    }
}
