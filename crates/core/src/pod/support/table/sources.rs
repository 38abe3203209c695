//! Where the values of variables and of files come from.

use super::super::Kind;
use super::super::kind::{holding, honoured, kind, only, refused};

pub(super) const KINDS: &[Kind] = &[
    kind(
        "EnvVar",
        &[
            honoured("name", "of the variable"),
            honoured("value", "with $(NAME) expanded"),
            holding("valueFrom", "EnvVarSource", "read when the container starts"),
        ],
    ),
    kind(
        "EnvVarSource",
        &[
            holding("configMapKeyRef", "ConfigMapKeySelector", "a value of a ConfigMap"),
            holding("fieldRef", "ObjectFieldSelector", "a field of the Pod"),
            refused("fileKeyRef", "variables are not read from files of volumes"),
            holding("resourceFieldRef", "ResourceFieldSelector", "a limit or request of a container"),
            holding("secretKeyRef", "SecretKeySelector", "a value of a Secret"),
        ],
    ),
    kind(
        "EnvFromSource",
        &[
            holding("configMapRef", "ConfigMapEnvSource", "all keys of a ConfigMap"),
            honoured("prefix", "before each name"),
            holding("secretRef", "SecretEnvSource", "all keys of a Secret"),
        ],
    ),
    kind("ConfigMapEnvSource", &[NAME, OPTIONAL]),
    kind("SecretEnvSource", &[NAME, OPTIONAL]),
    kind("ConfigMapKeySelector", &[KEY, NAME, OPTIONAL]),
    kind("SecretKeySelector", &[KEY, NAME, OPTIONAL]),
    kind(
        "ObjectFieldSelector",
        &[
            only("apiVersion", &["v1"], "Pods have one version"),
            honoured("fieldPath", "name, namespace, uid, labels, annotations, node, account and addresses"),
        ],
    ),
    kind(
        "ResourceFieldSelector",
        &[
            honoured("containerName", "which container; its own in variables"),
            honoured("divisor", "the unit, rounded up"),
            honoured("resource", "limits or requests of cpu, memory or ephemeral-storage"),
        ],
    ),
];

const KEY: super::super::Field = honoured("key", "which value");
const NAME: super::super::Field = honoured("name", "read in the Pod's namespace");
const OPTIONAL: super::super::Field = honoured("optional", "or the container waits for it");
