//! What is in the store, for people.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Store, StoreError};
use crate::images::digest::Digest;
use crate::images::reference::Reference;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    pub id: Digest,
    /// Without any it is an image whose names have moved on to others.
    pub references: Vec<Reference>,
    /// What registries know it by.
    pub digests: Vec<Reference>,
    /// Of all its layers, unpacked.
    pub bytes: u64,
    /// Of those layers that no other image has.
    pub own_bytes: u64,
    /// Who uses it.
    pub owners: Vec<String>,
    /// As the image says.
    pub created: Option<String>,
}

impl Store {
    /// Every image, in the order of its first name.
    pub fn list(&self) -> Result<Vec<Summary>, StoreError> {
        let (records, names, pins) = (self.records()?, self.names()?, self.pins()?);
        let mut users: BTreeMap<&Digest, usize> = BTreeMap::new();
        for layer in records.iter().flat_map(|record| &record.layers) {
            *users.entry(layer).or_default() += 1;
        }
        let mut summaries = Vec::new();
        for record in &records {
            let own: Vec<_> = names.iter().filter(|name| name.id == record.id).collect();
            let sizes: Vec<_> = record
                .layers
                .iter()
                .map(|layer| Ok((self.facts(layer)?.bytes, users.get(layer) == Some(&1))))
                .collect::<Result<_, StoreError>>()?;
            let mut digests: Vec<_> = own.iter().map(|name| name.reference.at(name.digest.clone())).collect();
            digests.sort();
            digests.dedup();
            summaries.push(Summary {
                id: record.id.clone(),
                references: own.iter().map(|name| name.reference.clone()).collect(),
                digests,
                bytes: sizes.iter().map(|(bytes, _)| bytes).sum(),
                own_bytes: sizes.iter().filter(|(_, own)| *own).map(|(bytes, _)| bytes).sum(),
                owners: pins.iter().filter(|pin| pin.id == record.id).map(|pin| pin.owner.clone()).collect(),
                created: self.image(&record.id)?.and_then(|image| image.config.created),
            });
        }
        summaries.sort_by(|one, other| (&one.references, &one.id).cmp(&(&other.references, &other.id)));
        Ok(summaries)
    }
}
