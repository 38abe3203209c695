//! What is remembered about each pool between two looks at it: writes under way, demand, and what went wrong. Lost in a
//! restart without harm.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use asb_core::object::{Key, Metadata, Uid};
use asb_core::pool::{Answer, Debounce, Flights, Member, Memory, Plan};
use asb_core::report::Failure;
use asb_core::write::Write;
use jiff::{SignedDuration, Timestamp};

/// One pool's page.
#[derive(Clone, Debug)]
pub(crate) struct Book {
    /// Which pool it is about. Another of the same name starts anew.
    uid: Uid,
    pub(crate) flights: Flights,
    pub(crate) memory: Memory,
    /// What the last errand that failed ran into.
    pub(crate) failure: Option<Failure>,
    failures: u32,
    not_before: Option<Timestamp>,
    /// Claims that came since the last look.
    arrivals: Vec<Timestamp>,
}

/// What came of an errand.
#[derive(Debug)]
pub(crate) enum Landing {
    Landed,
    /// It was not sent.
    CalledOff,
    /// Nobody answered, and it may still happen.
    Lost(String),
    Failed(Failure),
}

const FIRST_PAUSE: SignedDuration = SignedDuration::from_millis(50);
const LAST_PAUSE: SignedDuration = SignedDuration::from_mins(1);

#[derive(Debug, Default)]
pub(crate) struct Ledgers(Mutex<HashMap<Key, Book>>);

impl Ledgers {
    /// What is known about a pool, with what happened since the last look counted in.
    pub(super) fn open(&self, pool: &Metadata, members: &[Member<'_>], starts: Vec<SignedDuration>) -> Book {
        let mut books = self.books();
        let book = books.entry(pool.key.clone()).or_insert_with(|| Book::new(&pool.uid));
        if book.uid != pool.uid {
            *book = Book::new(&pool.uid);
        }
        book.flights.settle(members);
        for arrival in std::mem::take(&mut book.arrivals) {
            book.memory.demand.claimed(arrival);
        }
        for start in starts {
            book.memory.demand.became_ready(start);
        }
        book.clone()
    }

    /// Begins another term: what was under way when the last one ended has nobody left to wait for its answer, and pools
    /// may have gone since.
    pub(crate) fn begin(&self, is_there: impl Fn(&Key, &Uid) -> bool) {
        let mut books = self.books();
        books.retain(|pool, book| is_there(pool, &book.uid));
        books.values_mut().for_each(|book| book.flights.lose());
    }

    pub(crate) fn size(&self) -> usize {
        self.books().len()
    }

    /// Remembers a plan that is about to be carried out.
    pub(super) fn note(&self, plan: &Plan, pool: &Key) {
        self.change(pool, |book| {
            book.memory = plan.memory.clone();
            for write in &plan.writes {
                book.depart(write);
            }
        });
    }

    /// Remembers what came of an errand.
    pub(super) fn arrive(&self, pool: &Key, write: &Write, landing: Landing, now: Timestamp) {
        self.change(pool, |book| book.arrive(write, landing, now));
    }

    /// Creates turned out to have happened. Their names are not to be used again once they are gone.
    pub(super) fn landed<'a>(&self, pool: &Key, members: impl IntoIterator<Item = &'a str>) {
        self.change(pool, |book| {
            for member in members {
                book.flights.creates.remove(member);
            }
        });
    }

    pub(super) fn told(&self, pool: &Key, debounce: Debounce) {
        self.change(pool, |book| book.memory.status = debounce);
    }

    pub(super) fn forget(&self, pool: &Key) {
        self.books().remove(pool);
    }

    /// A claim came to this pool.
    pub(crate) fn claimed(&self, pool: &Key, at: Timestamp) {
        self.change(pool, |book| book.arrivals.push(at));
    }

    fn change(&self, pool: &Key, change: impl FnOnce(&mut Book)) {
        if let Some(book) = self.books().get_mut(pool) {
            change(book);
        }
    }

    fn books(&self) -> MutexGuard<'_, HashMap<Key, Book>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn new(uid: &Uid) -> Self {
        Self {
            uid: uid.clone(),
            flights: Flights::default(),
            memory: Memory::default(),
            failure: None,
            failures: 0,
            not_before: None,
            arrivals: Vec::new(),
        }
    }

    /// How long to wait before anything is tried again.
    pub(super) fn setback(&self, now: Timestamp) -> Option<Duration> {
        let wait = self.not_before?.duration_since(now);
        Duration::try_from(wait).ok().filter(|wait| !wait.is_zero())
    }

    fn depart(&mut self, write: &Write) {
        match write {
            Write::Create { target, .. } => {
                self.flights.creates.insert(Arc::clone(&target.key.name), Answer::Awaited);
            }
            Write::Delete { uid, .. } => {
                self.flights.deletes.insert(uid.clone(), Answer::Awaited);
            }
            Write::Patch { .. } => {}
        }
    }

    fn arrive(&mut self, write: &Write, landing: Landing, now: Timestamp) {
        match (write, &landing) {
            (Write::Create { target, .. }, Landing::Lost(_)) => {
                self.flights.creates.insert(Arc::clone(&target.key.name), Answer::Lost);
            }
            (Write::Delete { uid, .. }, Landing::Lost(_)) => {
                self.flights.deletes.insert(uid.clone(), Answer::Lost);
            }
            (Write::Create { target, .. }, _) => {
                self.flights.creates.remove(&target.key.name);
            }
            (Write::Delete { uid, .. }, _) => {
                self.flights.deletes.remove(uid);
            }
            (Write::Patch { .. }, _) => {}
        }
        match landing {
            Landing::Landed => (self.failure, self.failures, self.not_before) = (None, 0, None),
            Landing::CalledOff => {}
            Landing::Lost(problem) => self.fail(Failure::Transient(problem), now),
            Landing::Failed(failure) => self.fail(failure, now),
        }
    }

    /// Errands that fail together count once: they were sent before the first answer came.
    fn fail(&mut self, failure: Failure, now: Timestamp) {
        if self.not_before.is_none_or(|time| time <= now) {
            let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(12)).min(LAST_PAUSE);
            self.failures += 1;
            self.not_before = Some(now.saturating_add(pause).unwrap_or(Timestamp::MAX));
        }
        self.failure = Some(failure);
    }
}

#[cfg(test)]
mod tests {
    use asb_core::write::{Kind, Target};
    use serde_json::json;

    use super::*;

    fn at(millisecond: i64) -> Timestamp {
        Timestamp::from_millisecond(millisecond).expect("a small number")
    }

    fn create(name: &str) -> Write {
        Write::Create { target: Target::new(Kind::Sandbox, Key::new("n", name)), object: json!({}) }
    }

    #[test]
    fn a_create_counts_from_its_departure_until_its_answer() {
        let mut book = Book::new(&"u".into());
        book.depart(&create("a"));
        assert_eq!(book.flights.creates.get("a"), Some(&Answer::Awaited));
        book.arrive(&create("a"), Landing::Landed, at(1));
        assert!(book.flights.creates.is_empty());
    }

    #[test]
    fn one_that_nobody_answered_goes_on_counting() {
        let mut book = Book::new(&"u".into());
        book.depart(&create("a"));
        book.arrive(&create("a"), Landing::Lost("timed out".to_owned()), at(1));
        assert_eq!(book.flights.creates.get("a"), Some(&Answer::Lost));
    }

    #[test]
    fn nobody_waits_for_the_answers_of_a_term_that_is_over() {
        let (ledgers, key) = (Ledgers::default(), Key::new("n", "pool"));
        for name in ["pool", "gone"] {
            let metadata = json!({"namespace": "n", "name": name, "uid": name, "resourceVersion": "1"});
            ledgers.open(&Metadata::read(&json!({"metadata": metadata})).unwrap(), &[], Vec::new());
        }
        ledgers.change(&key, |book| book.depart(&create("a")));
        ledgers.begin(|pool, uid| *pool == key && uid.as_str() == "pool");
        assert_eq!(ledgers.size(), 1);
        assert_eq!(ledgers.books()[&key].flights.creates.get("a"), Some(&Answer::Lost));
        ledgers.landed(&key, ["a"]);
        assert!(ledgers.books()[&key].flights.creates.is_empty());
    }

    #[test]
    fn failures_make_the_pool_wait_longer_each_time_and_a_success_forgets_them() {
        let mut book = Book::new(&"u".into());
        let refused = || Landing::Failed(Failure::Permanent("quota".to_owned()));
        let mut waits = Vec::new();
        for (time, name) in [(0, "a"), (0, "b"), (50, "c")] {
            book.arrive(&create(name), refused(), at(time));
            waits.push(book.setback(at(time)).map(|wait| wait.as_millis()));
        }
        assert_eq!(waits, [Some(50), Some(50), Some(100)]);
        book.arrive(&create("d"), Landing::Landed, at(60));
        assert_eq!((book.setback(at(60)), book.failure), (None, None));
    }
}
