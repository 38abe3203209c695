//! Claims in any surroundings.

use asb_types::annotations;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::Step;
use super::fixtures::{NOON, Reply, World, after, view, world};
use crate::allocation::Cold;
use crate::object::Ownership;
use crate::views::SandboxView;
use crate::write::{Kind, Lock, Write};

const NAMES: [&str; 3] = ["demo", "pool-a", "pool-b"];

/// Whose a Sandbox is to begin with.
#[derive(Clone, Copy, Debug)]
enum Whose {
    Pools,
    Claims,
    Anothers,
    Nobodys,
}

fn whose() -> impl Strategy<Value = Whose> {
    let kinds = [Whose::Pools, Whose::Claims, Whose::Pools, Whose::Claims, Whose::Anothers, Whose::Nobodys];
    prop::sample::select(kinds.to_vec())
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&NAMES[..])
}

fn sandboxes() -> impl Strategy<Value = Vec<(&'static str, Whose, bool)>> {
    let sandbox = (whose(), prop::bool::weighted(0.2)).prop_map(Some);
    let each = prop_oneof![1 => Just(None), 2 => sandbox];
    prop::collection::vec(each, 3).prop_map(|all| {
        let named = NAMES.into_iter().zip(all);
        named.filter_map(|(name, sandbox)| sandbox.map(|(whose, going)| (name, whose, going))).collect()
    })
}

fn spec() -> impl Strategy<Value = Value> {
    let part = prop_oneof![
        3 => Just(json!({})),
        1 => Just(json!({"additionalPodMetadata": {"labels": {"sandbox.users.io/a": "b"}}})),
        1 => Just(json!({"additionalPodMetadata": {"annotations": {"note": "conflict"}}})),
        1 => Just(json!({"env": [{"name": "A", "value": "1"}]})),
        1 => Just(json!({"volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": {}}]})),
        1 => Just(json!({"warmPoolRef": {"name": "shadow-pool-python"}})),
        1 => Just(json!({"lostSandboxPolicy": "Replace"})),
        2 => prop::sample::select(&["Delete", "DeleteForeground", "Retain"][..]).prop_map(
            |policy| json!({"lifecycle": {"shutdownTime": NOON.to_string(), "shutdownPolicy": policy}})
        ),
    ];
    part
}

fn answer() -> impl Strategy<Value = Reply> {
    prop_oneof![
        name().prop_map(|name| Reply::Adopt(name.to_owned())),
        Just(Reply::Wait(after(30))),
        Just(Reply::Cold(Cold::Empty)),
    ]
}

fn surroundings() -> impl Strategy<Value = World> {
    let policies = (any::<bool>(), any::<bool>(), prop::bool::weighted(0.9), prop::bool::weighted(0.9));
    let names = (prop::option::of(name()), prop::option::of(name()));
    (sandboxes(), spec(), answer(), policies, names).prop_map(
        |(sandboxes, spec, answer, (env, volumes, has_pool, has_template), (told, recorded))| {
            let template = json!({"spec": {
                "envVarsInjectionPolicy": if env { "Allowed" } else { "Disallowed" },
                "volumeClaimTemplatesPolicy": if volumes { "Overrides" } else { "Disallowed" },
            }});
            let mut world =
                sandboxes.into_iter().fold(world().template(template), place).claim(json!({"spec": spec}));
            if let Some(name) = told {
                world = world.told(name);
            }
            if let Some(name) = recorded {
                world = world.claim(json!({"metadata": {"annotations": {annotations::SANDBOX_NAME: name}}}));
            }
            world.answer = answer;
            world.pool = world.pool.filter(|_| has_pool);
            world.template = world.template.filter(|_| has_template);
            world
        },
    )
}

fn place(world: World, (name, whose, is_going): (&'static str, Whose, bool)) -> World {
    let world = match whose {
        Whose::Pools => world.member(name),
        Whose::Claims => world.bound(name),
        // Labels alone make nobody a member.
        Whose::Anothers => world.member(name).owned_by(name, Kind::SandboxClaim, "other", "other-uid"),
        Whose::Nobodys => world.member(name).sandbox(name, json!({"metadata": {"ownerReferences": null}})),
    };
    if is_going { world.deleting(name) } else { world }
}

/// What the claim controls.
fn controlled(world: &World) -> Vec<SandboxView> {
    let views = world.sandboxes.values().map(view::<SandboxView>);
    views.filter(|sandbox| sandbox.metadata.is_owned_by(&"claim-uid".into())).collect()
}

proptest! {
    #[test]
    fn planning_again_changes_nothing(mut world in surroundings()) {
        world.settle(after(9));
        let settled = world.clone();
        world.writes.clear();
        world.settle(after(9));
        prop_assert_eq!(&world.writes, &vec![], "{:#?}", settled);
    }

    #[test]
    fn the_same_surroundings_have_the_same_plan(world in surroundings()) {
        prop_assert_eq!(world.plan(after(9)), world.plan(after(9)));
    }

    #[test]
    fn a_claim_that_controls_a_sandbox_gets_no_other(mut world in surroundings()) {
        let before = controlled(&world).len();
        world.settle(after(9));
        prop_assert!(controlled(&world).len() <= before.max(1));
        let added = world.writes.iter().filter(|write| match write {
            Write::Create { .. } => true,
            Write::Patch { body, .. } => body["metadata"].get("ownerReferences").is_some(),
            Write::Delete { .. } => false,
        });
        prop_assert!(added.count() <= usize::from(before == 0));
    }

    #[test]
    fn no_sandbox_of_anybody_else_is_touched(mut world in surroundings()) {
        let before = world.clone();
        world.settle(after(9));
        for write in world.writes.iter().filter(|write| write.target().kind == Kind::Sandbox) {
            let Some(sandbox) = before.sandboxes.get(&*write.target().key.name).map(view::<SandboxView>) else {
                continue;
            };
            let ownership = sandbox.metadata.ownership(&"claim-uid".into());
            let is_transfer = matches!(write, Write::Patch { lock: Lock::Version(..), .. });
            let may = match ownership {
                Ownership::Ours => true,
                Ownership::Anothers(owner) => owner.is(Kind::SandboxWarmPool) && (is_transfer || !controlled(&world).is_empty()),
                Ownership::Nobodys => false,
            };
            prop_assert!(may, "{write:?} on {:?}", sandbox.metadata);
        }
    }

    #[test]
    fn an_expired_claim_gets_no_sandbox(world in surroundings()) {
        let lifecycle = json!({"spec": {"lifecycle": {"shutdownTime": NOON.to_string()}}});
        let plan = world.claim(lifecycle).reason("ClaimExpired").plan(after(9));
        let is_writing = |write: &Write| !matches!(write, Write::Delete { .. });
        let adds = matches!(&plan.step, Step::Allocate(_)) || matches!(&plan.step, Step::Act(writes) if writes.iter().any(is_writing));
        prop_assert!(!adds, "{plan:?}");
    }
}
