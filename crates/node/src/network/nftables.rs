//! nf_tables by its netlink messages: our table, and nobody else's. Every change is one transaction.
//!
//! The table is of the family `inet`, so that what a Pod's link carries of IPv6 meets the same rules.

mod attributes;
mod expressions;
mod listing;
mod rules;
mod sets;
mod transaction;

use std::collections::BTreeMap;

use asb_core::network::rules::{RuleSet, Set, change};
use netlink_sys::protocols::NETLINK_NETFILTER;

use super::netlink::{Netlink, NetlinkError};
pub use listing::Listed;
use transaction::Transaction;

pub(super) use attributes::{Attributes, children};

fn sets(rules: &RuleSet) -> BTreeMap<&str, &Set> {
    rules.sets.iter().map(|(name, set)| (name.as_str(), set)).collect()
}

/// Our table in the kernel.
pub(super) struct Table {
    name: String,
    netlink: Netlink,
    /// What is known to be in the kernel. Nothing after a start: somebody else may have written it.
    applied: Option<RuleSet>,
}

impl Table {
    pub(super) fn open(name: &str) -> Result<Self, NetlinkError> {
        Ok(Self { name: name.to_owned(), netlink: Netlink::open(NETLINK_NETFILTER)?, applied: None })
    }

    /// Makes the kernel's rules these, at one instant: by the difference if what is there is known, otherwise as a whole.
    pub(super) fn apply(&mut self, rules: RuleSet) -> Result<(), NetlinkError> {
        if self.applied.as_ref() == Some(&rules) {
            return Ok(());
        }
        let known = self.applied.take().filter(|applied| change::is_reachable(applied, &rules));
        let changed = known.is_some_and(|applied| {
            let mut transaction = Transaction::new(&self.name);
            transaction.add(&change::between(&applied, &rules), &sets(&rules));
            let sent = self.netlink.send(&transaction.messages());
            sent.inspect_err(|error| tracing::warn!(%error, "rules are replaced as a whole")).is_ok()
        });
        if !changed {
            let mut transaction = Transaction::new(&self.name);
            transaction.replace_table();
            transaction.add(&change::all(&rules), &sets(&rules));
            self.netlink.send(&transaction.messages())?;
        }
        self.applied = Some(rules);
        Ok(())
    }

    /// Takes the table away, if it is there.
    pub(super) fn remove(&mut self) -> Result<(), NetlinkError> {
        self.applied = None;
        let mut transaction = Transaction::new(&self.name);
        transaction.remove_table();
        self.netlink.send(&transaction.messages())
    }

    /// Takes one element away. Whoever applies the next change finds that out, and replaces all.
    pub(super) fn remove_element(&mut self, element: &Listed) -> Result<(), NetlinkError> {
        self.applied = None;
        let mut transaction = Transaction::new(&self.name);
        transaction.remove_element(&element.set, &element.key);
        self.netlink.send(&transaction.messages())
    }

    /// What is in the kernel and has an owner: elements of sets, with their remarks.
    pub(super) fn list(&mut self) -> Result<Vec<Listed>, NetlinkError> {
        listing::list(&mut self.netlink, &self.name)
    }
}
