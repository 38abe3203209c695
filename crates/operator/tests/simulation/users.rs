//! The users of the simulated cluster, who do what they like at any time.

use asb_core::write::Kind;
use serde_json::{Value, json};

use crate::agenda::Deed;
use crate::object::{controller_of, is_deleting, merge, name};
use crate::store::Deletion;
use crate::world::{Actor, World};
use crate::{solo, strangers};

const TEMPLATES: [&str; 2] = ["python", "go"];
const POOLS: [(&str, &str); 3] = [("warm", "python"), ("spare", "python"), ("gophers", "go")];
const CLAIMS: [&str; 8] = ["ada", "bob", "cyd", "dan", "eve", "fay", "gus", "hal"];

/// What is there at the beginning.
pub(crate) fn settle(world: &mut World) {
    template(world, "python");
    pool(world, "warm", "python");
    if world.chance.one_in(2) {
        template(world, "go");
        pool(world, "gophers", "go");
    }
    world.agenda.add(std::time::Duration::ZERO, Deed::UserActs);
}

/// One user does one thing, and the next one is on the way.
pub(crate) fn act(world: &mut World) {
    if !world.is_stormy {
        return;
    }
    match world.chance.below(28) {
        0..4 => claim(world),
        4..6 => rush(world),
        6..8 => delete(world, Kind::SandboxClaim),
        8..10 => resize(world),
        10 => edit_template(world),
        11 => edit_claim(world),
        12 => delete(world, Kind::Sandbox),
        13 => delete(world, Kind::Pod),
        14..16 => switch(world),
        16 => delete(world, Kind::SandboxWarmPool),
        17 => delete(world, Kind::SandboxTemplate),
        18 => template_again(world),
        19 => pool_again(world),
        20..22 => solo::create(world),
        22..24 => solo::edit(world),
        24 => delete(world, Kind::Service),
        25 => delete(world, Kind::PersistentVolumeClaim),
        _ => strangers::meddle(world),
    }
    let pause = world.chance.pick(&[1, 20, 200, 1000, 5000]);
    let pause = world.chance.millis(pause);
    world.agenda.add(pause, Deed::UserActs);
}

/// Everybody takes away what is theirs, and nothing is left that no garbage collector takes.
pub(crate) fn leave(world: &mut World) {
    let is_owned = |object: &Value| {
        object["metadata"]["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty())
    };
    let left = world.store.all().filter(|(_, object)| !is_owned(object));
    for (kind, name) in left.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
        let now = world.now();
        if let Ok(change) = world.store.delete(kind, &name, &Deletion::default(), now) {
            world.took(Actor::User, "deletes", &change);
        }
    }
}

fn template(world: &mut World, name: &str) {
    let pod = json!({"spec": {"containers": [{"name": "main", "image": "demo:1"}]}});
    let mut spec = json!({"podTemplate": pod, "envVarsInjectionPolicy": "Allowed",
        "volumeClaimTemplatesPolicy": "Allowed"});
    if world.chance.one_in(3) {
        spec["service"] = json!(true);
    }
    if world.chance.one_in(3) {
        spec["volumeClaimTemplates"] = json!([volume("work")]);
    }
    create(world, Kind::SandboxTemplate, name, spec);
}

pub(crate) fn volume(name: &str) -> Value {
    let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    json!({"metadata": {"name": name}, "spec": spec})
}

fn template_again(world: &mut World) {
    let name = world.chance.pick(&TEMPLATES);
    template(world, name);
}

fn pool(world: &mut World, name: &str, template: &str) {
    let replicas = world.chance.below(4);
    let mut spec = json!({"replicas": replicas, "sandboxTemplateRef": {"name": template}});
    match world.chance.below(10) {
        0..2 => spec["updateStrategy"] = json!({"type": "Recreate"}),
        2 => spec["updateStrategy"] = json!({"type": "Recreate", "maxSurge": 1}),
        3 => spec["updateStrategy"] = json!({"type": "Recreate", "maxSurge": "50%", "maxUnavailable": 0}),
        4 => spec["updateStrategy"] = json!({"type": "Recreate", "maxUnavailable": 1}),
        5 => (spec["minSize"], spec["maxSize"]) = (json!(replicas.min(2)), json!(4)),
        _ => {}
    }
    create(world, Kind::SandboxWarmPool, name, spec);
}

fn pool_again(world: &mut World) {
    let (name, template) = world.chance.pick(&POOLS);
    pool(world, name, template);
}

/// More claims than the pool has members.
fn rush(world: &mut World) {
    for claim in CLAIMS {
        if world.chance.one_in(2) {
            create(world, Kind::SandboxClaim, claim, json!({"warmPoolRef": {"name": "warm"}}));
        }
    }
}

fn claim(world: &mut World) {
    let (claim, (wanted, _)) = (world.chance.pick(&CLAIMS), world.chance.pick(&POOLS));
    let mut spec = json!({"warmPoolRef": {"name": wanted}});
    match world.chance.below(12) {
        // Only a fresh Sandbox will do.
        0 => spec["env"] = json!([{"name": "TOKEN", "value": "x"}]),
        1 => spec["lostSandboxPolicy"] = json!("Replace"),
        2 => {
            let seconds = i64::try_from(world.chance.below(30)).expect("a small number");
            let end = world.now().saturating_add(jiff::SignedDuration::from_secs(seconds)).expect("soon");
            let policy = world.chance.pick(&["Retain", "Delete", "DeleteForeground"]);
            spec["lifecycle"] = json!({"shutdownTime": format!("{end:.0}"), "shutdownPolicy": policy});
        }
        3 => spec["warmPoolRef"]["name"] = json!(asb_types::names::shadow_pool("python")),
        4 => return claim_fresh(world, claim),
        5 => spec["volumeClaimTemplates"] = json!([volume("data")]),
        _ => {}
    }
    create(world, Kind::SandboxClaim, claim, spec);
}

/// As a v1alpha1 claim is stored that wants nothing of any pool.
fn claim_fresh(world: &mut World, claim: &str) {
    let state = json!({"spec": {"warmpool": "none", "sandboxTemplateRef": {"name": "python"}}}).to_string();
    let annotations = json!({asb_types::annotations::v1alpha1_state::CLAIM: state});
    let spec = json!({"warmPoolRef": {"name": asb_types::names::shadow_pool("python")}});
    create_with(world, Kind::SandboxClaim, claim, &json!({"annotations": annotations}), spec);
}

fn resize(world: &mut World) {
    let (pool, _) = world.chance.pick(&POOLS);
    let replicas = world.chance.below(5);
    let is_elastic =
        world.store.get(Kind::SandboxWarmPool, pool).is_some_and(|pool| !pool["spec"]["maxSize"].is_null());
    let field = if is_elastic { "minSize" } else { "replicas" };
    edit(world, Kind::SandboxWarmPool, pool, &json!({"spec": {field: replicas.min(4)}}));
}

fn edit_template(world: &mut World) {
    let template = world.chance.pick(&TEMPLATES);
    let image = world.chance.pick(&["demo:1", "demo:2", "demo:3"]);
    let spec = json!({"containers": [{"name": "main", "image": image}]});
    edit(world, Kind::SandboxTemplate, template, &json!({"spec": {"podTemplate": {"spec": spec}}}));
}

fn edit_claim(world: &mut World) {
    let claim = world.chance.pick(&CLAIMS);
    let purpose = world.chance.pick(&["work", "play"]);
    let labels = json!({"labels": {"sandbox.users.io/purpose": purpose}});
    edit(world, Kind::SandboxClaim, claim, &json!({"spec": {"additionalPodMetadata": labels}}));
}

/// Suspends or resumes a Sandbox, most often somebody's.
fn switch(world: &mut World) {
    let is_claimed = |sandbox: &Value| controller_of(sandbox, Kind::SandboxClaim).is_some();
    let pooled_too = world.chance.one_in(4);
    let all = world.store.list(Kind::Sandbox).filter(|sandbox| pooled_too || is_claimed(sandbox));
    let names: Vec<_> = all.map(|sandbox| name(sandbox).to_owned()).collect();
    let mode = world.chance.pick(&["Running", "Suspended"]);
    if let Some(name) = choose(world, &names) {
        edit(world, Kind::Sandbox, &name, &json!({"spec": {"operatingMode": mode}}));
    }
}

pub(crate) fn create(world: &mut World, kind: Kind, name: &str, spec: Value) {
    create_with(world, kind, name, &json!({}), spec);
}

fn create_with(world: &mut World, kind: Kind, name: &str, metadata: &Value, spec: Value) {
    let mut object =
        json!({"apiVersion": kind.api_version(), "kind": kind.name(), "metadata": {"name": name}});
    merge(&mut object, &json!({"metadata": metadata, "spec": spec}));
    let now = world.now();
    if let Ok(change) = world.store.create(kind, object, now) {
        world.took(Actor::User, "creates", &change);
    }
}

pub(crate) fn edit(world: &mut World, kind: Kind, name: &str, patch: &Value) {
    if let Ok(change) = world.store.patch(kind, name, false, patch) {
        world.took(Actor::User, &format!("edits {patch} in"), &change);
    }
}

fn delete(world: &mut World, kind: Kind) {
    let live = world.store.list(kind).filter(|object| !is_deleting(object));
    let names: Vec<_> = live.map(|object| name(object).to_owned()).collect();
    let how = Deletion { is_foreground: kind != Kind::Pod && world.chance.one_in(4), ..Deletion::default() };
    let Some(name) = choose(world, &names) else { return };
    let now = world.now();
    if let Ok(change) = world.store.delete(kind, &name, &how, now) {
        world.took(
            Actor::User,
            if how.is_foreground { "deletes in the foreground" } else { "deletes" },
            &change,
        );
    }
}

pub(crate) fn choose(world: &mut World, names: &[String]) -> Option<String> {
    let count = u64::try_from(names.len()).ok().filter(|count| *count > 0)?;
    let place = usize::try_from(world.chance.below(count)).ok()?;
    names.get(place).cloned()
}
