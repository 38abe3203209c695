//! The programs a Kubernetes is made of, and where each comes from: a folder the user named, the cache, or a build.
//! What to do with them is `kube`'s business.

mod catalogue;
pub(crate) mod clients;
pub(crate) mod debian;
mod edit;
mod go;

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::{terminal, workspace};

/// Paths of obtained programs, by name.
pub(crate) type Programs = BTreeMap<String, PathBuf>;

/// Every program in `names`, taken from `KUBEBUILDER_ASSETS` where it is there, and built from the pinned modules
/// otherwise.
pub(crate) fn obtain(names: &[&str]) -> Result<Programs> {
    let assets = env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
    if let Some(missing) = assets.as_ref().filter(|folder| !folder.is_dir()) {
        bail!("KUBEBUILDER_ASSETS names {}, which is no folder", missing.display());
    }
    let mut programs = assets.as_deref().map_or_else(Programs::new, |folder| given(folder, names));
    let missing: Vec<&str> = names.iter().filter(|name| !programs.contains_key(**name)).copied().collect();
    programs.extend(go::obtain(&missing)?);
    Ok(programs)
}

/// The folder of built and downloaded parts, which outlives checkouts and clusters.
pub(crate) fn folder() -> Result<PathBuf> {
    let folder = workspace::cache()?.join("parts");
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    Ok(folder)
}

/// Holds `name` against other runs on this machine until the returned file is dropped.
pub(crate) fn lock(name: &str) -> Result<File> {
    let path = folder()?.join(format!("{name}.lock"));
    let file = File::create(&path).with_context(|| format!("create {}", path.display()))?;
    if file.try_lock().is_err() {
        terminal::note(&format!("waiting for another run that holds {}", path.display()));
        file.lock().with_context(|| format!("lock {}", path.display()))?;
    }
    Ok(file)
}

/// A short name for exactly these texts.
fn fingerprint(parts: &[&str]) -> String {
    let digest = Sha256::digest(parts.join("\0"));
    digest.iter().take(6).fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn given(folder: &Path, names: &[&str]) -> Programs {
    let found: Programs = names
        .iter()
        .map(|name| ((*name).to_owned(), folder.join(name)))
        .filter(|(_, path)| path.is_file())
        .collect();
    let list = found.keys().cloned().collect::<Vec<_>>().join(", ");
    terminal::note(&format!("KUBEBUILDER_ASSETS={} gives: {list}", folder.display()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_pin_is_another_folder() {
        assert_ne!(fingerprint(&["a", "b"]), fingerprint(&["ab", ""]));
    }

    #[test]
    fn a_given_folder_offers_only_what_is_in_it() {
        let folder = env::temp_dir().join(format!("asb-parts-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("etcd"), "").unwrap();
        let found = given(&folder, &["etcd", "kubectl"]);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found.into_keys().collect::<Vec<_>>(), ["etcd"]);
    }
}
