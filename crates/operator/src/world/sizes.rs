//! How much the world holds. Every part is named, so that none is forgotten.

use super::World;

impl World {
    /// By what it is. Nothing but zeros where there are no objects.
    pub(crate) fn sizes(&self) -> Vec<(&'static str, usize)> {
        let Self {
            sandboxes,
            claims,
            templates,
            pools,
            pods,
            services,
            volumes,
            network_policies,
            claims_of_pool,
            pools_of_template,
            sandboxes_of_hash,
            templates_of_hash,
            pools_of_hash,
            members_of_hash,
            book,
            starts,
            arrivals,
            mode_changes,
            census,
            memberships,
            now: _,
            documents,
            shorthands,
        } = self;
        vec![
            ("Sandboxes", sandboxes.size()),
            ("claims", claims.size()),
            ("templates", templates.size()),
            ("pools", pools.size()),
            ("Pods", pods.size()),
            ("Services", services.size()),
            ("volumes", volumes.size()),
            ("NetworkPolicies", network_policies.size()),
            ("claims of pools", claims_of_pool.size()),
            ("pools of templates", pools_of_template.size()),
            ("Sandboxes by hash", sandboxes_of_hash.size()),
            ("templates by hash", templates_of_hash.size()),
            ("pools by hash", pools_of_hash.size()),
            ("members by hash", members_of_hash.size()),
            ("book of warm Sandboxes", book.size()),
            ("starts of members", starts.size()),
            ("arrivals of claims", arrivals.size()),
            ("changes of mode", mode_changes.size()),
            ("sorts of Sandboxes", census.counts().len()),
            ("sorts of members", memberships.counts().len()),
            ("documents", documents.in_use()),
            ("short spellings", shorthands.size()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use asb_core::allocation::Asker;
    use asb_core::object::Metadata;
    use asb_core::views::{
        ClaimView, NetworkPolicyView, PodView, PoolView, Request, SandboxView, ServiceView, ShortClaim,
        ShortPool, ShortTemplate, ShorthandView, TemplateView, View, VolumeView,
    };
    use asb_core::write::Kind;
    use asb_types::hash::fnv1a_hex;
    use asb_types::{annotations, labels};
    use serde_json::{Value, json};

    use super::*;
    use crate::world::Held;

    fn object(kind: Kind, name: &str, version: u64, rest: Value) -> Value {
        let uid = format!("{}-{name}", kind.plural());
        let mut object = json!({"metadata": {"namespace": "team", "name": name, "uid": uid,
            "resourceVersion": version.to_string(), "generation": 1, "creationTimestamp": "1969-12-31T23:59:59Z"}});
        let metadata = rest["metadata"].as_object().cloned().unwrap_or_default();
        object["metadata"].as_object_mut().unwrap().extend(metadata);
        for part in ["spec", "status"] {
            object[part] = rest[part].clone();
        }
        object
    }

    fn owner(kind: Kind, name: &str) -> Value {
        json!([{"apiVersion": kind.api_version(), "kind": kind.name(), "name": name, "controller": true,
            "uid": format!("{}-{name}", kind.plural())}])
    }

    /// The watch reports it.
    fn seen<V: Held>(world: &mut World, object: &Value) {
        let entry = world.entry::<V>(object).unwrap();
        world.take::<V>(|cache| cache.watched(entry).into_iter().collect());
    }

    fn gone<V: Held>(world: &mut World, name: &str) {
        let metadata = Metadata::read(&object(<V as View>::KIND, name, 9, json!({}))).unwrap();
        world.take::<V>(|cache| cache.watched_deletion(&metadata).into_iter().collect());
    }

    /// A member of a pool, starting or Ready.
    fn member(world: &mut World, name: &str, version: u64, is_ready: bool) {
        let status = if is_ready { "True" } else { "False" };
        let ready = json!({"type": "Ready", "status": status, "reason": "x", "message": "",
            "lastTransitionTime": "2027-01-01T00:00:00Z"});
        let hash = fnv1a_hex(name);
        let rest = json!({
            "metadata": {"ownerReferences": owner(Kind::SandboxWarmPool, name),
                "labels": {labels::WARM_POOL: hash, labels::TEMPLATE_REF_HASH: hash},
                "annotations": {annotations::TEMPLATE_REF: name}},
            "spec": {"podTemplate": {"spec": {"containers": []}}},
            "status": {"conditions": [ready], "podIPs": if is_ready { json!(["10.0.0.1"]) } else { json!([]) }},
        });
        seen::<SandboxView>(world, &object(Kind::Sandbox, name, version, rest));
    }

    /// One object of each kind, all of one name, and a claim that waits for the member.
    fn populate(world: &mut World, name: &str) {
        let pod = json!({"spec": {"podTemplate": {"spec": {"containers": [], "nodeName": name}}}});
        seen::<TemplateView>(world, &object(Kind::SandboxTemplate, name, 1, pod));
        let pool = json!({"spec": {"replicas": 1, "sandboxTemplateRef": {"name": name}}});
        seen::<PoolView>(world, &object(Kind::SandboxWarmPool, name, 1, pool));
        member(world, name, 1, false);
        let of_sandbox = json!({"metadata": {"ownerReferences": owner(Kind::Sandbox, name)}});
        seen::<PodView>(world, &object(Kind::Pod, name, 1, of_sandbox.clone()));
        seen::<ServiceView>(world, &object(Kind::Service, name, 1, of_sandbox.clone()));
        seen::<VolumeView>(world, &object(Kind::PersistentVolumeClaim, name, 1, of_sandbox));
        let of_template = json!({"metadata": {"ownerReferences": owner(Kind::SandboxTemplate, name)}});
        seen::<NetworkPolicyView>(world, &object(Kind::NetworkPolicy, name, 1, of_template));
        let short = json!({"spec": {"template": name}});
        seen::<ShorthandView<ShortClaim>>(world, &object(Kind::ShorthandClaim, name, 1, short.clone()));
        seen::<ShorthandView<ShortPool>>(world, &object(Kind::ShorthandPool, name, 1, short));
        seen::<ShorthandView<ShortTemplate>>(
            world,
            &object(Kind::ShorthandTemplate, name, 1, json!({"spec": {}})),
        );
        let claim = json!({"spec": {"warmPoolRef": {"name": name}}});
        let claim = object(Kind::SandboxClaim, name, 1, claim);
        seen::<ClaimView>(world, &claim);
        let metadata = Metadata::read(&claim).unwrap();
        let _ = world.ask(&Asker { key: metadata.key, uid: metadata.uid }, &Request::Pool(name.to_owned()));
    }

    fn depopulate(world: &mut World, kind: Kind, name: &str) {
        match kind {
            Kind::Sandbox => {
                member(world, name, 5, true);
                gone::<SandboxView>(world, name);
            }
            Kind::SandboxClaim => gone::<ClaimView>(world, name),
            Kind::SandboxTemplate => gone::<TemplateView>(world, name),
            Kind::SandboxWarmPool => gone::<PoolView>(world, name),
            Kind::Pod => gone::<PodView>(world, name),
            Kind::Service => gone::<ServiceView>(world, name),
            Kind::PersistentVolumeClaim => gone::<VolumeView>(world, name),
            Kind::NetworkPolicy => gone::<NetworkPolicyView>(world, name),
            Kind::ShorthandClaim => gone::<ShorthandView<ShortClaim>>(world, name),
            Kind::ShorthandTemplate => gone::<ShorthandView<ShortTemplate>>(world, name),
            Kind::ShorthandPool => gone::<ShorthandView<ShortPool>>(world, name),
        }
    }

    #[test]
    fn nothing_is_kept_of_what_is_gone_in_whatever_order_it_goes() {
        let kinds: Vec<_> = Kind::ALL.into_iter().chain(Kind::SHORTHAND).collect();
        for first in 0..kinds.len() {
            let mut world = World::default();
            let names = ["a", "b", "c"];
            for name in names {
                populate(&mut world, name);
            }
            let empty: Vec<_> = world.sizes().into_iter().filter(|(_, size)| *size == 0).collect();
            assert_eq!(empty, [("starts of members", 0), ("changes of mode", 0)]);
            for kind in kinds.iter().cycle().skip(first).take(kinds.len()) {
                for name in names {
                    depopulate(&mut world, *kind, name);
                }
            }
            let kept: Vec<_> = world.sizes().into_iter().filter(|(_, size)| *size > 0).collect();
            assert_eq!(kept, [], "{} first", kinds[first].full_name());
        }
    }

    #[test]
    fn a_claim_that_was_made_anew_does_not_hold_what_the_one_before_it_held() {
        let mut world = World::default();
        populate(&mut world, "a");
        member(&mut world, "a", 3, true);
        let again = json!({"metadata": {"uid": "another"}, "spec": {"warmPoolRef": {"name": "a"}}});
        seen::<ClaimView>(&mut world, &object(Kind::SandboxClaim, "a", 4, again));
        assert_eq!(world.book.len(), 1, "the member is in nobody's hands: {:?}", world.book);
    }
}
