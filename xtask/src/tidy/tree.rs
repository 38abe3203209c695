//! The files of the checkout as Git sees them: tracked, or new and not ignored. Reads them once for all rules.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Bound;
use std::path::Path;

use anyhow::Result;

use crate::command;

/// Data of others, kept byte for byte as published: its path counts, its text is not ours to judge.
const VENDORED: &[&str] = &["crates/apiserver/kubernetes/", "crates/types/kubernetes/"];

#[derive(Default)]
pub(crate) struct Tree {
    pub paths: BTreeSet<String>,
    pub texts: Vec<Text>,
}

/// A text file of ours.
pub(crate) struct Text {
    /// From the root of the checkout.
    pub path: String,
    pub text: String,
}

impl Tree {
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let listing = command::output(root, "git", &["ls-files", "-co", "--exclude-standard", "-z"])?;
        let is_file = |path: &&str| fs::symlink_metadata(root.join(path)).is_ok_and(|data| data.is_file());
        let paths: BTreeSet<_> = listing.split_terminator('\0').filter(is_file).map(str::to_owned).collect();
        let texts = paths.iter().filter(|path| is_ours(path)).filter_map(|path| text(root, path)).collect();
        Ok(Self { paths, texts })
    }

    /// Whether a path from the root names a file or a folder that holds one.
    pub(crate) fn holds(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        let after = (Bound::Included(folder.as_str()), Bound::Unbounded);
        self.paths.contains(path)
            || self.paths.range::<str, _>(after).next().is_some_and(|next| next.starts_with(&folder))
    }

    pub(crate) fn with_extension<'a>(&'a self, extension: &'a str) -> impl Iterator<Item = &'a Text> {
        self.texts.iter().filter(move |text| extension_of(&text.path) == Some(extension))
    }
}

pub(crate) fn extension_of(path: &str) -> Option<&str> {
    Path::new(path).extension()?.to_str()
}

fn is_ours(path: &str) -> bool {
    !VENDORED.iter().any(|folder| path.starts_with(folder))
}

/// Nothing for a binary file, which no rule reads.
fn text(root: &Path, path: &str) -> Option<Text> {
    let text = fs::read_to_string(root.join(path)).ok()?;
    Some(Text { path: path.to_owned(), text })
}

#[cfg(test)]
impl Tree {
    /// A tree of the given paths and texts.
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let text = |(path, text): &(&str, &str)| Text { path: (*path).to_owned(), text: (*text).to_owned() };
        let texts: Vec<_> = files.iter().map(text).collect();
        Self { paths: texts.iter().map(|text| text.path.clone()).collect(), texts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_holds_its_files_and_their_folders_and_nothing_else() {
        let tree = Tree::of(&[("docs/adr/0001-one.md", ""), ("docs-old", "")]);
        assert!(tree.holds("docs/adr/0001-one.md") && tree.holds("docs/adr") && tree.holds("docs"));
        assert!(!tree.holds("doc") && !tree.holds("docs/adr/0002-two.md"));
    }

    #[test]
    fn published_data_is_not_ours_to_judge() {
        assert!(!is_ours("crates/types/kubernetes/v1.36/openapi.json"));
        assert!(!is_ours("crates/apiserver/kubernetes/definitions.json"));
        assert!(is_ours("crates/types/src/kubernetes.rs"));
    }

    #[test]
    fn new_files_are_read_and_ignored_and_binary_ones_are_not() {
        let root = tempfile::tempdir().unwrap();
        command::output(root.path(), "git", &["init", "--quiet"]).unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(root.path().join(name), bytes).unwrap();
        write(".gitignore", b"target\n");
        write("target", b"ignored");
        write("new.rs", b"//! New.");
        write("logo.png", b"\x89PNG\xff");
        let tree = Tree::read(root.path()).unwrap();
        assert_eq!(tree.paths.iter().collect::<Vec<_>>(), [".gitignore", "logo.png", "new.rs"]);
        assert_eq!(tree.texts.len(), 2);
    }
}
