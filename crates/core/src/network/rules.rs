//! Rules for packets as data: sets, chains and rules, in the few forms that Pods need. They mean what nf_tables means by
//! them, and know nothing of its messages.

pub mod change;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use super::cidr::Cidr;
use super::member::Protocol;
use super::ranges::Ranges;

/// Everything in our table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleSet {
    pub sets: BTreeMap<String, Set>,
    pub chains: BTreeMap<String, Chain>,
}

/// What a set is asked about a packet; several at once are one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    InInterface,
    OutInterface,
    Source,
    Destination,
    Protocol,
    DestinationPort,
    /// A number that the rule draws.
    Lot,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Atom {
    Interface(String),
    Address(Ipv4Addr),
    Protocol(Protocol),
    Port(u16),
    Lot(u32),
}

pub type Key = Vec<Atom>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    pub fields: Vec<Field>,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Keys, each with a remark: whose it is.
    Keys(BTreeMap<Key, String>),
    Ranges(Ranges),
    /// Where a packet with this key goes.
    Verdicts(BTreeMap<Key, Target>),
    /// Keys that rules add by themselves, and that are forgotten when this time has passed since they did.
    Recent(Duration),
}

/// A chain to go to, and whose the entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub chain: String,
    pub remark: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// None for a chain that packets come to only from another.
    pub base: Option<Base>,
    pub rules: Vec<Rule>,
}

/// Where packets enter a chain by themselves. What no rule decides goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base {
    pub purpose: Purpose,
    pub hook: Hook,
    /// Lower ones come first.
    pub priority: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Filter,
    /// Asked for the first packet of a connection only.
    Translate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    Prerouting,
    Input,
    Forward,
    Output,
    Postrouting,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub matches: Vec<Match>,
    pub action: Action,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    In(Interface),
    NotIn(Interface),
    Out(Interface),
    NotOut(Interface),
    From(Cidr),
    To(Cidr),
    NotTo(Cidr),
    Protocol(Protocol),
    /// Destination ports, both ends included. Only behind a match of the protocol.
    Ports(u16, u16),
    /// Any of these.
    States(Vec<State>),
    /// The packet's key is in the set.
    Among(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interface {
    Named(String),
    /// All whose names begin so.
    Prefix(String),
}

/// What connection tracking says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Invalid,
    Established,
    Related,
    New,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Accept,
    Drop,
    Reject(Reason),
    Jump(String),
    Goto(String),
    /// Goes to where the set of verdicts sends the packet's key; if nowhere, on to the next rule.
    Dispatch(String),
    /// The same with a number below so many, drawn at random, as the key.
    Draw(u32, String),
    /// Takes the packet's key into a set of recent ones, and goes on.
    Remember(String),
    /// The packet seems to come from the host.
    Masquerade,
    /// The packet goes elsewhere.
    Redirect(Ipv4Addr, u16),
}

/// What the sender is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nobody is at home.
    Port,
    /// Somebody forbids it.
    Prohibited,
}

impl Rule {
    pub fn new(matches: impl IntoIterator<Item = Match>, action: Action) -> Self {
        Self { matches: matches.into_iter().collect(), action }
    }
}

impl Chain {
    pub fn base(purpose: Purpose, hook: Hook, priority: i32, rules: Vec<Rule>) -> Self {
        Self { base: Some(Base { purpose, hook, priority }), rules }
    }

    pub fn of(rules: Vec<Rule>) -> Self {
        Self { base: None, rules }
    }
}

impl RuleSet {
    pub fn add_keys(&mut self, name: &str, fields: &[Field], keys: impl IntoIterator<Item = (Key, String)>) {
        self.add(name, fields, Content::Keys(keys.into_iter().collect()));
    }

    pub fn add_verdicts(
        &mut self,
        name: &str,
        fields: &[Field],
        verdicts: impl IntoIterator<Item = (Key, Target)>,
    ) {
        self.add(name, fields, Content::Verdicts(verdicts.into_iter().collect()));
    }

    pub fn add(&mut self, name: &str, fields: &[Field], content: Content) {
        self.sets.insert(name.to_owned(), Set { fields: fields.to_vec(), content });
    }

    pub fn chain(&mut self, name: &str, chain: Chain) {
        self.chains.insert(name.to_owned(), chain);
    }
}
