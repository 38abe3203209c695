//! How much of the disk a volume takes.

use std::collections::BTreeSet;
use std::path::Path;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use rustix::fs::FileType;

use super::error::Error;
use super::tree;
use crate::quantity::units;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub bytes: u64,
    pub files: u64,
}

/// What is really taken: holes count nothing, and a file with several names counts once. It blocks.
pub fn measure(volume: &Path) -> Result<Usage, Error> {
    let (mut usage, mut seen) = (Usage::default(), BTreeSet::new());
    tree::walk(volume, "measure", &mut |node| {
        let has_names = node.stat.st_nlink > 1 && node.kind() != FileType::Directory;
        if !has_names || seen.insert(node.stat.st_ino) {
            usage.bytes += u64::try_from(node.stat.st_blocks).unwrap_or_default() * 512;
            usage.files += 1;
        }
        Ok(())
    })?;
    Ok(usage)
}

/// Why a Pod is evicted for a volume that cannot be held in otherwise; nothing while it keeps its limit. What cannot be
/// measured because it is too deep was made so that it cannot.
pub fn excess(volume: &str, limit: Option<&Quantity>, measured: &Result<Usage, Error>) -> Option<String> {
    let quantity = limit?;
    let most = units(quantity);
    let is_over = match measured {
        Ok(usage) => usage.bytes > most,
        Err(Error::TooDeep(_)) => true,
        Err(_) => false,
    };
    (most > 0 && is_over)
        .then(|| format!("Usage of EmptyDir volume {volume:?} exceeds the limit {:?}. ", quantity.0))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn limit(text: &str) -> Quantity {
        Quantity(text.to_owned())
    }

    #[test]
    fn names_of_one_file_count_once_and_links_lead_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("f"), vec![1; 1 << 20]).unwrap();
        let once = measure(folder.path()).unwrap();
        fs::hard_link(folder.path().join("f"), folder.path().join("g")).unwrap();
        std::os::unix::fs::symlink("/usr", folder.path().join("usr")).unwrap();
        let twice = measure(folder.path()).unwrap();
        assert!(once.bytes >= 1 << 20 && once.bytes < 2 << 20, "{once:?}");
        assert!(twice.bytes < once.bytes + (64 << 10), "{twice:?}");
        assert_eq!((once.files, twice.files), (2, 3));
    }

    #[test]
    fn a_pod_is_told_which_volume_grew_too_large() {
        let measured = Ok(Usage { bytes: 2048, files: 1 });
        let message = "Usage of EmptyDir volume \"v\" exceeds the limit \"1Ki\". ";
        assert_eq!(excess("v", Some(&limit("1Ki")), &measured).as_deref(), Some(message));
        assert_eq!(excess("v", Some(&limit("2Ki")), &measured), None);
        assert_eq!(excess("v", Some(&limit("0")), &measured), None);
        assert_eq!(excess("v", None, &measured), None);
        assert!(excess("v", Some(&limit("1Gi")), &Err(Error::TooDeep("v".into()))).is_some());
    }
}
