//! A set of paths into an object: what somebody owns, or what a write changed. Kept as a tree; a node may be in the set
//! itself, or only lead to others that are.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::element::Element;

/// A path from the root of an object.
pub type Path = Vec<Element>;

/// No node of the tree is there for nothing: each is a member, or has members below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    pub(super) nodes: BTreeMap<Element, Node>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) is_member: bool,
    pub(super) below: FieldSet,
}

impl Node {
    pub(super) fn leaf() -> Self {
        Self { is_member: true, below: FieldSet::default() }
    }

    fn is_empty(&self) -> bool {
        !self.is_member && self.below.is_empty()
    }
}

impl FieldSet {
    /// The paths of fields alone, as in `["spec", "replicas"]`.
    pub fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            set.insert(&path.iter().map(|name| Element::field(name)).collect::<Path>());
        }
        set
    }

    /// The parents of the path are not added. The root itself is nobody's.
    pub fn insert(&mut self, path: &[Element]) {
        let Some((last, parents)) = path.split_last() else { return };
        let mut set = self;
        for parent in parents {
            set = &mut set.nodes.entry(parent.clone()).or_default().below;
        }
        set.nodes.entry(last.clone()).or_default().is_member = true;
    }

    /// Puts a node under a step, unless it says nothing.
    pub(super) fn attach(&mut self, element: Element, node: Node) {
        if node.is_empty() {
            return;
        }
        match self.nodes.entry(element) {
            Entry::Vacant(vacant) => {
                vacant.insert(node);
            }
            Entry::Occupied(mut occupied) => {
                let known = occupied.get_mut();
                known.is_member |= node.is_member;
                known.below.extend(node.below);
            }
        }
    }

    pub(super) fn extend(&mut self, other: Self) {
        for (element, node) in other.nodes {
            self.attach(element, node);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn contains(&self, path: &[Element]) -> bool {
        let Some((last, parents)) = path.split_last() else { return false };
        let mut set = self;
        for parent in parents {
            match set.nodes.get(parent) {
                Some(node) => set = &node.below,
                None => return false,
            }
        }
        set.nodes.get(last).is_some_and(|node| node.is_member)
    }

    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut union = self.clone();
        union.extend(other.clone());
        union
    }

    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.each(|element, node| {
            let known = other.nodes.get(element)?;
            Some(Node {
                is_member: node.is_member && known.is_member,
                below: node.below.intersection(&known.below),
            })
        })
    }

    /// Without the members of the other set. What is below a member of the other stays.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.each(|element, node| match other.nodes.get(element) {
            None => Some(node.clone()),
            Some(gone) => Some(Node {
                is_member: node.is_member && !gone.is_member,
                below: node.below.difference(&gone.below),
            }),
        })
    }

    /// Without the members of the other set, and without all that is below them.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        self.each(|element, node| match other.nodes.get(element) {
            None => Some(node.clone()),
            Some(gone) if gone.is_member => None,
            Some(gone) => Some(Node { is_member: node.is_member, below: node.below.without(&gone.below) }),
        })
    }

    /// The members that have no members below.
    #[must_use]
    pub fn leaves(&self) -> Self {
        self.each(|_, node| {
            Some(Node { is_member: node.is_member && node.below.is_empty(), below: node.below.leaves() })
        })
    }

    /// A set with the same steps, and other nodes where the function finds any.
    pub(super) fn each(&self, node: impl Fn(&Element, &Node) -> Option<Node>) -> Self {
        let mut set = Self::default();
        for (element, known) in &self.nodes {
            if let Some(node) = node(element, known) {
                set.attach(element.clone(), node);
            }
        }
        set
    }

    /// All members: those of a level before those below them.
    pub fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, prefix: &mut Path, paths: &mut Vec<Path>) {
        for (element, _) in self.nodes.iter().filter(|(_, node)| node.is_member) {
            paths.push(prefix.iter().chain([element]).cloned().collect());
        }
        for (element, node) in &self.nodes {
            prefix.push(element.clone());
            node.below.collect(prefix, paths);
            prefix.pop();
        }
    }
}

/// A path as messages write it: `.spec.containers[name="main"].image`.
pub(super) fn shown(path: &[Element]) -> String {
    path.iter().map(Element::to_string).collect()
}
