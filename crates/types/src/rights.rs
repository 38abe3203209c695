//! What the operator may do on a cluster, and why: the source of the roles under `deploy/`. Nothing is in here that it
//! does not ask for; the suite `rights` compares the two.

use crate::crd::WEBHOOK_NAMESPACE;
use crate::{EXTENSIONS_GROUP, GROUP};

/// The Lease that every implementation of this operator uses, so that two of them never act at once.
pub const LEASE: &str = "a3317529.agent-sandbox.x-k8s.io";
/// The Secret with the webhook's certificates.
pub const WEBHOOK_SECRET: &str = "agent-sandbox-webhook-certs";
/// The Secret with the key by which sandboxd knows the router.
pub const ROUTER_KEY_SECRET: &str = "sandbox-router-key";

/// What may be done to one resource, or to a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Right {
    pub group: &'static str,
    /// The plural, and the subresource after a slash.
    pub resource: &'static str,
    pub verbs: &'static [&'static str],
    /// Only to objects of these names; to all where there are none.
    pub names: &'static [&'static str],
    pub why: &'static str,
}

/// A role as it is bound to the operator's account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    pub kind: &'static str,
    pub name: &'static str,
    /// Whose it is.
    pub app: &'static str,
    pub rights: &'static [Right],
}

/// The account, the Deployment and its container, and the roles of whoever looks after Sandboxes.
pub const CONTROLLER: &str = "agent-sandbox-controller";

/// To look after Sandboxes.
pub const SANDBOXES: Role = Role {
    kind: "ClusterRole",
    name: CONTROLLER,
    app: CONTROLLER,
    rights: &[
        right(GROUP, "sandboxes", &["delete", "get", "list", "patch", "watch"], "what it looks after"),
        right(GROUP, "sandboxes/status", &["patch"], "tells how they are"),
        right(GROUP, "sandboxes/finalizers", &["update"], OWNERS),
        right("", "pods", &["create", "delete", "get", "list", "patch", "watch"], "runs Sandboxes"),
        right(
            "",
            "services",
            &["create", "delete", "get", "list", "patch", "watch"],
            "makes Sandboxes reachable",
        ),
        right(
            "",
            "persistentvolumeclaims",
            &["create", "get", "list", "patch", "watch"],
            "makes and adopts their volumes",
        ),
        right("", "persistentvolumeclaims", &["delete"], ADOPTS),
        right("", "nodes", &["get"], "learns whether the node of a Pod that does not end is gone"),
        right("events.k8s.io", "events", &["create"], "tells what happened"),
        Right {
            group: "apiextensions.k8s.io",
            resource: "customresourcedefinitions",
            verbs: &["list", "patch", "watch"],
            names: &[
                "sandboxclaims.extensions.agents.x-k8s.io",
                "sandboxes.agents.x-k8s.io",
                "sandboxtemplates.extensions.agents.x-k8s.io",
                "sandboxwarmpools.extensions.agents.x-k8s.io",
            ],
            why: "tells the API server where to convert, and whom to trust there",
        },
    ],
};

/// To look after claims, templates and pools, too.
pub const EXTENSIONS: Role = Role {
    kind: "ClusterRole",
    name: "agent-sandbox-controller-extensions",
    app: CONTROLLER,
    rights: &[
        right(GROUP, "sandboxes", &["create"], "fills pools and serves claims"),
        right(
            EXTENSIONS_GROUP,
            "sandboxclaims",
            &["delete", "get", "list", "patch", "watch"],
            "what it looks after",
        ),
        right(EXTENSIONS_GROUP, "sandboxclaims/status", &["patch"], "tells how they are"),
        right(EXTENSIONS_GROUP, "sandboxclaims/finalizers", &["update"], OWNERS),
        right(
            EXTENSIONS_GROUP,
            "sandboxtemplates",
            &["get", "list", "patch", "watch"],
            "what Sandboxes are made from; labels them",
        ),
        right(EXTENSIONS_GROUP, "sandboxtemplates/status", &["patch"], "tells how they are"),
        right(EXTENSIONS_GROUP, "sandboxtemplates/finalizers", &["update"], OWNERS),
        right(EXTENSIONS_GROUP, "sandboxwarmpools", &["get", "list", "watch"], "what it fills"),
        right(EXTENSIONS_GROUP, "sandboxwarmpools/status", &["patch"], "tells how they are"),
        right(EXTENSIONS_GROUP, "sandboxwarmpools/finalizers", &["update"], OWNERS),
        right(
            "networking.k8s.io",
            "networkpolicies",
            &["create", "delete", "get", "list", "patch", "watch"],
            "keeps the Pods of a template apart",
        ),
    ],
};

/// To look after claims, templates and pools in their short spellings, where those are installed.
pub const DOCUMENTS: Role = Role {
    kind: "ClusterRole",
    name: "agent-sandbox-controller-documents",
    app: CONTROLLER,
    rights: &[
        right(GROUP, "sandboxclaims", SPELLED, "what stands for claims; goes with what it stands for"),
        right(GROUP, "sandboxclaims/status", &["patch"], "tells how they are"),
        right(GROUP, "sandboxclaims/finalizers", &["update"], OWNERS),
        right(GROUP, "sandboxtemplates", SPELLED, "what stands for templates; goes with what it stands for"),
        right(GROUP, "sandboxtemplates/status", &["patch"], "tells how they are"),
        right(GROUP, "sandboxtemplates/finalizers", &["update"], OWNERS),
        right(GROUP, "sandboxwarmpools", SPELLED, "what stands for pools; goes with what it stands for"),
        right(GROUP, "sandboxwarmpools/status", &["patch"], "tells how they are"),
        right(GROUP, "sandboxwarmpools/finalizers", &["update"], OWNERS),
        right(EXTENSIONS_GROUP, "sandboxclaims", &["create"], MADE),
        right(
            EXTENSIONS_GROUP,
            "sandboxtemplates",
            &["create", "delete"],
            "what they stand for, and what a pool brings along until it names another",
        ),
        right(EXTENSIONS_GROUP, "sandboxwarmpools", &["create", "patch"], MADE),
    ],
};

/// What it may do in its own namespace alone.
pub const OWN_NAMESPACE: Role = Role {
    kind: "Role",
    name: CONTROLLER,
    app: CONTROLLER,
    rights: &[
        right("coordination.k8s.io", "leases", &["create"], LEADS),
        Right { names: &[LEASE], ..right("coordination.k8s.io", "leases", &["get", "update"], LEADS) },
        right("", "secrets", &["create"], "keeps the certificates of the webhook, and the key of the router"),
        Right {
            names: &[WEBHOOK_SECRET],
            ..right("", "secrets", &["list", "patch", "watch"], "follows and renews them")
        },
        Right {
            names: &[ROUTER_KEY_SECRET],
            ..right("", "secrets", &["get"], "tells sandboxd its public half; no other Secret is read")
        },
    ],
};

/// What carries requests into Sandboxes, and its account, Deployment and roles.
pub const ROUTER: &str = "sandbox-router";

/// To find Sandboxes, and to learn who may reach them.
pub const ROUTES: Role = Role {
    kind: "ClusterRole",
    name: ROUTER,
    app: ROUTER,
    rights: &[
        right(GROUP, "sandboxes", &["list", "watch"], "where Sandboxes are"),
        right("authentication.k8s.io", "tokenreviews", &["create"], "whose a token is"),
        right("authorization.k8s.io", "subjectaccessreviews", &["create"], "what they may reach"),
    ],
};

/// What the router may do in its own namespace alone.
pub const TUNNELS: Role = Role {
    kind: "Role",
    name: ROUTER,
    app: ROUTER,
    rights: &[right(
        "",
        "pods",
        &["get"],
        "sees that it is alone in its Pod, before it trusts forwarded ports",
    )],
};

/// Those of the operator.
pub const ROLES: [Role; 4] = [SANDBOXES, EXTENSIONS, DOCUMENTS, OWN_NAMESPACE];

const SPELLED: &[&str] = &["delete", "get", "list", "watch"];
const MADE: &str = "what they stand for";

const LEADS: &str = "agrees with other replicas which one acts";
// The operator never asks for these two. API servers with the admission plugin OwnerReferencesPermissionEnforcement, such as
// OpenShift's, want them of whoever names owners.
const OWNERS: &str = "names them as owners that wait for what they own";
const ADOPTS: &str = "names an owner of volumes that it adopts; it deletes none itself";

const fn right(
    group: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
    why: &'static str,
) -> Right {
    Right { group, resource, verbs, names: &[], why }
}

impl Role {
    /// As a manifest, with the reasons as comments.
    pub fn manifest(&self) -> String {
        let namespace = match self.kind {
            "Role" => format!("  namespace: {WEBHOOK_NAMESPACE}\n"),
            _ => String::new(),
        };
        let rules: String = self.rights.iter().map(Right::rule).collect();
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: {}\nmetadata:\n  name: {}\n{namespace}  labels:\n    \
             app: {}\nrules:\n{rules}",
            self.kind, self.name, self.app
        )
    }
}

impl Right {
    fn rule(&self) -> String {
        let names = match self.names {
            [] => String::new(),
            names => format!("  resourceNames: {names:?}\n"),
        };
        format!(
            "# {}\n- apiGroups: [{:?}]\n  resources: [{:?}]\n{names}  verbs: {:?}\n",
            self.why, self.group, self.resource, self.verbs
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_role_is_written_with_its_reasons() {
        insta::assert_snapshot!(OWN_NAMESPACE.manifest());
    }

    #[test]
    fn the_definitions_that_may_be_changed_are_ours() {
        let ours: BTreeSet<_> = crate::crd::DOCUMENTS.iter().map(|(name, _)| *name).collect();
        let named = SANDBOXES.rights.iter().flat_map(|right| right.names).copied().collect();
        assert_eq!(ours, named);
    }

    #[test]
    fn nothing_is_granted_twice() {
        let all = ROLES.iter().flat_map(|role| role.rights);
        let mut seen = BTreeSet::new();
        for right in all {
            for verb in right.verbs {
                assert!(seen.insert((right.group, right.resource, *verb)), "{verb} {}", right.resource);
            }
        }
    }
}
