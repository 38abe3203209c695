//! Looks after SandboxClaims. What one needs is decided in [`asb_core::claim`], and which warm Sandbox it gets by the book
//! in the [`World`](crate::world::World).

mod notes;
mod observe;

use std::sync::Arc;

use asb_core::allocation::{Answer as Booked, Asker};
use asb_core::claim::{
    Answer, FirstReady, Launched, Observed, Plan, Problem, Standing, Step, Told, launch, plan, status,
    stumbled,
};
use asb_core::object::Key;
use asb_core::report::{Event, Failure};
use asb_core::views::{ClaimView, Request};
use asb_core::write::{Kind, Target};
use jiff::Timestamp;

use crate::caches::Caches;
use crate::context::{Context, Stumble};
use crate::errands::Errands;
use crate::queue::{Next, Queue, Urgency};
use crate::spans;
use crate::traffic::Class;
use crate::workers::Controller;
use observe::{Readings, Snapshot};

pub(crate) use notes::Notes;

pub(crate) struct Claims {
    context: Arc<Context>,
    errands: Arc<Errands>,
}

/// Every plan is made on what the one before has changed. Few claims need more than three.
const MOST_PLANS: usize = 16;

impl Controller for Claims {
    type Object = ClaimView;

    const NAME: &'static str = "sandboxclaim";

    fn queue(caches: &Caches) -> &Queue {
        &caches.queues.claims
    }

    async fn reconcile(&self, key: &Key) -> Next {
        if !self.resolve_doubts(key).await {
            return Next::Retry;
        }
        let mut readings = Readings::default();
        for _ in 0..MOST_PLANS {
            let Some(snapshot) = self.context.caches.read(|world| Snapshot::take(world, key)) else {
                self.forget(key);
                return self.context.tell_unreadable::<ClaimView>(key, Class::Claim).await;
            };
            if let Some(next) = self.advance(&snapshot, &mut readings).await {
                return next;
            }
        }
        tracing::warn!(claim = %key, "everything changes faster than it can be looked at; trying again later");
        Next::Retry
    }
}

impl Claims {
    pub(crate) fn new(context: Arc<Context>, errands: Arc<Errands>) -> Self {
        Self { context, errands }
    }

    /// Makes one plan and carries it out. Says when to look again, unless there is more to do now.
    async fn advance(&self, snapshot: &Snapshot, readings: &mut Readings) -> Option<Next> {
        let (claim, now) = (&*snapshot.claim, self.context.now());
        self.notes().open(claim, snapshot.arrival.unwrap_or(now));
        self.catch_up(snapshot);
        let note = self.notes().open(claim, now);
        let bound = snapshot.bound();
        let trace = self.context.memory().traces.of(Kind::SandboxClaim, &claim.metadata);
        let observed = Observed {
            trace: trace.as_deref(),
            ..snapshot.observed(&bound, readings, &note, &self.context.settings.claims)
        };
        let mut plan = plan(&observed, now);
        if let Step::Allocate(request) = &plan.step {
            let (deadline, request) = (plan.look_again, request.clone());
            plan = self.allocate(&observed, &request, now);
            plan.look_again = plan.look_again.into_iter().chain(deadline).min();
        }
        match plan.step {
            Step::Done(writes) => {
                self.leave(claim);
                Some(
                    self.context
                        .carry_out(&writes, Class::Housekeeping)
                        .await
                        .map_or(Next::Retry, |()| Next::Settled),
                )
            }
            Step::Read(keys) => self.read(keys, readings).await,
            Step::Unfit(sandbox) => {
                self.withdraw(&sandbox);
                None
            }
            Step::Act(ref writes) => match self.context.carry_out(writes, Class::Claim).await {
                Ok(()) => self.acted(claim, plan),
                Err(stumble) => {
                    self.doubt(claim, &stumble, plan.launched.clone());
                    let is_open = matches!(stumble, Stumble::Unanswered(..));
                    if let (Stumble::Unanswered(target, _), true) = (&stumble, plan.launched.is_some()) {
                        self.notes().attempted(claim, target.key.clone(), plan);
                    }
                    let failure = stumble.told()?;
                    // What may yet become the claim's stays in its hands: another one beside it would be one too many.
                    if !is_open {
                        self.give_back(claim);
                    }
                    Some(self.tell(&observed, &stumbled(&observed, failure, now), &[], None).await)
                }
            },
            Step::Wait => Some(self.context.next(plan.look_again)),
            Step::Tell(ref standing) => {
                Some(self.tell(&observed, standing, &plan.events, plan.look_again).await)
            }
            Step::Allocate(_) => unreachable!("the book has answered"),
        }
    }

    /// Remembers what has to be read before anything more is decided about a claim, and how it was to get a Sandbox: that
    /// may happen at any time from now on, and so must not be decided differently.
    fn doubt(&self, claim: &ClaimView, stumble: &Stumble, launched: Option<Launched>) {
        if let Stumble::Unanswered(target, _) = stumble {
            self.notes().doubt(claim, target.clone());
            if let Some(launched) = launched {
                self.notes().launched(claim, launched);
            }
        }
    }

    /// Finds out what became of writes that nobody answered: a claim that got a Sandbox without hearing of it must not get
    /// another, nor one whose users were told of a Sandbox. Whether that is known now.
    async fn resolve_doubts(&self, key: &Key) -> bool {
        for target in self.notes().doubts(key) {
            if let Err(error) = self.context.writer.read(&target).await {
                tracing::warn!(claim = %key, %error, "cannot find out what became of a write");
                return false;
            }
            self.notes().resolve(key, &target);
        }
        true
    }

    /// Asks the book, and goes on with what it says.
    fn allocate(&self, observed: &Observed<'_>, request: &Request, now: Timestamp) -> Plan {
        let asker =
            Asker { key: observed.claim.metadata.key.clone(), uid: observed.claim.metadata.uid.clone() };
        let mut answer = None;
        self.context.caches.change(Urgency::Live, |world| {
            let (booked, wakes) = world.ask(&asker, request);
            answer = Some(match booked {
                Booked::Adopt(member) => {
                    (world.sandboxes.get(&member.sandbox).cloned(), Booked::Adopt(member))
                }
                other => (None, other),
            });
            wakes
        });
        self.count(observed.claim, now);
        match answer.expect("the change was made") {
            (Some(candidate), Booked::Adopt(_)) => launch(observed, Answer::Adopt(&candidate), now),
            (_, Booked::Adopt(member)) => Plan {
                step: Step::Unfit(member.sandbox),
                events: Vec::new(),
                launched: None,
                look_again: None,
            },
            (_, Booked::Wait { until }) => launch(observed, Answer::Wait { until }, now),
            (_, Booked::Cold(why)) => launch(observed, Answer::Cold(why), now),
        }
    }

    async fn read(&self, keys: Vec<Key>, readings: &mut Readings) -> Option<Next> {
        for key in keys {
            match self.context.writer.read(&Target::new(Kind::Sandbox, key.clone())).await {
                Ok(object) => readings.insert(key, object.as_ref()),
                Err(error) => {
                    tracing::warn!(sandbox = %key, %error, "cannot read a claim's Sandbox");
                    return Some(Next::Retry);
                }
            }
        }
        None
    }

    /// What follows from writes that were done, as it turns out, although nobody had answered.
    fn catch_up(&self, snapshot: &Snapshot) {
        let claim = &*snapshot.claim;
        let attempt = self.notes().take_attempt(claim);
        if let Some(attempt) = attempt.filter(|attempt| snapshot.has_bound(&attempt.sandbox)) {
            self.acted(claim, attempt.plan);
        }
        let telling = self.notes().take_telling(claim);
        if let Some(first_ready) = telling.filter(|telling| telling.was_told(claim)) {
            self.first_ready(claim, &first_ready);
        }
    }

    /// What follows from writes that were done.
    fn acted(&self, claim: &ClaimView, plan: Plan) -> Option<Next> {
        self.record(claim, &plan.events);
        if let Some(launched) = plan.launched {
            let (launched, note) = (
                Launched { at: self.context.now(), ..launched },
                self.notes().open(claim, self.context.now()),
            );
            self.context.metrics.claims.launched(claim, &launched, note.first_observed);
            self.notes().launched(claim, launched);
        }
        None
    }

    fn record(&self, claim: &ClaimView, events: &[Event]) {
        for event in events.iter().filter(|_| self.context.settings.claim_events) {
            self.context.recorder.record(event, Kind::SandboxClaim, &claim.metadata);
        }
    }

    fn first_ready(&self, claim: &ClaimView, first_ready: &FirstReady) {
        let namespace = &claim.metadata.key.namespace;
        self.context.metrics.claims.first_ready(namespace, first_ready, self.context.now());
    }

    /// Writes the status, sends what may wait on its way, and says when to look again.
    async fn tell(
        &self,
        observed: &Observed<'_>,
        standing: &Standing,
        events: &[Event],
        look_again: Option<Timestamp>,
    ) -> Next {
        let claim = observed.claim;
        let told = status(observed, standing, self.context.now());
        if let Some(problem) = standing.problem.as_ref().filter(|problem| is_an_error(problem)) {
            spans::failed(&problem.message());
        }
        match self.context.carry_out(&told.status, Class::Verdict).await {
            Ok(()) => {}
            Err(Stumble::Outdated) => return Next::Again,
            Err(stumble) => {
                self.doubt(claim, &stumble, None);
                if let (Stumble::Unanswered(..), Some(first_ready)) = (&stumble, told.first_ready) {
                    self.notes().tried_to_tell(claim, first_ready);
                }
                return Next::Retry;
            }
        }
        self.record(claim, events);
        if let Some(first_ready) = &told.first_ready {
            self.first_ready(claim, first_ready);
        }
        if standing.sandbox.is_some() {
            self.leave(claim);
        }
        self.follow_up(claim, &told);
        if standing.problem.as_ref().is_some_and(is_worth_another_try) {
            return Next::Retry;
        }
        self.context.next(told.look_again.into_iter().chain(look_again).min())
    }

    /// Annotations and the like: nobody waits for them.
    fn follow_up(&self, claim: &ClaimView, told: &Told) {
        if told.later.is_empty() || !self.notes().begin_follow_up(claim) {
            return;
        }
        let context = Arc::clone(&self.context);
        let (key, uid, later) = (claim.metadata.key.clone(), claim.metadata.uid.clone(), told.later.clone());
        self.errands.send(async move {
            let outcome = context.carry_out(&later, Class::Housekeeping).await;
            context.memory().claims.end_follow_up(&key, &uid);
            if outcome.is_err_and(|stumble| stumble.may_pass()) {
                context.caches.queues.claims.remind(&key, notes::LATER);
            }
        });
    }

    /// Notes that a claim came to its pool, once.
    fn count(&self, claim: &ClaimView, now: Timestamp) {
        if self.notes().count(claim) {
            self.context.memory().pools.claimed(&claim.metadata.key.sibling(claim.request.pool()), now);
        }
    }

    fn notes(&self) -> &Notes {
        &self.context.memory().claims
    }

    fn withdraw(&self, sandbox: &Key) {
        self.context.caches.change(Urgency::Live, |world| world.withdraw(sandbox));
    }

    fn give_back(&self, claim: &ClaimView) {
        self.context.caches.change(Urgency::Live, |world| world.give_back(&claim.metadata.uid));
    }

    fn leave(&self, claim: &ClaimView) {
        self.context.caches.change(Urgency::Live, |world| world.leave(&claim.metadata.uid));
    }

    fn forget(&self, key: &Key) {
        if let Some(uid) = self.notes().forget(key) {
            self.context.caches.change(Urgency::Live, |world| world.leave(&uid));
        }
    }
}

/// Whether a claim that waits for this may wait in vain. What failed was noted when it did.
fn is_an_error(problem: &Problem) -> bool {
    let (is_under_way, is_noted) = (
        matches!(problem, Problem::Waiting | Problem::CreatePending | Problem::Departing(_)),
        matches!(problem, Problem::Failed(_) | Problem::Contention(_)),
    );
    !is_under_way && !is_noted
}

/// Whether time alone may help. What is missing is noticed when it comes.
fn is_worth_another_try(problem: &Problem) -> bool {
    matches!(
        problem,
        Problem::Failed(Failure::Transient(_)) | Problem::Contention(_) | Problem::CreatePending
    )
}
