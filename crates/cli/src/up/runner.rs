//! Who runs the Pods of `asb up`.

use std::time::Duration;

use anyhow::{Context, Result};
use asb_fake_kubelet::FakeKubelet;
use asb_node::node::Node;
use kube::Client;

use super::Arguments;
use crate::node::{Prepared, State};

pub(super) enum Runner {
    /// This machine.
    Node(Box<Node>),
    /// Nobody, and Pods say otherwise.
    Pretended(FakeKubelet),
    Nobody,
}

impl Runner {
    pub(super) async fn start(arguments: &Arguments, prepared: &Prepared, client: Client) -> Result<Self> {
        if arguments.fake_kubelet {
            return Ok(Self::Pretended(FakeKubelet::builder(client).spawn().await?));
        }
        match prepared {
            Prepared::Unable { .. } => Ok(Self::Nobody),
            Prepared::Able { settings, images } => {
                let node = Node::start(client, settings, std::sync::Arc::clone(images)).await;
                Ok(Self::Node(Box::new(node.context("cannot start the node")?)))
            }
        }
    }

    pub(super) fn state(&self, prepared: &Prepared) -> State {
        match (self, prepared) {
            (Self::Pretended(_), _) => State::Pretended,
            (Self::Node(_), Prepared::Able { settings, .. }) => State::Runs { name: settings.name.clone() },
            (_, Prepared::Unable { reason }) => State::Off { reason: reason.clone() },
            (Self::Nobody, Prepared::Able { .. }) => State::Off { reason: "nobody runs them".to_owned() },
        }
    }

    /// Pods that run go on, unless they are to end within a time.
    pub(super) async fn stop(self, halt: Option<Duration>) {
        match (self, halt) {
            (Self::Node(node), Some(grace)) => node.halt(grace).await,
            (Self::Node(node), None) => node.stop().await,
            (Self::Pretended(kubelet), _) => drop(kubelet.shutdown().await),
            (Self::Nobody, _) => {}
        }
    }
}
