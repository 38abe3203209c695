//! The book under any history.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::asking::LONGEST_WAIT;
use super::*;

#[derive(Clone, Debug)]
enum Event {
    Offer { name: u8, uid: u8, pool: u8, template: u8, node: u8, progress: Progress },
    Withdraw(u8),
    Pool(u8, usize),
    PoolGone(u8),
    Ask(u8, Request),
    AskAgain(u8),
    GiveBack(u8),
    Leave(u8),
}

fn progress() -> impl Strategy<Value = Progress> {
    prop_oneof![
        3 => Just(Progress::Starting),
        1 => Just(Progress::Reachable),
        2 => Just(Progress::Ready),
    ]
}

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        4 => (0..2u8).prop_map(|pool| Request::Pool(format!("pool-{pool}"))),
        2 => (0..2u8).prop_map(|template| Request::Template {
            template: format!("template-{template}"),
            pool: String::new()
        }),
        1 => Just(Request::Fresh { template: "template-0".to_owned(), pool: String::new() }),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (0..8u8, 0..12u8, 0..2u8, 0..6u8, 0..3u8, progress()).prop_map(
            |(name, uid, pool, template, node, progress)| Event::Offer {
                name,
                uid: uid / 11,
                pool,
                template: template / 5,
                node,
                progress,
            },
        ),
        2 => (0..8u8).prop_map(Event::Withdraw),
        1 => (0..2u8, 0..2usize).prop_map(|(pool, wanted)| Event::Pool(pool, wanted)),
        1 => (0..2u8).prop_map(Event::PoolGone),
        6 => (0..8u8, request()).prop_map(|(claim, request)| Event::Ask(claim, request)),
        4 => (0..8u8).prop_map(Event::AskAgain),
        2 => (0..8u8).prop_map(Event::GiveBack),
        2 => (0..8u8).prop_map(Event::Leave),
    ]
}

fn history() -> impl Strategy<Value = Vec<(u16, Event)>> {
    prop::collection::vec((0..500u16, event()), 1..120)
}

fn key(name: &str) -> Key {
    Key::new("team", name)
}

fn asker(claim: u8) -> Asker {
    Asker { key: key(&format!("claim-{claim}")), uid: Uid::from(format!("uid-{claim}").as_str()) }
}

/// The book, and beside it what must be true of it, kept in the simplest way.
#[derive(Default)]
struct Model {
    book: Book,
    offered: BTreeMap<Key, Member>,
    held: BTreeMap<Uid, Key>,
    requests: BTreeMap<u8, Request>,
    /// Since when claims wait.
    waiting: BTreeMap<u8, Timestamp>,
    /// Claims in order of their first asking.
    order: Vec<u8>,
    transcript: Vec<String>,
    now: Timestamp,
}

impl Model {
    fn run(history: &[(u16, Event)]) -> Self {
        let mut model = Self::default();
        for pool in 0..2 {
            model.apply(&Event::Pool(pool, 1));
        }
        for (pause, event) in history {
            model.now += SignedDuration::from_millis((*pause).into());
            model.apply(event);
            model.check();
        }
        model
    }

    fn apply(&mut self, event: &Event) {
        let now = self.now;
        let woken = match event.clone() {
            Event::Offer { name, uid, pool, template, node, progress } => {
                self.offer(name, uid, pool, template, node, progress)
            }
            Event::Withdraw(name) => {
                let sandbox = key(&format!("member-{name}"));
                self.offered.remove(&sandbox);
                self.held.retain(|_, held| *held != sandbox);
                self.book.withdraw(&sandbox, now)
            }
            Event::Pool(pool, wanted) => self.book.pool_is(&key(&format!("pool-{pool}")), wanted, now),
            Event::PoolGone(pool) => self.book.pool_is_gone(&key(&format!("pool-{pool}")), now),
            Event::Ask(claim, request) => self.ask(claim, &request),
            Event::AskAgain(claim) => match self.requests.get(&claim).cloned() {
                Some(request) => self.ask(claim, &request),
                None => Vec::new(),
            },
            Event::GiveBack(claim) => {
                self.held.remove(&asker(claim).uid);
                self.book.give_back(&asker(claim).uid, now)
            }
            Event::Leave(claim) => {
                self.held.remove(&asker(claim).uid);
                self.requests.remove(&claim);
                self.waiting.remove(&claim);
                self.order.retain(|known| *known != claim);
                self.book.leave(&asker(claim).uid, now)
            }
        };
        self.transcript.push(format!("woken {woken:?}"));
        self.wake(&woken);
    }

    fn offer(&mut self, name: u8, uid: u8, pool: u8, template: u8, node: u8, progress: Progress) -> Vec<Key> {
        let member = Member {
            sandbox: key(&format!("member-{name}")),
            uid: Uid::from(format!("uid-{uid}").as_str()),
            pool: format!("pool-{pool}").into(),
            template: format!("template-{template}").into(),
            node: if node == 0 { "".into() } else { format!("node-{node}").into() },
            progress,
            started: self
                .offered
                .get(&key(&format!("member-{name}")))
                .map_or(self.now, |known| known.started),
        };
        let before = self.offered.insert(member.sandbox.clone(), member.clone());
        let identity = |member: &Member| (member.uid.clone(), member.pool.clone(), member.template.clone());
        if before.is_some_and(|before| identity(&before) != identity(&member)) {
            self.held.retain(|_, held| *held != member.sandbox);
        }
        self.book.offer(member, self.now)
    }

    fn ask(&mut self, claim: u8, request: &Request) -> Vec<Key> {
        let asker = asker(claim);
        if self.requests.insert(claim, request.clone()).is_some_and(|before| before != *request) {
            self.held.remove(&asker.uid);
            self.waiting.remove(&claim);
        }
        if !self.order.contains(&claim) {
            self.order.push(claim);
        }
        let Asked { answer, wake } = self.book.ask(&asker, request, self.now);
        self.transcript.push(format!("{claim} {answer:?}"));
        self.waiting.retain(|waiting, _| *waiting != claim || matches!(answer, Answer::Wait { .. }));
        match answer {
            Answer::Adopt(member) => self.adopt(&asker, &member),
            Answer::Wait { until } => {
                assert!(until > self.now, "a wait that is over");
                let since = *self.waiting.entry(claim).or_insert(self.now);
                assert!(until.duration_since(since) <= LONGEST_WAIT, "too long a wait");
            }
            Answer::Cold(_) => {}
        }
        wake
    }

    fn adopt(&mut self, asker: &Asker, member: &Member) {
        assert_eq!(self.offered.get(&member.sandbox), Some(member), "handed something old");
        let others = self.held.iter().filter(|(uid, _)| **uid != asker.uid);
        assert!(others.into_iter().all(|(_, held)| *held != member.sandbox), "one member for two claims");
        self.held.insert(asker.uid.clone(), member.sandbox.clone());
    }

    /// Whoever is woken asks at once, so that hand-overs show.
    fn wake(&mut self, woken: &[Key]) {
        let claims: Vec<u8> = self.order.clone();
        for claim in claims.into_iter().filter(|claim| woken.contains(&asker(*claim).key)) {
            let request = self.requests[&claim].clone();
            let more = self.ask(claim, &request);
            assert_eq!(more, [], "asking for the same wakes nobody");
        }
    }

    fn check(&self) {
        assert_eq!(self.book.len(), self.offered.len() - self.held.len());
        let held: BTreeSet<_> = self.held.values().collect();
        assert_eq!(held.len(), self.held.len());
        for claim in self.waiting.keys() {
            let claimant = &self.book.claimants[&asker(*claim).uid];
            assert!(self.book.best(&asker(*claim).uid).is_none(), "waits beside a member that it could have");
            assert!(matches!(claimant.state, State::Waiting { .. }));
        }
    }
}

proptest! {
    /// No member in two hands, no wait beside a member one could have, none without end, and nothing lost: all checked
    /// after every event.
    #[test]
    fn the_book_holds_what_was_offered_and_not_handed(history in history()) {
        Model::run(&history);
    }

    #[test]
    fn equal_histories_give_equal_answers(history in history()) {
        prop_assert_eq!(Model::run(&history).transcript, Model::run(&history).transcript);
    }

    #[test]
    fn no_claim_waits_for_ever(history in history()) {
        let mut model = Model::run(&history);
        model.now += LONGEST_WAIT;
        for claim in 0..8 {
            model.apply(&Event::AskAgain(claim));
        }
        prop_assert!(model.waiting.is_empty());
    }

    #[test]
    fn equal_claims_are_served_in_the_order_they_came(members in 1..8u8, ready in Just((0..8u8).collect::<Vec<_>>()).prop_shuffle()) {
        let mut model = Model::default();
        model.apply(&Event::Pool(0, 1));
        let offer = |name, progress| Event::Offer { name, uid: 0, pool: 0, template: 0, node: 1, progress };
        (0..members).for_each(|name| model.apply(&offer(name, Progress::Starting)));
        model.now += SignedDuration::from_millis(1);
        (0..members).for_each(|claim| model.apply(&Event::Ask(claim, Request::Pool("pool-0".to_owned()))));
        let mut served = Vec::new();
        for name in ready.into_iter().filter(|name| *name < members) {
            model.apply(&offer(name, Progress::Ready));
            served.extend((0..members).filter(|claim| model.held.contains_key(&asker(*claim).uid)));
            served.dedup();
        }
        let mut seen = BTreeSet::new();
        served.retain(|claim| seen.insert(*claim));
        prop_assert_eq!(served, (0..members).collect::<Vec<_>>());
    }
}
