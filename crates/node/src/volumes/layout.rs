//! Where volumes are.

use std::path::PathBuf;

use super::names::{self, Refused};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// Below the node's directory.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// All volumes that go with a Pod.
    pub fn of_pod(&self, uid: &str) -> Result<PathBuf, Refused> {
        Ok(self.root.join("pods").join(names::uid(uid)?).join("volumes"))
    }

    pub fn volume(&self, uid: &str, name: &str) -> Result<PathBuf, Refused> {
        Ok(self.of_pod(uid)?.join(names::volume(name)?))
    }

    /// The Pod's own files.
    pub fn files(&self, uid: &str) -> Result<PathBuf, Refused> {
        Ok(self.root.join("pods").join(names::uid(uid)?).join("etc"))
    }

    /// The program that Sandboxes may ask for.
    pub fn runtime(&self) -> PathBuf {
        self.root.join("runtime")
    }

    /// All that outlive Pods.
    pub fn persistent(&self) -> PathBuf {
        self.root.join("volumes")
    }

    /// What a Pod sees of one.
    pub fn data(&self, volume: &str) -> Result<PathBuf, Refused> {
        Ok(self.persistent().join(names::persistent(volume)?).join("data"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out() {
        let layout = Layout::new("/n");
        assert_eq!(layout.volume("u", "v").unwrap(), PathBuf::from("/n/pods/u/volumes/v"));
        assert_eq!(layout.data("pvc-1").unwrap(), PathBuf::from("/n/volumes/pvc-1/data"));
        assert!(layout.volume("..", "v").is_err() && layout.volume("u", "..").is_err());
        assert!(layout.data("..").is_err() && layout.data("a/b").is_err());
    }
}
