//! Who uses which image. A pin is a file, so that it outlives the process as its owner does.

use serde::{Deserialize, Serialize};

use super::{Store, StoreError, record};
use crate::images::digest::Digest;

const LONGEST: usize = 200;

/// While it is there, the image stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    pub owner: String,
    pub id: Digest,
}

impl Store {
    /// Keeps an image for `owner`, who has one at a time: to be called before it is used.
    pub fn pin(&self, owner: &str, id: &Digest) -> Result<(), StoreError> {
        let path = self.pin_path(owner)?;
        let _state = self.state();
        if self.record(id)?.is_none() {
            return Err(StoreError::Unknown(id.to_string()));
        }
        self.write_json(&path, &Pin { owner: owner.to_owned(), id: id.clone() })
    }

    /// Without a pin of that owner there is nothing to do.
    pub fn unpin(&self, owner: &str) -> Result<(), StoreError> {
        self.forget(&self.pin_path(owner)?)
    }

    /// All of them, to compare with the owners there are.
    pub fn pins(&self) -> Result<Vec<Pin>, StoreError> {
        record::read_all(&self.folder.join("pins"))
    }

    pub(super) fn owners(&self, id: &Digest) -> Result<Vec<String>, StoreError> {
        let of_image = self.pins()?.into_iter().filter(|pin| pin.id == *id);
        Ok(of_image.map(|pin| pin.owner).collect())
    }

    fn pin_path(&self, owner: &str) -> Result<std::path::PathBuf, StoreError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let is_name = !owner.is_empty() && owner.len() <= LONGEST && owner.bytes().all(is_plain);
        if !is_name {
            return Err(StoreError::Owner(owner.chars().take(LONGEST).collect()));
        }
        Ok(self.folder.join("pins").join(format!("{owner}.json")))
    }
}
