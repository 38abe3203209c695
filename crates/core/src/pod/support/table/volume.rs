//! Volumes.

use super::super::kind::{holding, honoured, kind, only, refused};
use super::super::{Allowance, Field, Kind, Verdict};

const CLOUD: &str = "disks of a cloud are not attached by this node; use a PersistentVolumeClaim";
const NETWORK: &str = "network file systems are not mounted by this node; use a PersistentVolumeClaim";
const RETIRED: &str = "Kubernetes itself has retired it; use a PersistentVolumeClaim";

/// The one image that is a volume.
const RUNTIME: &str = "asb.local/sandboxd";

pub(super) const KINDS: &[Kind] = &[
    kind(
        "Volume",
        &[
            refused("awsElasticBlockStore", CLOUD),
            refused("azureDisk", CLOUD),
            refused("azureFile", NETWORK),
            refused("cephfs", NETWORK),
            refused("cinder", CLOUD),
            holding("configMap", "ConfigMapVolumeSource", "files that follow the ConfigMap"),
            refused("csi", "this node has no storage drivers; use a PersistentVolumeClaim"),
            holding("downwardAPI", "DownwardAPIVolumeSource", "files that follow the Pod"),
            holding("emptyDir", "EmptyDirVolumeSource", "as long as the Pod lives"),
            holding("ephemeral", "EphemeralVolumeSource", "a claim that goes with the Pod"),
            refused("fc", NETWORK),
            refused("flexVolume", "this node has no storage drivers; use a PersistentVolumeClaim"),
            refused("flocker", RETIRED),
            refused("gcePersistentDisk", CLOUD),
            refused("gitRepo", "Kubernetes itself has retired it; clone in an init container"),
            refused("glusterfs", RETIRED),
            Field {
                name: "hostPath",
                verdict: Verdict::Allow { freely: &[], allowance: Allowance::HostPath, refused: &[] },
                holds: Some("HostPathVolumeSource"),
                note: "it shows files of the host",
            },
            holding("image", "ImageVolumeSource", "the runtime that this program carries for Sandboxes"),
            refused("iscsi", NETWORK),
            honoured("name", "for volumeMounts"),
            refused("nfs", NETWORK),
            holding("persistentVolumeClaim", "PersistentVolumeClaimVolumeSource", "outlives the Pod"),
            refused("photonPersistentDisk", RETIRED),
            refused("portworxVolume", NETWORK),
            holding("projected", "ProjectedVolumeSource", "several sources in one directory"),
            refused("quobyte", RETIRED),
            refused("rbd", NETWORK),
            refused("scaleIO", RETIRED),
            holding(
                "secret",
                "SecretVolumeSource",
                "files that follow the Secret, in a directory that only root of this machine may enter",
            ),
            refused("storageos", RETIRED),
            refused("vsphereVolume", CLOUD),
        ],
    ),
    kind(
        "ImageVolumeSource",
        &[
            honoured("pullPolicy", "it is always here"),
            only("reference", &[RUNTIME], "no other image is mounted as a volume"),
        ],
    ),
    kind("ConfigMapVolumeSource", &[DEFAULT_MODE, ITEMS, NAME, OPTIONAL]),
    kind(
        "SecretVolumeSource",
        &[DEFAULT_MODE, ITEMS, OPTIONAL, honoured("secretName", "read in the Pod's namespace")],
    ),
    kind(
        "KeyToPath",
        &[
            honoured("key", "which value"),
            honoured("mode", "of the file"),
            honoured("path", "of the file, never outside of the volume"),
        ],
    ),
    kind(
        "DownwardAPIVolumeSource",
        &[DEFAULT_MODE, holding("items", "DownwardAPIVolumeFile", "one file each")],
    ),
    kind(
        "DownwardAPIVolumeFile",
        &[
            holding("fieldRef", "ObjectFieldSelector", "a field of the Pod"),
            honoured("mode", "of the file"),
            honoured("path", "of the file, never outside of the volume"),
            holding("resourceFieldRef", "ResourceFieldSelector", "a limit or request of a container"),
        ],
    ),
    kind(
        "EmptyDirVolumeSource",
        &[
            only("medium", &["Memory"], "this node offers no huge pages"),
            honoured("sizeLimit", "a Pod that exceeds it is evicted; in memory it cannot be exceeded"),
        ],
    ),
    kind(
        "HostPathVolumeSource",
        &[
            honoured("path", "on the host"),
            only(
                "type",
                &["DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket"],
                "devices of the host are not given to containers",
            ),
        ],
    ),
    kind(
        "PersistentVolumeClaimVolumeSource",
        &[honoured("claimName", "in the Pod's namespace"), honoured("readOnly", "cannot be written")],
    ),
    kind("ProjectedVolumeSource", &[DEFAULT_MODE, holding("sources", "VolumeProjection", "merged in order")]),
    kind(
        "VolumeProjection",
        &[
            refused("clusterTrustBundle", "certificates of signers are not projected by this node"),
            holding("configMap", "ConfigMapProjection", "values of a ConfigMap"),
            holding("downwardAPI", "DownwardAPIProjection", "fields of the Pod"),
            refused("podCertificate", "certificates are not issued to Pods by this node"),
            holding("secret", "SecretProjection", "values of a Secret"),
            holding(
                "serviceAccountToken",
                "ServiceAccountTokenProjection",
                "a token that is renewed in time",
            ),
        ],
    ),
    kind("ConfigMapProjection", &[ITEMS, NAME, OPTIONAL]),
    kind("SecretProjection", &[ITEMS, NAME, OPTIONAL]),
    kind("DownwardAPIProjection", &[holding("items", "DownwardAPIVolumeFile", "one file each")]),
    kind(
        "ServiceAccountTokenProjection",
        &[
            honoured("audience", "whom the token is for"),
            honoured("expirationSeconds", "how long it holds"),
            honoured("path", "of the file"),
        ],
    ),
];

const DEFAULT_MODE: Field = honoured("defaultMode", "of files that name none");
const ITEMS: Field = holding("items", "KeyToPath", "these keys alone, as these files");
const NAME: Field = honoured("name", "read in the Pod's namespace");
const OPTIONAL: Field = honoured("optional", "or the Pod waits for it");
