//! The built-in image `asb.local/host`: this machine's own `/usr`, in a system that has nothing else of this machine. So
//! the first sandbox needs no registry and no download.
//!
//! It is made as any image is, from a small archive of what lies around `/usr`; `/usr` itself shows through beneath what
//! the archive has there, which hides `/usr/local`.

mod accounts;
mod certificates;
mod libraries;
mod skeleton;
mod system;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use self::skeleton::Skeleton;
use super::digest::Digest;
use super::limits::Limits;
use super::manifest::Manifest;
use super::platform::Platform;
use super::reference::Reference;
use super::store::{Draft, Import, ImportError, InvalidImage, Mount, Store, StoreError, Target};

pub const NAME: &str = "asb.local/host";

/// Places that a shell or an interpreter looks in.
const PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error(
        "the image {NAME} cannot be made here: /{0} is a directory of its own and no link into /usr, and only systems \
         that keep all programs and libraries in /usr can be shared so; name an image with --image"
    )]
    Unmerged(&'static str),
    #[error("the image {NAME} cannot be made here: there is no {0}; name an image with --image")]
    Missing(&'static str),
    #[error("the image {NAME} cannot be made: {}: {source}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Image(#[from] InvalidImage),
    #[error(transparent)]
    Import(#[from] ImportError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub fn reference() -> Reference {
    NAME.parse().expect("the name of the built-in image is one")
}

/// The image of the system at `root`, made anew where the system changed. Blocks for some milliseconds.
pub fn provide(store: &Arc<Store>, root: &Path, limits: &Limits) -> Result<Digest, HostError> {
    let draft = draft(root, limits)?;
    let (id, layer) = (draft.0.id().clone(), draft.1);
    let before = store.named(&reference())?;
    if before.as_ref().is_some_and(|name| name.id == id) && store.image(&id)?.is_some() {
        return Ok(id);
    }
    let digest = draft.0.digest().clone();
    let mounts = vec![Mount { at: "/usr".into(), host: root.join("usr") }];
    let import = Import::begin(Arc::clone(store), draft.0, limits).with_mounts(mounts);
    for index in import.missing() {
        import.add(index, &layer[..])?;
    }
    import.finish(&[(reference(), digest)])?;
    if let Some(old) = before {
        // Sandboxes that run on the old one keep it until they end.
        match store.remove(&Target::Id(old.id)) {
            Ok(_) | Err(StoreError::InUse(_) | StoreError::Unknown(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(id)
}

/// The same system gives the same bytes.
fn draft(root: &Path, limits: &Limits) -> Result<(Draft, Vec<u8>), HostError> {
    let mut skeleton = Skeleton::new(root);
    system::add(&mut skeleton)?;
    accounts::add(&mut skeleton)?;
    certificates::add(&mut skeleton)?;
    libraries::add(&mut skeleton)?;
    let shell = system::shell(&skeleton);
    let layer = skeleton.finish();
    let platform = Platform::of_this_machine();
    let config = json!({
        "os": platform.os,
        "architecture": platform.architecture,
        "config": {"Env": [PATH], "Cmd": [shell], "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": [Digest::of(&layer)]},
    });
    let config = config.to_string().into_bytes();
    let layers = [(Digest::of(&layer), layer.len() as u64)];
    let manifest = Manifest::synthesize((&Digest::of(&config), config.len() as u64), &layers);
    Ok((Draft::new(manifest, config, &platform, limits)?, layer))
}

#[cfg(test)]
mod tests;
