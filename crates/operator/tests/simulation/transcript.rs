//! What happened in a schedule, in the order in which it happened, for whoever has to understand a failure.

use std::fmt::Write;

use crate::clock::VirtualClock;
use crate::object::version;
use crate::store::Change;
use crate::world::Actor;

pub(crate) struct Transcript {
    clock: VirtualClock,
    text: String,
}

impl Transcript {
    pub(crate) fn new(clock: VirtualClock) -> Self {
        Self { clock, text: String::new() }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn note(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.text, "{:9.3}  {line}", self.clock.seconds()).expect("memory takes anything");
    }

    pub(crate) fn wrote(&mut self, by: Actor<'_>, what: &str, change: &Change) {
        let who = match by {
            Actor::Operator(sent) => format!("operator {}", sent.process),
            Actor::User => "a user".to_owned(),
            Actor::Kubelet => "a kubelet".to_owned(),
            Actor::Collector => "the collector".to_owned(),
            Actor::Stranger => "a stranger".to_owned(),
        };
        let (kind, name) = (change.id.0.name(), &change.id.1);
        let versions = [&change.before, &change.after].map(|side| side.as_deref().map_or(0, version));
        self.note(format_args!("{who} {what} {kind} {name} ({} → {})", versions[0], versions[1]));
    }
}
