//! How far a pull is, in numbers. Who looks sees the latest; who does not look holds nothing up.

use serde::Serialize;
use tokio::sync::watch;

use super::super::digest::Digest;
use super::super::manifest::Descriptor;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Lowest first; none as long as the image is looked for.
    pub layers: Vec<LayerProgress>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LayerProgress {
    pub digest: Digest,
    pub stage: Stage,
    /// Of the layer as it comes.
    pub bytes: u64,
    pub total: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    Waiting,
    Fetching,
    Unpacking,
    Done,
    /// It was here already.
    Present,
}

impl Progress {
    pub fn bytes(&self) -> u64 {
        self.layers.iter().map(|layer| layer.bytes).sum()
    }

    pub fn total(&self) -> u64 {
        self.layers.iter().map(|layer| layer.total).sum()
    }
}

pub(super) struct Reporter<'a> {
    sender: &'a watch::Sender<Progress>,
}

impl<'a> Reporter<'a> {
    pub(super) fn begin(
        sender: &'a watch::Sender<Progress>,
        layers: &[Descriptor],
        missing: &[usize],
    ) -> Self {
        let describe = |(index, layer): (usize, &Descriptor)| {
            let missing = missing.contains(&index);
            LayerProgress {
                digest: layer.digest.clone(),
                stage: if missing { Stage::Waiting } else { Stage::Present },
                bytes: if missing { 0 } else { layer.size },
                total: layer.size,
            }
        };
        sender.send_replace(Progress { layers: layers.iter().enumerate().map(describe).collect() });
        Self { sender }
    }

    /// So many bytes are here by now.
    pub(super) fn fetched(&self, index: usize, bytes: u64) {
        self.change(index, |layer| {
            layer.stage = Stage::Fetching;
            layer.bytes = bytes;
        });
    }

    pub(super) fn enter(&self, index: usize, stage: Stage) {
        self.change(index, |layer| layer.stage = stage);
    }

    fn change(&self, index: usize, change: impl FnOnce(&mut LayerProgress)) {
        self.sender.send_modify(|progress| {
            if let Some(layer) = progress.layers.get_mut(index) {
                change(layer);
            }
        });
    }
}
