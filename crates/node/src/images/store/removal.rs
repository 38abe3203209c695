//! Takes images out of the store, and never one that is in use.

use serde::{Deserialize, Serialize};

use super::record::{Record, list};
use super::{State, Store, StoreError};
use crate::images::digest::Digest;
use crate::images::reference::Reference;

/// Which image, as people say it.
#[derive(Clone, Debug)]
pub enum Target {
    /// One name of it; the image goes with its last.
    Name(Reference),
    /// The image and all its names.
    Id(Digest),
}

/// What a pruning is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unwanted {
    /// Images whose names have moved on to others.
    Nameless,
    /// All that nobody uses.
    Unused,
}

/// What came of a removal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freed {
    pub names: Vec<Reference>,
    pub images: Vec<Digest>,
    /// Of layers that no other image has.
    pub bytes: u64,
}

impl Store {
    pub fn remove(&self, target: &Target) -> Result<Freed, StoreError> {
        let state = self.state();
        let (id, names) = match target {
            Target::Name(reference) => {
                let name =
                    self.named(reference)?.ok_or_else(|| StoreError::Unknown(reference.to_string()))?;
                let others = self.names_of(&name.id)?.into_iter().filter(|known| *known != name.reference);
                if others.count() > 0 {
                    self.forget(&self.name_path(&name.reference))?;
                    return Ok(Freed { names: vec![name.reference], ..Freed::default() });
                }
                (name.id, vec![name.reference])
            }
            Target::Id(id) => (id.clone(), self.names_of(id)?),
        };
        let record = self.record(&id)?.ok_or_else(|| StoreError::Unknown(id.to_string()))?;
        let owners = self.owners(&id)?;
        if !owners.is_empty() {
            return Err(StoreError::InUse(owners));
        }
        self.drop_images(&state, &[(record, names)])
    }

    /// Takes the names away, also of an image in use: it goes with the next pruning after its last use.
    pub fn forget_names(&self, target: &Target) -> Result<Freed, StoreError> {
        let _state = self.state();
        let names = match target {
            Target::Name(reference) => {
                let name =
                    self.named(reference)?.ok_or_else(|| StoreError::Unknown(reference.to_string()))?;
                vec![name.reference]
            }
            Target::Id(id) => self.names_of(id)?,
        };
        names.iter().try_for_each(|name| self.forget(&self.name_path(name)))?;
        Ok(Freed { names, ..Freed::default() })
    }

    /// Removes what is unwanted and not in use, and downloads that were broken off.
    pub fn prune(&self, unwanted: Unwanted) -> Result<Freed, StoreError> {
        let state = self.state();
        let mut dropped = Vec::new();
        for record in self.records()? {
            let names = self.names_of(&record.id)?;
            let wanted = unwanted == Unwanted::Nameless && !names.is_empty();
            if !wanted && self.owners(&record.id)?.is_empty() {
                dropped.push((record, names));
            }
        }
        self.drop_partial(&state)?;
        self.drop_images(&state, &dropped)
    }

    fn names_of(&self, id: &Digest) -> Result<Vec<Reference>, StoreError> {
        Ok(self.names()?.into_iter().filter(|name| name.id == *id).map(|name| name.reference).collect())
    }

    /// The record goes first: from then on there is no image, and the rest is swept whatever happens.
    fn drop_images(&self, state: &State, images: &[(Record, Vec<Reference>)]) -> Result<Freed, StoreError> {
        let mut freed = Freed { bytes: self.freed_by(images)?, ..Freed::default() };
        for (record, names) in images {
            self.forget(&self.record_path(&record.id))?;
            names.iter().try_for_each(|name| self.forget(&self.name_path(name)))?;
            freed.images.push(record.id.clone());
            freed.names.extend(names.iter().cloned());
        }
        self.collect(state)?;
        Ok(freed)
    }

    fn freed_by(&self, images: &[(Record, Vec<Reference>)]) -> Result<u64, StoreError> {
        let is_dropped = |record: &Record| images.iter().any(|(dropped, _)| dropped.id == record.id);
        let (dropped, kept): (Vec<_>, Vec<_>) = self.records()?.into_iter().partition(is_dropped);
        let mut layers: Vec<&Digest> = dropped.iter().flat_map(|record| &record.layers).collect();
        layers.sort();
        layers.dedup();
        layers.retain(|layer| !kept.iter().flat_map(|record| &record.layers).any(|other| other == *layer));
        layers.into_iter().map(|layer| Ok(self.facts(layer)?.bytes)).sum()
    }

    fn drop_partial(&self, state: &State) -> Result<(), StoreError> {
        for path in list(&self.folder.join("partial"))? {
            let digest = path.file_name().and_then(|name| Digest::from_file_name(name.to_str()?));
            if !digest.is_some_and(|digest| state.downloads.contains_key(&digest)) {
                self.discard(&path)?;
            }
        }
        Ok(())
    }
}
