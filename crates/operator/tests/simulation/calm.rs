//! How everything must stand once nothing goes wrong any more: as the users last asked.

use asb_core::write::Kind;
use asb_types::conditions::{claim_ready, finished, sandbox_ready};
use serde_json::Value;

use crate::invariants::{has_expired, is_over};
use crate::object::{condition, controller_of, is_deleting, name, ready, uid};
use crate::world::World;

type Verdict = Result<(), String>;

pub(crate) fn check(world: &World) -> Verdict {
    let store = &world.store;
    ensure(world.under_way == 0, || "something is still being written".to_owned())?;
    ensure(world.agenda.is_empty(), || "the cluster is still busy".to_owned())?;
    if let Some((id, _)) = store.all().find(|(_, object)| is_deleting(object)) {
        return Err(format!("{} {} is still on its way out", id.0.name(), id.1));
    }
    store.list(Kind::Sandbox).try_for_each(|sandbox| sandbox_stands(world, sandbox))?;
    store.list(Kind::Pod).try_for_each(|pod| pod_stands(world, pod))?;
    store.list(Kind::SandboxClaim).try_for_each(|claim| claim_stands(world, claim))?;
    store.list(Kind::SandboxWarmPool).try_for_each(|pool| pool_stands(world, pool))?;
    store.list(Kind::SandboxTemplate).try_for_each(|template| template_stands(world, template))
}

fn ensure(holds: bool, complaint: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(complaint()) }
}

fn sandbox_stands(world: &World, sandbox: &Value) -> Verdict {
    let (pod, name) = (world.store.get(Kind::Pod, name(sandbox)), name(sandbox));
    let (is_ready, reason) = ready(sandbox);
    belongings_stand(world, sandbox)?;
    if is_over(&sandbox["spec"], world.now()) {
        let is_right = pod.is_none() && reason == sandbox_ready::EXPIRED;
        return ensure(is_right, || format!("Sandbox {name} has expired and says {reason}"));
    }
    if sandbox["spec"]["operatingMode"] == "Suspended" {
        let is_right = pod.is_none() && reason == sandbox_ready::SUSPENDED;
        return ensure(is_right, || format!("Sandbox {name} is suspended and says {reason}"));
    }
    let Some(pod) = pod else { return Err(format!("Sandbox {name} has no Pod")) };
    ensure(controller_of(pod, Kind::Sandbox) == Some(uid(sandbox)), || format!("Pod {name} is another's"))?;
    ensure(is_ready == ready(pod).0, || {
        format!("Sandbox {name} says {reason}, which is not how its Pod does")
    })?;
    let has_failed = pod["status"]["phase"] == "Failed";
    ensure(!has_failed || reason == finished::POD_FAILED, || {
        format!("Sandbox {name} says {reason} of a Pod that failed")
    })?;
    let addresses = |pod: &Value| {
        let ips = pod["status"]["podIPs"].as_array().into_iter().flatten();
        ips.map(|ip| ip["ip"].clone()).collect::<Vec<_>>()
    };
    let told = sandbox["status"]["podIPs"].as_array().cloned().unwrap_or_default();
    ensure(told == addresses(pod), || format!("Sandbox {name} says {told:?} of its Pod's addresses"))?;
    let observed = condition(sandbox, "Ready").map(|ready| &ready["observedGeneration"]);
    ensure(observed == Some(&sandbox["metadata"]["generation"]), || {
        format!("Sandbox {name} was not looked at again")
    })
}

/// The Service and the volumes of a Sandbox.
fn belongings_stand(world: &World, sandbox: &Value) -> Verdict {
    let (own, name, spec) = (uid(sandbox), name(sandbox), &sandbox["spec"]);
    let has_ended = is_over(spec, world.now());
    let service = world.store.get(Kind::Service, name).and_then(|found| controller_of(found, Kind::Sandbox));
    match spec["service"].as_bool() {
        Some(true) if !has_ended => {
            ensure(service == Some(own), || format!("Sandbox {name} has no Service"))?;
        }
        None if !has_ended => {}
        _ => ensure(service != Some(own), || format!("Sandbox {name} still has a Service"))?,
    }
    for template in spec["volumeClaimTemplates"].as_array().into_iter().flatten().filter(|_| !has_ended) {
        let volume = asb_types::names::volume_claim(self::name(template), name);
        let Some(found) = world.store.get(Kind::PersistentVolumeClaim, &volume) else {
            return Err(format!("Sandbox {name} has no volume {volume}"));
        };
        let goes_along = spec["volumeClaimRetentionPolicy"]["whenDeleted"] != "Retain";
        let owner = controller_of(found, Kind::Sandbox);
        ensure(owner == goes_along.then_some(own), || format!("volume {volume} is {owner:?}'s"))?;
    }
    Ok(())
}

fn pod_stands(world: &World, pod: &Value) -> Verdict {
    let owner = controller_of(pod, Kind::Sandbox).unwrap_or_default();
    ensure(world.exists(owner), || format!("Pod {} is nobody's", name(pod)))
}

fn claim_stands(world: &World, claim: &Value) -> Verdict {
    let ours =
        |sandbox: &&std::sync::Arc<Value>| controller_of(sandbox, Kind::SandboxClaim) == Some(uid(claim));
    let bound: Vec<_> = world.store.list(Kind::Sandbox).filter(ours).collect();
    let (is_ready, reason) = ready(claim);
    let told = claim["status"]["sandbox"]["name"].as_str().unwrap_or_default();
    let complain = |what: &str| Err(format!("claim {} says {reason} ({told:?}), {what}", name(claim)));
    if has_expired(claim, world.now()) {
        let is_right = bound.is_empty() && reason == claim_ready::EXPIRED;
        return if is_right { Ok(()) } else { complain("and has expired") };
    }
    match bound.as_slice() {
        [] if world.witness.told.contains(uid(claim)) && reason == claim_ready::SANDBOX_LOST => Ok(()),
        [] if world.witness.told.contains(uid(claim)) && claim["spec"]["lostSandboxPolicy"] != "Replace" => {
            complain("and its Sandbox is lost")
        }
        [] => match why_none(world, claim) {
            Some(why) if why == reason => Ok(()),
            why => complain(&format!("and has no Sandbox; expected {why:?}")),
        },
        [sandbox] => {
            // What the claim adds to the Pod's metadata cannot be checked without the template.
            let is_excused =
                !claim["spec"]["additionalPodMetadata"].is_null() && why_none(world, claim) == Some(reason);
            let is_copied = is_excused || (is_ready, reason) == ready(sandbox);
            let is_named =
                told == name(sandbox) && claim["status"]["sandbox"]["podIPs"] == sandbox["status"]["podIPs"];
            if is_copied && is_named {
                Ok(())
            } else {
                complain(&format!("and its Sandbox {:?}", ready(sandbox)))
            }
        }
        _ => complain("and has several Sandboxes"),
    }
}

/// Why a claim can have no Sandbox.
fn why_none(world: &World, claim: &Value) -> Option<&'static str> {
    let wanted = claim["spec"]["warmPoolRef"]["name"].as_str().unwrap_or_default();
    let template = match asb_types::names::shadowed_template(wanted) {
        Some(template) => template.to_owned(),
        None => match world.store.get(Kind::SandboxWarmPool, wanted) {
            Some(pool) => pool["spec"]["sandboxTemplateRef"]["name"].as_str().unwrap_or_default().to_owned(),
            None => return Some(claim_ready::WARM_POOL_NOT_FOUND),
        },
    };
    world.store.get(Kind::SandboxTemplate, &template).is_none().then_some(claim_ready::TEMPLATE_NOT_FOUND)
}

fn pool_stands(world: &World, pool: &Value) -> Verdict {
    let ours =
        |sandbox: &&std::sync::Arc<Value>| controller_of(sandbox, Kind::SandboxWarmPool) == Some(uid(pool));
    let members: Vec<_> = world.store.list(Kind::Sandbox).filter(ours).collect();
    let ready_members = members.iter().filter(|member| ready(member).0).count();
    // In a long calm nothing is demanded.
    let is_elastic = !pool["spec"]["maxSize"].is_null();
    let size = &pool["spec"][if is_elastic { "minSize" } else { "replicas" }];
    let wanted = size.as_u64().unwrap_or_default();
    let counts = [members.len(), ready_members].map(|count| u64::try_from(count).expect("a few"));
    let template = pool["spec"]["sandboxTemplateRef"]["name"].as_str().unwrap_or_default();
    let status = &pool["status"];
    let count = |field: &str| status[field].as_u64().unwrap_or_default();
    let name = name(pool);
    ensure(count("replicas") == counts[0] && count("readyReplicas") == counts[1], || {
        format!("pool {name} has {counts:?} members and Ready ones, and says {status}")
    })?;
    ensure(count("desiredReplicas") == wanted, || format!("pool {name} wants {wanted} and says {status}"))?;
    ensure(status["observedGeneration"] == pool["metadata"]["generation"], || {
        format!("pool {name} was not looked at again")
    })?;
    if world.store.get(Kind::SandboxTemplate, template).is_none() {
        return ensure(counts[0] <= wanted, || format!("pool {name} wants {wanted} and has {counts:?}"));
    }
    ensure(counts == [wanted, wanted], || format!("pool {name} wants {wanted} and has {counts:?}"))?;
    let image = |spec: &Value| spec["podTemplate"]["spec"]["containers"][0]["image"].clone();
    let latest = world.store.get(Kind::SandboxTemplate, template).map(|template| image(&template["spec"]));
    let is_stale = |member: &Value| Some(image(&member["spec"])) != latest;
    let renews = pool["spec"]["updateStrategy"]["type"] == "Recreate";
    ensure(!renews || !members.iter().any(|member| is_stale(member)), || {
        format!("pool {name} keeps what is stale")
    })
}

fn template_stands(world: &World, template: &Value) -> Verdict {
    let policy = asb_types::names::network_policy(name(template));
    let is_there = world.store.get(Kind::NetworkPolicy, &policy).is_some();
    ensure(is_there && ready(template).0, || {
        format!("template {} says {:?}", name(template), ready(template))
    })
}
