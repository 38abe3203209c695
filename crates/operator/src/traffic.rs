//! Who may talk to the API server next. It is the bottleneck of a cluster, so what a waiting claim needs goes first, and
//! housekeeping yields to it; but nobody yields for ever.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

/// What a request is for, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Somebody's claim waits for it.
    Claim,
    /// A Sandbox waits for it.
    Sandbox,
    /// Refill, statuses of pools, labels, annotations, events.
    Housekeeping,
}

/// After waiting for this long, a request goes before the more urgent ones.
const PATIENCE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct Traffic {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
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
    traffic: Arc<Traffic>,
    class: Class,
}

impl Traffic {
    /// At most `limit` requests at a time.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, state: Mutex::default() })
    }

    /// Waits for its turn.
    pub(crate) async fn pass(self: &Arc<Self>, class: Class) -> Permit {
        let turn = {
            let mut state = self.state();
            if state.waiting.is_empty() && state.admits(class, self.limit) {
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
        while let Some(place) = state.next(self.limit, Instant::now()) {
            let waiter = state.waiting.remove(&place).expect("it was just found there");
            let permit = self.permit(&mut state, place.0);
            // One that no longer waits leaves its permit here, and dropping it would lock again.
            if let Err(mut unused) = waiter.admit.send(permit) {
                state.leave(place.0);
                unused.traffic = Self::new(0);
            }
        }
    }

    fn permit(self: &Arc<Self>, state: &mut State, class: Class) -> Permit {
        *state.under_way.entry(class).or_default() += 1;
        Permit { traffic: Arc::clone(self), class }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether one more of this class may go now. While claims are about, housekeeping keeps to a quarter of the road.
    fn admits(&self, class: Class, limit: usize) -> bool {
        let total: usize = self.under_way.values().sum();
        let share =
            if class == Class::Housekeeping && self.has_claims() { (limit / 4).max(1) } else { limit };
        total < limit && self.under_way.get(&class).copied().unwrap_or_default() < share
    }

    fn has_claims(&self) -> bool {
        let under_way = self.under_way.get(&Class::Claim).copied().unwrap_or_default();
        under_way > 0 || self.waiting.first_key_value().is_some_and(|((class, _), _)| *class == Class::Claim)
    }

    fn next(&self, limit: usize, now: Instant) -> Option<(Class, u64)> {
        let firsts = [Class::Claim, Class::Sandbox, Class::Housekeeping]
            .into_iter()
            .filter_map(|class| self.waiting.range((class, 0)..=(class, u64::MAX)).next())
            .filter(|((class, _), _)| self.admits(*class, limit));
        let is_patient = |waiter: &Waiter| now.duration_since(waiter.since) < PATIENCE;
        firsts.min_by_key(|(place, waiter)| (is_patient(waiter), **place)).map(|(place, _)| *place)
    }

    fn leave(&mut self, class: Class) {
        *self.under_way.entry(class).or_default() -= 1;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.traffic.limit > 0 {
            self.traffic.state().leave(self.class);
            self.traffic.admit();
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
        let traffic = Traffic::new(4);
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
