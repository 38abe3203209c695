//! Who may talk to the API server next. It is the bottleneck of a cluster, so what a waiting claim needs goes first, and
//! housekeeping yields to it; but nobody yields for ever.

mod window;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use window::Window;

/// What a request is for, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// What the users of a claim are told: the last thing that they wait for.
    Verdict,
    /// Somebody's claim waits for it.
    Claim,
    /// A Sandbox waits for it.
    Sandbox,
    /// Refill, statuses of pools, labels, annotations, events.
    Housekeeping,
}

/// After waiting for this long, a request goes before the more urgent ones.
const PATIENCE: Duration = Duration::from_secs(2);

/// While claims are about, housekeeping keeps to this part of the road, and to a larger one once it is out of patience.
const SHARE: usize = 8;
const SHARE_AFTERWARDS: usize = 4;

#[derive(Debug)]
pub(crate) struct Traffic {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    window: Window,
    /// Requests under way, by class.
    under_way: BTreeMap<Class, usize>,
    waiting: BTreeMap<(Class, u64), Waiter>,
    sequence: u64,
}

#[derive(Debug)]
struct Waiter {
    since: Instant,
    admit: oneshot::Sender<Permit>,
}

/// The right to make one request.
#[derive(Debug)]
pub(crate) struct Permit {
    /// Nothing where nobody waited for it any more.
    traffic: Option<Arc<Traffic>>,
    class: Class,
}

impl Traffic {
    /// As many requests at a time as the server works on, and at most so many.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        let (under_way, waiting) = (BTreeMap::new(), BTreeMap::new());
        let state = State { window: Window::new(most), under_way, waiting, sequence: 0 };
        Arc::new(Self { state: Mutex::new(state) })
    }

    /// Waits for its turn.
    pub(crate) async fn pass(self: &Arc<Self>, class: Class) -> Permit {
        let turn = {
            let mut state = self.state();
            if state.waiting.is_empty() && state.admits(class, Instant::now()) {
                return self.permit(&mut state, class);
            }
            let (admit, turn) = oneshot::channel();
            state.sequence += 1;
            let place = (class, state.sequence);
            state.waiting.insert(place, Waiter { since: Instant::now(), admit });
            turn
        };
        self.admit();
        turn.await.expect("a waiter is only removed to be admitted")
    }

    /// Admits whoever may go now.
    fn admit(self: &Arc<Self>) {
        let mut state = self.state();
        while let Some(place) = state.next(Instant::now()) {
            let waiter = state.waiting.remove(&place).expect("it was just found there");
            let permit = self.permit(&mut state, place.0);
            // One that no longer waits leaves its permit here, and dropping it would lock again.
            if let Err(mut unused) = waiter.admit.send(permit) {
                state.leave(place.0);
                unused.traffic = None;
            }
        }
    }

    fn permit(self: &Arc<Self>, state: &mut State, class: Class) -> Permit {
        *state.under_way.entry(class).or_default() += 1;
        Permit { traffic: Some(Arc::clone(self)), class }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether one more of this class may go now.
    fn admits(&self, class: Class, now: Instant) -> bool {
        let size = self.window.size();
        self.total() < size && self.under_way(class) < self.share(class, size, now)
    }

    fn share(&self, class: Class, size: usize, now: Instant) -> usize {
        if class != Class::Housekeeping || !self.has_claims() {
            return size;
        }
        let is_patient = self.first(class).is_none_or(|(_, first)| first.is_patient(now));
        (size / if is_patient { SHARE } else { SHARE_AFTERWARDS }).max(1)
    }

    fn has_claims(&self) -> bool {
        let are_waiting = self.waiting.keys().next().is_some_and(|(class, _)| *class <= Class::Claim);
        are_waiting || self.under_way(Class::Verdict) + self.under_way(Class::Claim) > 0
    }

    fn next(&self, now: Instant) -> Option<(Class, u64)> {
        let firsts = [Class::Verdict, Class::Claim, Class::Sandbox, Class::Housekeeping]
            .into_iter()
            .filter_map(|class| self.first(class))
            .filter(|((class, _), _)| self.admits(*class, now));
        firsts.min_by_key(|(place, waiter)| (waiter.is_patient(now), **place)).map(|(place, _)| *place)
    }

    fn first(&self, class: Class) -> Option<(&(Class, u64), &Waiter)> {
        self.waiting.range((class, 0)..=(class, u64::MAX)).next()
    }

    fn under_way(&self, class: Class) -> usize {
        self.under_way.get(&class).copied().unwrap_or_default()
    }

    fn total(&self) -> usize {
        self.under_way.values().sum()
    }

    fn leave(&mut self, class: Class) {
        *self.under_way.entry(class).or_default() -= 1;
    }
}

impl Waiter {
    fn is_patient(&self, now: Instant) -> bool {
        now.duration_since(self.since) < PATIENCE
    }
}

impl Permit {
    /// Takes note of how long the server took to do what was asked.
    pub(crate) fn answered(&self, took: Duration) {
        let Some(traffic) = &self.traffic else { return };
        let mut state = traffic.state();
        let is_full = state.total() >= state.window.size();
        state.window.answered(took, is_full, Instant::now());
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(traffic) = self.traffic.take() {
            traffic.state().leave(self.class);
            traffic.admit();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    /// A request that is waiting, or was admitted at once.
    fn request(traffic: &Arc<Traffic>, class: Class) -> futures::future::BoxFuture<'static, Permit> {
        let traffic = Arc::clone(traffic);
        let mut request = async move { traffic.pass(class).await }.boxed();
        match request.as_mut().now_or_never() {
            Some(permit) => futures::future::ready(permit).boxed(),
            None => request,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn claims_go_before_housekeeping_that_came_first() {
        let traffic = Traffic::new(1);
        let first = traffic.pass(Class::Sandbox).await;
        let (mut housekeeping, claim) =
            (request(&traffic, Class::Housekeeping), request(&traffic, Class::Claim));
        drop(first);
        let claim = claim.await;
        assert!(housekeeping.as_mut().now_or_never().is_none());
        drop(claim);
        housekeeping.await;
    }

    #[tokio::test(start_paused = true)]
    async fn housekeeping_does_not_yield_for_ever() {
        let traffic = Traffic::new(1);
        let first = traffic.pass(Class::Claim).await;
        let housekeeping = request(&traffic, Class::Housekeeping);
        tokio::time::advance(PATIENCE).await;
        let mut claim = request(&traffic, Class::Claim);
        drop(first);
        let housekeeping = housekeeping.await;
        assert!(claim.as_mut().now_or_never().is_none());
        drop(housekeeping);
        claim.await;
    }

    #[tokio::test(start_paused = true)]
    async fn housekeeping_keeps_to_its_share_only_while_claims_are_about() {
        let traffic = Traffic::new(8);
        let claim = traffic.pass(Class::Claim).await;
        let one = traffic.pass(Class::Housekeeping).await;
        let mut two = request(&traffic, Class::Housekeeping);
        assert!(two.as_mut().now_or_never().is_none());
        drop(claim);
        let two = two.await;
        let three = traffic.pass(Class::Housekeeping).now_or_never();
        assert!(three.is_some());
        drop((one, two));
    }

    #[tokio::test(start_paused = true)]
    async fn housekeeping_that_has_waited_long_gets_more_of_the_road() {
        let traffic = Traffic::new(8);
        let _claim = traffic.pass(Class::Claim).await;
        let _one = traffic.pass(Class::Housekeeping).await;
        let two = request(&traffic, Class::Housekeeping);
        tokio::time::advance(PATIENCE).await;
        drop(traffic.pass(Class::Claim).await);
        assert!(two.now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_begun_is_finished_first() {
        let traffic = Traffic::new(1);
        let first = traffic.pass(Class::Claim).await;
        let (mut claim, verdict) = (request(&traffic, Class::Claim), request(&traffic, Class::Verdict));
        drop(first);
        let _verdict = verdict.await;
        assert!(claim.as_mut().now_or_never().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_was_given_up_holds_no_place() {
        let traffic = Traffic::new(1);
        let first = traffic.pass(Class::Claim).await;
        drop(request(&traffic, Class::Claim));
        let second = request(&traffic, Class::Sandbox);
        drop(first);
        second.await;
        assert_eq!(traffic.state().under_way.values().sum::<usize>(), 0);
    }
}
