//! Whole lives of pools: whatever happens, no create makes one too large, and when nothing happens any more it has
//! exactly the members it should have.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Happening {
    Claim(usize),
    Ready(usize),
    Unready(usize),
    Gone(usize),
    Resize(usize),
    NewTemplate,
    /// Everything so far is seen.
    Seen,
    /// The next writes are done, and not yet seen.
    Unseen,
    /// The next writes get no answer; those whose turn it is were done.
    Unanswered(u8),
    Pass(u8),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        3 => any::<usize>().prop_map(Happening::Claim),
        6 => any::<usize>().prop_map(Happening::Ready),
        1 => any::<usize>().prop_map(Happening::Unready),
        4 => any::<usize>().prop_map(Happening::Gone),
        1 => (0_usize..12).prop_map(Happening::Resize),
        1 => Just(Happening::NewTemplate),
        2 => Just(Happening::Seen),
        1 => Just(Happening::Unseen),
        1 => any::<u8>().prop_map(Happening::Unanswered),
        2 => any::<u8>().prop_map(Happening::Pass),
    ]
}

fn bounds() -> impl Strategy<Value = serde_json::Value> {
    prop_oneof![
        Just(json!({})),
        (0_usize..4).prop_map(|count| json!({"maxUnavailable": count})),
        (0_usize..4).prop_map(|count| json!({"maxSurge": count})),
        (0_usize..100, 0_usize..100).prop_map(|(one, other)| json!({
            "maxUnavailable": format!("{one}%"), "maxSurge": format!("{other}%"),
        })),
    ]
}

/// The cluster as it is, beside what the planner has seen of it.
struct Life {
    truth: World,
    seen: World,
    lag: Option<Lag>,
    now: i64,
    bounds: serde_json::Value,
}

#[derive(Clone, Copy)]
enum Lag {
    Unseen,
    Unanswered(u8),
}

impl Life {
    fn begin(replicas: usize, bounds: &serde_json::Value) -> Self {
        let world = || World::of(replicas).recreate(bounds);
        Self { truth: world(), seen: world(), lag: None, now: 0, bounds: bounds.clone() }
    }

    fn happen(&mut self, what: &Happening) {
        let count = self.truth.boxes.len();
        let place = |number: &usize| (count > 0).then(|| number % count.max(1));
        match what {
            Happening::Claim(number) => {
                let taken = place(number).filter(|place| !self.truth.boxes[*place].metadata.is_deleting());
                if let Some(place) = taken {
                    self.truth.claim(place);
                }
            }
            Happening::Ready(number) => self.set_ready(place(number), true),
            Happening::Unready(number) => self.set_ready(place(number), false),
            Happening::Gone(number) => {
                let gone = place(number).filter(|place| self.truth.boxes[*place].metadata.is_deleting());
                if let Some(place) = gone {
                    self.truth.boxes.remove(place);
                }
            }
            Happening::Resize(size) => self.each(|world| world.pool.replicas = *size),
            Happening::NewTemplate => self.each(World::change_template),
            Happening::Seen => self.catch_up(),
            Happening::Unseen => self.lag = Some(Lag::Unseen),
            Happening::Unanswered(which) => self.lag = Some(Lag::Unanswered(*which)),
            Happening::Pass(seconds) => self.now += i64::from(*seconds),
        }
    }

    fn each(&mut self, change: impl Fn(&mut World)) {
        change(&mut self.truth);
        change(&mut self.seen);
    }

    fn set_ready(&mut self, place: Option<usize>, is_ready: bool) {
        let now = second(self.now);
        if let Some(place) = place {
            self.truth.set_ready(place, is_ready, now);
        }
    }

    fn catch_up(&mut self) {
        self.lag = None;
        self.seen.boxes = self.truth.boxes.clone();
        self.seen.flights = Flights::default();
    }

    /// Plans by what was seen, and writes to what is.
    fn step(&mut self) -> Plan {
        let plan = self.seen.plan(second(self.now));
        self.seen.memory = plan.memory.clone();
        self.seen.chance += 1;
        for (number, write) in plan.writes.iter().enumerate() {
            let answer = match self.lag {
                Some(Lag::Unanswered(_)) => Answer::Lost,
                Some(Lag::Unseen) | None => Answer::Awaited,
            };
            if !matches!(self.lag, Some(Lag::Unanswered(which)) if (which >> (number % 8)) & 1 == 0) {
                self.write(write);
            }
            match write {
                Write::Create { target, .. } => {
                    self.seen.flights.creates.insert(target.key.name.clone(), answer);
                }
                Write::Delete { uid, .. } => {
                    self.seen.flights.deletes.insert(uid.clone(), answer);
                }
                Write::Patch { .. } => {}
            }
        }
        if self.lag.is_none() {
            self.catch_up();
        }
        plan
    }

    /// As an API server does it: a delete is for the object as it was seen.
    fn write(&mut self, write: &Write) {
        let claimed = self.truth.boxes.iter().any(|sandbox| {
            sandbox.metadata.key == write.target().key
                && !sandbox.metadata.is_owned_by(&self.truth.pool.metadata.uid)
        });
        if !claimed {
            self.truth.write(write, second(self.now));
        }
    }

    /// As the user asked for it.
    fn surge(&self, wanted: usize) -> usize {
        let surge = &self.bounds["maxSurge"];
        let count = surge.as_u64().map_or(0, |count| usize::try_from(count).unwrap());
        let percent = surge.as_str().map_or(0, |text| text.trim_end_matches('%').parse().unwrap());
        count + (wanted * percent).div_ceil(100)
    }

    /// Active and terminating members, as they are.
    fn size(&self) -> usize {
        let owned = |sandbox: &&SandboxView| sandbox.metadata.is_owned_by(&self.truth.pool.metadata.uid);
        self.truth.boxes.iter().filter(owned).count()
    }

    /// Nothing happens any more but what must: news arrive, Pods get ready, deleted ones go.
    fn calm_down(&mut self) -> Plan {
        for _ in 0..200 {
            self.catch_up();
            self.now += 10;
            let plan = self.step();
            if plan.writes.is_empty()
                && !self.truth.boxes.iter().any(|sandbox| sandbox.metadata.is_deleting())
            {
                return plan;
            }
            self.truth.boxes.retain(|sandbox| !sandbox.metadata.is_deleting());
            self.truth.make_all_ready(second(self.now));
        }
        panic!("the pool does not come to rest");
    }
}

proptest! {
    #[test]
    fn no_create_makes_a_pool_too_large_and_in_the_end_it_is_as_it_should_be(
        replicas in 0_usize..12, bounds in bounds(), happenings in prop::collection::vec(happening(), 0..60),
    ) {
        let mut life = Life::begin(replicas, &bounds);
        for what in &happenings {
            life.happen(what);
            let before = life.size();
            let plan = life.step();
            let wanted = plan.standing.wanted;
            prop_assert!(life.size() <= before.max(wanted + life.surge(wanted)), "{what:?}: {} of {wanted}", life.size());
        }
        life.truth.make_all_ready(second(life.now));
        let plan = life.calm_down();
        prop_assert_eq!((life.size(), plan.standing.active), (plan.standing.wanted, plan.standing.wanted));
        let template = life.seen.template.as_ref().unwrap();
        let blueprint = Blueprint::of(template);
        let own = life.truth.boxes.iter().filter(|sandbox| sandbox.metadata.is_owned_by(&"pool".into()));
        prop_assert!(own.into_iter().all(|sandbox| blueprint.is_fresh(sandbox)));
    }
}
