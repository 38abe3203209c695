//! What a pool needs, case by case. Whole lives of pools are in `lives`.

mod lives;
mod reports;
mod world;

use asb_types::labels;
use serde_json::json;

use super::*;
use crate::write::Lock;
use world::{World, second};

fn creates(plan: &Plan) -> usize {
    plan.writes.iter().filter(|write| matches!(write, Write::Create { .. })).count()
}

/// The names of the members that a plan deletes, in its order.
fn deletes(plan: &Plan) -> Vec<&str> {
    let deletes = plan.writes.iter().filter(|write| matches!(write, Write::Delete { .. }));
    deletes.map(|write| &*write.target().key.name).collect()
}

#[test]
fn an_empty_pool_is_filled_in_one_go() {
    let world = World::of(5);
    let plan = world.plan(second(0));
    assert_eq!((creates(&plan), plan.look_again), (5, None));
    assert_eq!(plan, world.plan(second(0)), "the same snapshot has the same plan");
}

#[test]
fn a_large_pool_is_filled_in_batches_that_do_not_wait_for_each_other() {
    let plan = World::of(1000).plan(second(0));
    assert_eq!((creates(&plan), plan.look_again), (300, Some(second(0))));
}

#[test]
fn members_on_their_way_out_still_count() {
    let mut world = World::of(3).with_ready(3);
    world.boxes[0].metadata.deletion = Some(world::going());
    assert_eq!(creates(&world.plan(second(1))), 0);
    world.boxes.remove(0);
    assert_eq!(creates(&world.plan(second(1))), 1);
}

#[test]
fn what_was_asked_for_and_not_seen_counts() {
    let mut world = World::of(3).with_ready(1);
    world.flights.creates = BTreeMap::from([("p-aaaaa".into(), Answer::Awaited)]);
    assert_eq!(creates(&world.plan(second(1))), 1);
    world.flights.deletes = BTreeMap::from([(world.boxes[0].metadata.uid.clone(), Answer::Awaited)]);
    let plan = world.plan(second(1));
    assert_eq!((creates(&plan), plan.standing.active, deletes(&plan).len()), (1, 0, 0));
}

#[test]
fn a_create_without_an_answer_is_tried_again_under_its_name() {
    let mut world = World::of(1);
    world.flights.creates = BTreeMap::from([("p-aaaaa".into(), Answer::Lost)]);
    let plan = world.plan(second(1));
    assert_eq!(plan.writes.iter().map(|write| &*write.target().key.name).collect::<Vec<_>>(), ["p-aaaaa"]);
    world.pool.replicas = 0;
    let plan = world.plan(second(1));
    assert_eq!((plan.writes.len(), plan.lookups), (0, vec![Key::new("team", "p-aaaaa")]));
}

/// Those that were made may be enough.
#[test]
fn creates_without_an_answer_are_looked_up_where_not_all_are_wanted() {
    let mut world = World::of(1);
    world.flights.creates = ["p-aaaaa", "p-bbbbb"].map(|name| (name.into(), Answer::Lost)).into();
    let plan = world.plan(second(1));
    assert_eq!((plan.writes.len(), plan.lookups.len()), (0, 2));
}

#[test]
fn a_delete_without_an_answer_is_tried_again() {
    let mut world = World::of(1).with_ready(1);
    world.flights.deletes = BTreeMap::from([(world.boxes[0].metadata.uid.clone(), Answer::Lost)]);
    let plan = world.plan(second(1));
    assert_eq!((deletes(&plan), creates(&plan)), (vec!["p-0"], 0));
}

#[test]
fn a_pool_shrinks_by_the_unready_first_and_then_the_newest() {
    let mut world = World::of(4).with_ready(4);
    world.make_unready(1);
    world.pool.replicas = 2;
    assert_eq!(deletes(&world.plan(second(10))), ["p-1", "p-3"]);
}

/// Between the last look and the delete a claim may have taken it.
#[test]
fn a_member_is_deleted_only_as_it_was_seen() {
    let mut world = World::of(1).with_ready(1);
    world.pool.replicas = 0;
    let plan = world.plan(second(10));
    assert!(matches!(plan.writes[..], [Write::Delete { version: Some(_), .. }]), "{:?}", plan.writes);
}

#[test]
fn a_sandbox_of_another_owner_is_none_of_ours() {
    let mut world = World::of(1).with_ready(2);
    world.claim(0);
    let plan = world.plan(second(1));
    assert_eq!((plan.writes.len(), plan.standing.active), (0, 1));
}

#[test]
fn a_fresh_orphan_is_taken_over_with_its_other_owners() {
    let mut world = World::of(1).with_ready(1);
    world.boxes[0].metadata.owner = None;
    world.boxes[0].metadata.bystanders = vec![json!({"uid": "other"})];
    world.boxes[0].metadata.labels.remove(labels::LAUNCH_TYPE);
    let plan = world.plan(second(1));
    insta::assert_yaml_snapshot!(plan.writes);
    assert_eq!(plan.standing.ready, 1);
}

#[test]
fn an_orphan_that_is_not_of_the_template_is_left_alone() {
    let mut world = World::of(1).with_ready(1);
    world.boxes[0].metadata.owner = None;
    world.change_template();
    let plan = world.plan(second(1));
    assert_eq!((creates(&plan), deletes(&plan).len(), plan.standing.unlike), (1, 0, 1));
}

#[test]
fn an_orphan_too_many_is_taken_over_before_it_is_deleted() {
    let mut world = World::of(1).with_ready(1);
    world.boxes[0].metadata.owner = None;
    world.pool.replicas = 0;
    let plan = world.plan(second(1));
    assert!(matches!(&plan.writes[..], [Write::Patch { lock: Lock::Version(..), .. }]), "{:?}", plan.writes);
}

#[test]
fn a_member_without_the_launch_type_gets_it() {
    let mut world = World::of(1).with_ready(1);
    world.boxes[0].metadata.labels.insert(labels::LAUNCH_TYPE.to_owned(), "cold".to_owned());
    let Write::Patch { body, .. } = &world.plan(second(1)).writes[0] else { panic!("a patch is due") };
    assert_eq!(*body, json!({"metadata": {"labels": {labels::LAUNCH_TYPE: "warm"}}}));
}

#[test]
fn a_member_whose_labels_somebody_took_off_gets_them_back() {
    let mut world = World::of(1).with_ready(1);
    let mut taken = |label: &str| world.boxes[0].metadata.labels.remove(label);
    let (pool, template) = (taken(labels::WARM_POOL), taken(labels::TEMPLATE_REF_HASH));
    let plan = world.plan(second(1));
    let [Write::Patch { body, lock: Lock::Version(..), .. }] = &plan.writes[..] else {
        panic!("{:?}", plan.writes)
    };
    let back = json!({labels::WARM_POOL: pool, labels::TEMPLATE_REF_HASH: template});
    assert_eq!(*body, json!({"metadata": {"labels": back}}));
    assert_eq!(plan.standing.active, 1);
}

#[test]
fn without_a_template_a_pool_creates_nothing_and_still_shrinks() {
    let mut world = World::of(5).with_ready(3);
    world.template = None;
    let plan = world.plan(second(1));
    assert_eq!((plan.writes.len(), plan.standing.active), (0, 3));
    assert!(matches!(plan.standing.refusal, Some(Refusal::TemplateNotFound(_))));
    world.pool.replicas = 2;
    assert_eq!(deletes(&world.plan(second(1))).len(), 1);
}

#[test]
fn a_member_that_never_gets_ready_is_replaced_after_its_time() {
    let mut world = World::of(1).with_ready(1);
    world.make_unready(0);
    let plan = world.plan(second(300));
    assert_eq!(deletes(&plan).len(), 0);
    assert!((second(302)..=second(304)).contains(&plan.look_again.unwrap()), "{:?}", plan.look_again);
    let plan = world.plan(second(301));
    assert_eq!((deletes(&plan), plan.standing.active, creates(&plan)), (vec!["p-0"], 0, 0));
}

#[test]
fn a_member_that_was_ready_once_has_its_time_anew() {
    let mut world = World::of(1).with_ready(1);
    world.make_unready_at(0, second(1000));
    assert_eq!(deletes(&world.plan(second(1200))).len(), 0);
    assert_eq!(deletes(&world.plan(second(1301))).len(), 1);
}

#[test]
fn no_time_or_number_that_somebody_wrote_is_too_large() {
    let mut world = World::of(2).recreate(&json!({"maxSurge": "9999999999999999999%"})).with_ready(2);
    world.make_unready_at(0, Timestamp::MAX);
    assert_eq!(world.plan(second(1)).look_again, Some(Timestamp::MAX));
    world.make_all_ready(second(1));
    world.change_template();
    assert_eq!(creates(&world.plan(second(1))), 2);
}

#[test]
fn a_member_that_no_node_can_take_is_held() {
    for reason in ["Unschedulable", "SchedulingGated"] {
        let mut world = World::of(1).with_ready(1);
        world.make_unready(0);
        world.pods = vec![Some(world::unscheduled(reason))];
        let plan = world.plan(second(400));
        assert_eq!((plan.writes.len(), plan.standing.held), (0, 1), "{reason}");
        assert_eq!(plan.look_again, Some(second(460)));
    }
}

#[test]
fn by_default_members_stay_when_the_template_changes() {
    let mut world = World::of(3).with_ready(3);
    world.change_template();
    assert_eq!(world.plan(second(1)).writes, []);
    assert!(hands_out_stale(&world.pool));
}

#[test]
fn recreate_replaces_stale_members_at_once_in_bounded_batches() {
    let mut world = World::of(400).recreate(&json!({})).with_ready(400);
    world.change_template();
    let plan = world.plan(second(1));
    assert_eq!((deletes(&plan).len(), creates(&plan), plan.standing.active), (300, 0, 0));
    assert_eq!(plan.look_again, Some(second(1)));
    assert!(!hands_out_stale(&world.pool));
}

#[test]
fn a_change_of_labels_alone_replaces_nobody() {
    let mut world = World::of(3).recreate(&json!({})).with_ready(3);
    world.template.as_mut().unwrap().pod.labels.insert("new".to_owned(), "label".to_owned());
    assert_eq!(world.plan(second(1)).writes, []);
}

#[test]
fn a_bounded_rollout_keeps_enough_members_ready() {
    let mut world = World::of(4).recreate(&json!({"maxUnavailable": "50%"})).with_ready(4);
    world.change_template();
    assert!(hands_out_stale(&world.pool));
    let plan = world.plan(second(1));
    assert_eq!((deletes(&plan).len(), creates(&plan), plan.standing.ready), (2, 0, 2));
    world.boxes.truncate(2);
    let plan = world.plan(second(2));
    assert_eq!((deletes(&plan).len(), creates(&plan)), (0, 2));
}

#[test]
fn a_surge_creates_before_it_deletes() {
    let mut world = World::of(4).recreate(&json!({"maxSurge": 1})).with_ready(4);
    world.change_template();
    let plan = world.plan(second(1));
    assert_eq!((deletes(&plan).len(), creates(&plan)), (0, 1));
    world.apply(&plan, second(1));
    assert_eq!(world.plan(second(2)).writes, [], "until it is ready");
    world.make_all_ready(second(3));
    let plan = world.plan(second(3));
    assert_eq!((deletes(&plan).len(), creates(&plan)), (1, 0));
}

#[test]
fn a_pool_that_cannot_be_understood_is_left_as_it_is() {
    let cases = [(json!({"maxUnavailable": "half"}), "Recreate"), (json!({"maxSurge": 1}), "OnReplenish")];
    for (bounds, strategy) in cases {
        let mut world = World::of(5).recreate(&bounds).with_ready(1);
        if strategy == "OnReplenish" {
            world.pool.update_strategy = asb_types::v1beta1::UpdateStrategyType::OnReplenish;
        }
        let plan = world.plan(second(1));
        assert_eq!(plan.writes, [], "{bounds}");
        assert!(matches!(plan.standing.refusal, Some(Refusal::Invalid(_))), "{bounds}");
    }
    let mut world = World::of(5);
    (world.pool.min_size, world.pool.max_size) = (Some(3), Some(2));
    assert_eq!(world.plan(second(1)).writes, []);
}

#[test]
fn a_pool_whose_name_has_the_hash_of_an_elder_is_left_as_it_is() {
    let mut world = World::of(5);
    world.pool.metadata.key = Key::new("team", "liquid");
    let mut elder = world.pool.metadata.clone();
    (elder.key, elder.uid) = (Key::new("team", "costarring"), "a".into());
    world.namesakes = vec![elder];
    let plan = world.plan(second(1));
    assert_eq!(plan.writes, []);
    assert!(matches!(plan.standing.refusal, Some(Refusal::Collides(_))));
}

#[test]
fn a_pool_that_is_being_deleted_is_left_to_the_garbage_collector() {
    let mut world = World::of(5);
    world.pool.metadata.deletion = Some(world::going());
    assert_eq!(world.plan(second(1)), Plan::default());
}
