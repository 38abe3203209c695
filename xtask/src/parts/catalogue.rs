//! Which Go programs there are: the pinned module of each, its package, and how it is built.

use super::edit::Edit;

/// A folder of `xtask/parts` and how its programs are built.
pub(super) struct Module {
    pub(super) name: &'static str,
    /// The module whose pinned version is the part's version.
    pub(super) path: &'static str,
    pub(super) tags: &'static str,
    /// `VERSION`, `MAJOR` and `MINOR` stand for the pinned version's.
    pub(super) stamps: &'static [&'static str],
    pub(super) edit: Option<Edit>,
    pub(super) programs: &'static [Program],
}

pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) package: &'static str,
    /// What `go build` calls it.
    pub(super) built_as: &'static str,
}

const fn plain(name: &'static str, package: &'static str) -> Program {
    Program { name, package, built_as: name }
}

pub(super) const MODULES: &[Module] = &[
    Module {
        name: "kubernetes",
        path: "k8s.io/kubernetes",
        tags: "",
        stamps: &[
            "k8s.io/component-base/version.gitVersion=VERSION",
            "k8s.io/component-base/version.gitMajor=MAJOR",
            "k8s.io/component-base/version.gitMinor=MINOR",
        ],
        edit: None,
        programs: &[
            plain("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
            plain("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
            plain("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy"),
            plain("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
            plain("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
            plain("kubelet", "k8s.io/kubernetes/cmd/kubelet"),
        ],
    },
    Module {
        name: "etcd",
        path: "go.etcd.io/etcd/server/v3",
        tags: "",
        stamps: &[],
        edit: None,
        programs: &[Program { name: "etcd", package: "go.etcd.io/etcd/server/v3", built_as: "server" }],
    },
    Module {
        name: "agent-sandbox",
        path: "sigs.k8s.io/agent-sandbox",
        tags: "",
        stamps: &[],
        edit: None,
        programs: &[plain(
            "agent-sandbox-controller",
            "sigs.k8s.io/agent-sandbox/cmd/agent-sandbox-controller",
        )],
    },
    Module {
        name: "containerd",
        path: "github.com/containerd/containerd/v2",
        tags: "no_btrfs,no_zfs,no_devmapper",
        stamps: &["github.com/containerd/containerd/v2/version.Version=VERSION"],
        edit: None,
        programs: &[
            plain("containerd", "github.com/containerd/containerd/v2/cmd/containerd"),
            plain(
                "containerd-shim-runc-v2",
                "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
            ),
            plain("ctr", "github.com/containerd/containerd/v2/cmd/ctr"),
        ],
    },
    Module {
        name: "coredns",
        path: "github.com/coredns/coredns",
        tags: "",
        stamps: &[],
        edit: None,
        programs: &[plain("coredns", "github.com/coredns/coredns")],
    },
    Module {
        name: "helm",
        path: "helm.sh/helm/v4",
        tags: "",
        stamps: &["helm.sh/helm/v4/internal/version.version=VERSION"],
        edit: None,
        programs: &[plain("helm", "helm.sh/helm/v4/cmd/helm")],
    },
    Module {
        name: "gvisor",
        path: "gvisor.dev/gvisor",
        tags: "",
        stamps: &[],
        // The shim insists on protecting itself from the kernel's memory killer, which needs CAP_SYS_RESOURCE.
        edit: Some(Edit {
            file: "gvisor.dev/gvisor/pkg/shim/v1/manager.go",
            from: "oomScoreMax = -999",
            to: "oomScoreMax = 0",
        }),
        programs: &[
            plain("runsc", "gvisor.dev/gvisor/runsc"),
            Program { name: "containerd-shim-runsc-v1", package: "gvisor.dev/gvisor/shim", built_as: "shim" },
        ],
    },
];

impl Module {
    pub(super) fn makes(&self, name: &str) -> bool {
        self.programs.iter().any(|program| program.name == name)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_program_is_a_tool_of_its_module() {
        for module in MODULES {
            let pin = fs::read_to_string(module.source().join("go.mod")).unwrap();
            for program in module.programs {
                let named =
                    pin.lines().any(|line| line.trim().trim_start_matches("tool ") == program.package);
                assert!(named, "{} is no tool of {}", program.package, module.name);
            }
        }
    }
}
