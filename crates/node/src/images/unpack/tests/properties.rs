//! Any tree, archived and unpacked, is the same tree; any bytes at all are an error or a tree, and never harm.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::super::super::fixture::Tar;
use super::Ground;

/// What is at a path, apart from what every tree has.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    File { content: Vec<u8>, mode: u32, owner: u32 },
    Directory { mode: u32, owner: u32 },
    Symlink { target: String },
}

type Forest = BTreeMap<String, Node>;

fn node() -> impl Strategy<Value = Node> {
    prop_oneof![
        (vec(any::<u8>(), 0..2000), 0u32..0o10000, 0u32..70_000)
            .prop_map(|(content, mode, owner)| Node::File { content, mode, owner }),
        (0u32..0o10000, 0u32..70_000).prop_map(|(mode, owner)| Node::Directory { mode, owner }),
        "[a-z./]{1,20}".prop_map(|target| Node::Symlink { target }),
    ]
}

/// Trees in which everything lies in a directory.
fn forest() -> impl Strategy<Value = Forest> {
    btree_map("[a-d]{1,2}(/[a-d]{1,2}){0,3}", node(), 0..24).prop_map(|mut forest| {
        let paths: Vec<String> = forest.keys().cloned().collect();
        for path in &paths {
            for (at, _) in path.match_indices('/') {
                forest.insert(path[..at].to_owned(), Node::Directory { mode: 0o755, owner: 0 });
            }
        }
        forest
    })
}

fn archived(forest: &Forest) -> Vec<u8> {
    let add = |tar: Tar, (path, node): (&String, &Node)| match node {
        Node::File { content, mode, owner } => {
            tar.owned_by((*owner).into(), (*owner).into()).add(b'0', path, *mode, "", content)
        }
        Node::Directory { mode, owner } => {
            tar.owned_by((*owner).into(), (*owner).into()).directory(path, *mode)
        }
        Node::Symlink { target } => tar.owned_by(0, 0).symlink(path, target),
    };
    forest.iter().fold(Tar::new(), add).finish()
}

fn found(root: &Path) -> Forest {
    let mut forest = Forest::new();
    collect(root, root, &mut forest);
    forest
}

fn collect(root: &Path, folder: &Path, forest: &mut Forest) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let facts = fs::symlink_metadata(&path).unwrap();
        let (mode, owner) = (facts.mode() & 0o7777, facts.uid());
        let node = if facts.is_dir() {
            collect(root, &path, forest);
            Node::Directory { mode, owner }
        } else if facts.is_symlink() {
            Node::Symlink { target: fs::read_link(&path).unwrap().to_str().unwrap().to_owned() }
        } else {
            Node::File { content: fs::read(&path).unwrap(), mode, owner }
        };
        assert_eq!(facts.mtime(), 1_000_000, "{}", path.display());
        forest.insert(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned(), node);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_tree_comes_out_as_it_went_in(forest in forest()) {
        let ground = Ground::new();
        ground.unpack(&archived(&forest)).unwrap();
        prop_assert_eq!(found(&ground.layer()), forest);
    }

    #[test]
    fn a_damaged_archive_does_no_harm(forest in forest(), damage in vec((any::<u16>(), any::<u8>()), 1..8)) {
        let mut archive = archived(&forest);
        for (at, byte) in damage {
            let at = usize::from(at) % archive.len();
            archive[at] = byte;
        }
        // Whether it reads is left open; the ground sees that nothing else happened.
        let _ = Ground::new().unpack(&archive);
    }

    #[test]
    fn names_made_of_tricks_stay_inside(names in vec(("[a./]{1,8}", "[a./]{1,8}", 0u8..4), 1..8)) {
        let add = |tar: Tar, (name, target, kind): &(String, String, u8)| match kind {
            0 => tar.file(name, "x"),
            1 => tar.directory(name, 0o755),
            2 => tar.symlink(name, target),
            _ => tar.link(name, target),
        };
        let _ = Ground::new().unpack(&names.iter().fold(Tar::new(), add).finish());
    }
}
