//! The one task that knows who is connected, and keeps rules and names true. Everybody who waits while it works is served
//! together in its next turn.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use asb_core::network::member::Member;
use asb_core::network::names;
use asb_core::network::ruleset::{Compiled, Settings, Snapshot, compile};
use asb_core::object::Uid;
use k8s_openapi::api::core::v1::Pod;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use super::Error;
use super::objects::{Differences, Objects, Policies, Seen};
use super::roster::Roster;
use super::upstreams::{self, Upstreams};
use crate::network::{Network, dns};
use crate::settings::{DOMAIN, SERVICES};

pub(super) type Answer = oneshot::Sender<Result<(), Error>>;

pub(super) enum Request {
    /// Rules are to know the Pod, and all policies of this moment.
    Admit { uid: Uid, pod: Arc<Pod>, address: Ipv4Addr, answer: Answer },
    /// Rules are to forget the Pod.
    Dismiss { uid: Uid, answer: Answer },
}

/// How many requests one turn serves.
const TOGETHER: usize = 1024;
/// Changes that nobody waits for wait for each other.
const PACE: Duration = Duration::from_millis(20);
/// How soon after a failure the next attempt comes, at first and at last.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

pub(super) struct Keeper {
    network: Arc<Network>,
    settings: Settings,
    objects: Objects,
    roster: Roster,
    upstreams: Upstreams,
    view: watch::Sender<dns::View>,
    /// What the rules in force know.
    members: Vec<Member>,
    refused: BTreeMap<Uid, String>,
    /// What is known and not yet in force, or not yet told.
    due: Differences,
    failures: u32,
}

impl Keeper {
    pub(super) fn new(
        network: Arc<Network>,
        settings: Settings,
        objects: Objects,
        roster: Roster,
        upstreams: Upstreams,
        view: watch::Sender<dns::View>,
    ) -> Self {
        let (members, refused, due) = (Vec::new(), BTreeMap::new(), Differences { rules: true, names: true });
        Self { network, settings, objects, roster, upstreams, view, members, refused, due, failures: 0 }
    }

    /// The first rules.
    pub(super) async fn begin(&mut self) -> Result<(), Error> {
        self.turn(Vec::new()).await
    }

    /// Until nobody can ask any more.
    pub(super) async fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        let mut look = tokio::time::interval(upstreams::LOOK);
        let mut rested = Instant::now();
        loop {
            let mut batch = Vec::new();
            let is_due = self.due.rules;
            let objects = &mut self.objects;
            let change = async {
                sleep_until(rested).await;
                if !is_due {
                    objects.changed().await;
                }
            };
            tokio::select! {
                biased;
                count = requests.recv_many(&mut batch, TOGETHER) => if count == 0 { return },
                () = change => {}
                _ = look.tick() => self.due.names |= self.upstreams.look(),
            }
            let outcome = self.turn(batch).await;
            rested = Instant::now() + self.rest(outcome);
        }
    }

    /// How long until changes are looked at again.
    fn rest(&mut self, outcome: Result<(), Error>) -> Duration {
        let Err(error) = outcome else {
            self.failures = 0;
            return PACE;
        };
        tracing::warn!(error = &error as &dyn std::error::Error, "the network of Pods is not up to date");
        let wait = RETRY.0.saturating_mul(1 << self.failures.min(10)).min(RETRY.1);
        self.failures += 1;
        wait
    }

    /// Policies that cannot be read keep Pods from being admitted, and nobody from being dismissed.
    async fn turn(&mut self, batch: Vec<Request>) -> Result<(), Error> {
        let (mut admitted, dismissed) = self.take(batch);
        let policies = if admitted.is_empty() { Policies::AsTold } else { Policies::OfThisMoment };
        let looked = self.look(policies).await;
        if let Err(error) = &looked {
            self.refuse(std::mem::take(&mut admitted), error);
        }
        let applied = self.apply().await;
        for answer in dismissed {
            // Whoever does not wait any more does not need to know.
            let _ = answer.send(applied.clone());
        }
        match &applied {
            Ok(()) => self.admit(admitted),
            Err(error) => self.refuse(admitted, error),
        }
        self.publish();
        looked.and(applied)
    }

    /// Who is admitted, and whoever waits for somebody to be dismissed.
    fn take(&mut self, batch: Vec<Request>) -> (Vec<(Uid, Answer)>, Vec<Answer>) {
        let (mut admitted, mut dismissed) = (Vec::new(), Vec::new());
        for request in batch {
            match request {
                Request::Admit { uid, pod, address, answer } => {
                    self.roster.add(uid.clone(), pod, address);
                    admitted.push((uid, answer));
                }
                Request::Dismiss { uid, answer } => {
                    self.roster.remove(&uid);
                    dismissed.push(answer);
                }
            }
        }
        (admitted, dismissed)
    }

    async fn look(&mut self, policies: Policies) -> Result<(), Error> {
        let looked = self.objects.look(policies).await;
        // What was seen before the error is not told apart from what was not.
        let seen = looked.clone().unwrap_or(Differences { rules: true, names: true });
        self.due.rules |= seen.rules;
        self.due.names |= seen.names;
        looked.map(drop)
    }

    /// Puts rules in force that know everybody in the roster, if those in force do not.
    async fn apply(&mut self) -> Result<(), Error> {
        self.objects.pods.look();
        self.roster.refresh(&self.objects.pods.cache);
        let members = self.roster.members();
        if members != self.members {
            self.due = Differences { rules: true, names: true };
        }
        if !self.due.rules {
            return Ok(());
        }
        let Compiled { rules, refused } = self.compile(&members);
        self.network.apply(rules).await.map_err(Error::network)?;
        self.due.rules = false;
        self.members = members;
        self.tell(refused);
        Ok(())
    }

    fn compile(&self, members: &[Member]) -> Compiled {
        compile(Snapshot {
            settings: &self.settings,
            members,
            namespaces: &self.objects.seen.namespaces,
            policies: &self.objects.seen.policies,
            frontends: &self.objects.seen.frontends,
        })
    }

    /// Pods that run and are cut off from now on are told about in the log; those that do not run yet, to who starts them.
    fn tell(&mut self, refused: BTreeMap<Uid, String>) {
        for (uid, reason) in refused.iter().filter(|(uid, _)| !self.refused.contains_key(*uid)) {
            tracing::warn!(%uid, reason, "a Pod is cut off");
        }
        self.refused = refused;
    }

    fn admit(&mut self, admitted: Vec<(Uid, Answer)>) {
        for (uid, answer) in admitted {
            let verdict = match self.refused.get(&uid) {
                Some(reason) => Err(Error::Refused(reason.clone())),
                None if self.roster.has_member(&uid) => Ok(()),
                None => Err(Error::NoMember),
            };
            if verdict.is_err() {
                self.roster.remove(&uid);
            }
            // Whoever does not wait any more dismisses the Pod.
            let _ = answer.send(verdict);
        }
    }

    fn refuse(&mut self, admitted: Vec<(Uid, Answer)>, error: &Error) {
        for (uid, answer) in admitted {
            self.roster.remove(&uid);
            let _ = answer.send(Err(error.clone()));
        }
    }

    /// Tells the name server what has changed.
    fn publish(&mut self) {
        if !std::mem::take(&mut self.due.names) {
            return;
        }
        let Seen { services, slices, .. } = &self.objects.seen;
        let blocks = vec![self.settings.range, SERVICES];
        let names = Arc::new(names::build(DOMAIN, blocks, services, slices, &self.members));
        let upstreams = self.upstreams.servers().to_vec();
        self.view.send_replace(dns::View { names, upstreams, ..dns::View::default() });
    }
}
