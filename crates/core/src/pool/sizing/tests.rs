//! How the size follows demand.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::views::read;

fn at(millisecond: i64) -> Timestamp {
    Timestamp::from_millisecond(millisecond).unwrap()
}

fn pool(spec: Value) -> PoolView {
    let metadata = json!({"namespace": "n", "name": "p", "uid": "u", "resourceVersion": "1"});
    read(&json!({"metadata": metadata, "spec": spec})).unwrap().unwrap()
}

fn elastic() -> PoolView {
    pool(json!({"replicas": 50, "minSize": 2, "maxSize": 20}))
}

/// Claims at an even pace, the size decided after each.
fn claims(demand: &mut Demand, pool: &PoolView, from: i64, until: i64, every: i64) -> Vec<usize> {
    let times = (from..until).step_by(usize::try_from(every).unwrap());
    times
        .map(|time| {
            demand.claimed(at(time));
            demand.size(pool, at(time)).size
        })
        .collect()
}

#[test]
fn without_bounds_the_size_is_what_the_user_says() {
    let mut demand = Demand::default();
    demand.claimed(at(0));
    let wanted = demand.size(&pool(json!({"replicas": 7})), at(0));
    assert_eq!(wanted, Wanted { size: 7, reason: None, again: None });
}

#[test]
fn an_idle_pool_has_its_least_size() {
    assert_eq!(Demand::default().size(&elastic(), at(0)).size, 2);
    assert_eq!(Demand::default().size(&pool(json!({"maxSize": 5})), at(0)).size, 0);
}

#[test]
fn steady_demand_settles_on_enough_for_the_time_to_get_ready() {
    let mut demand = Demand::default();
    demand.became_ready(SignedDuration::from_secs(3));
    let sizes = claims(&mut demand, &elastic(), 0, 600_000, 500);
    // Two a second for three seconds are six; with some for chance eleven or so.
    assert!((11..=13).contains(sizes.last().unwrap()), "{:?}", sizes.last());
    assert!(sizes[sizes.len() / 2..].windows(2).all(|pair| pair[0] == pair[1]), "it settled");
}

#[test]
fn a_pool_grows_at_once_and_shrinks_after_a_calm_while() {
    let mut demand = Demand::default();
    let busy = *claims(&mut demand, &elastic(), 0, 20_000, 100).last().unwrap();
    assert_eq!(busy, 20, "bounded");
    let minute = |minute: i64| at(20_000 + minute * 60_000);
    let later: Vec<_> = (0..15).map(|number| demand.size(&elastic(), minute(number)).size).collect();
    assert_eq!(later[3], 20, "not yet");
    assert_eq!(later[14], 2, "{later:?}");
}

#[test]
fn the_reason_is_told_in_words_and_only_changes_with_the_size() {
    let mut demand = Demand::default();
    let idle = demand.size(&elastic(), at(0)).reason.unwrap();
    claims(&mut demand, &elastic(), 0, 4_000, 250);
    let busy = demand.size(&elastic(), at(4_000)).reason.unwrap();
    assert_eq!(demand.size(&elastic(), at(4_100)).reason.unwrap(), busy);
    insta::assert_snapshot!([idle, busy].join("\n"));
}

#[test]
fn an_operator_that_has_just_started_shrinks_no_pool_before_it_has_seen_a_calm_while() {
    let mut busy = elastic();
    busy.status.desired_replicas = Some(12);
    let mut demand = Demand::default();
    let first = demand.size(&busy, at(0));
    assert_eq!((first.size, first.again.is_some()), (12, true));
    assert!(first.reason.unwrap().starts_with("demand: "));
    assert_eq!(demand.size(&busy, at(299_000)).size, 12);
    assert_eq!(demand.size(&busy, at(300_000)).size, 2);
}

#[test]
fn what_was_decided_before_gives_way_to_demand_and_bounds() {
    let mut pool = elastic();
    pool.status.desired_replicas = Some(3);
    let mut demand = Demand::default();
    assert_eq!(*claims(&mut demand, &pool, 0, 20_000, 100).last().unwrap(), 20);
    pool.status.desired_replicas = Some(50);
    assert_eq!(Demand::default().size(&pool, at(0)).size, 2, "it is out of bounds");
}

#[test]
fn a_pool_of_at_most_none_has_none_whatever_the_demand() {
    let (mut demand, none) = (Demand::default(), pool(json!({"maxSize": 0})));
    assert_eq!(claims(&mut demand, &none, 0, 5_000, 100).into_iter().max(), Some(0));
    let wanted = demand.size(&none, at(5_000));
    assert!(wanted.reason.unwrap().starts_with("maxSize: "));
    assert_eq!(wanted.again, None, "nothing to shrink");
}

#[test]
fn bounds_in_the_wrong_order_are_no_panic() {
    assert_eq!(Demand::default().size(&pool(json!({"minSize": 5, "maxSize": 2})), at(0)).size, 5);
}

#[test]
fn a_change_of_bounds_counts_at_once() {
    let mut demand = Demand::default();
    claims(&mut demand, &elastic(), 0, 20_000, 100);
    assert_eq!(demand.size(&pool(json!({"minSize": 1, "maxSize": 4})), at(20_000)).size, 4);
    assert_eq!(demand.size(&pool(json!({"minSize": 30, "maxSize": 40})), at(20_000)).size, 40);
}

proptest! {
    #[test]
    fn the_size_stays_within_its_bounds(
        min in 0_usize..10, more in 0_usize..30, steps in prop::collection::vec((0_i64..20_000, any::<bool>()), 0..200),
    ) {
        let pool = pool(json!({"minSize": min, "maxSize": min + more}));
        let (mut demand, mut now) = (Demand::default(), 0);
        for (pause, is_claim) in steps {
            now += pause;
            if is_claim { demand.claimed(at(now)) } else { demand.became_ready(SignedDuration::from_millis(pause)) }
            let size = demand.size(&pool, at(now)).size;
            prop_assert!((min..=min + more).contains(&size), "{size}");
        }
    }

    #[test]
    fn when_claims_cease_the_size_comes_to_rest_at_its_least(
        every in 50_i64..5_000, took in 100_i64..60_000, min in 0_usize..5,
    ) {
        let pool = pool(json!({"minSize": min}));
        let mut demand = Demand::default();
        demand.became_ready(SignedDuration::from_millis(took));
        claims(&mut demand, &pool, 0, every * 50, every);
        let calm = (0..200).map(|step| demand.size(&pool, at(every * 50 + step * 30_000)).size);
        prop_assert_eq!(calm.last(), Some(min));
    }
}
