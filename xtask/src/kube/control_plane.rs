//! The command lines of etcd, the API server, the controllers and the scheduler.

use anyhow::Result;

use super::component::Component;
use super::description::{Description, Home};

pub(crate) const PROGRAMS: [&str; 5] =
    ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"];

/// What the API server needs before it can be ready, and the API server.
pub(crate) fn foundation(cluster: &Description) -> Result<[Component; 2]> {
    Ok([etcd(cluster)?, apiserver(cluster)?])
}

/// What needs a ready API server.
pub(crate) fn controllers(cluster: &Description) -> Result<[Component; 2]> {
    Ok([controller_manager(cluster)?, scheduler(cluster)?])
}

/// On Unix sockets in the cluster's directory: no port, and no way in for other users.
fn etcd(cluster: &Description) -> Result<Component> {
    let mut options = vec![
        format!("data-dir={}", cluster.file("etcd")),
        format!("listen-client-urls=unix://{}", cluster.file("etcd.sock")),
        format!("listen-peer-urls=unix://{}", cluster.file("etcd-peer.sock")),
        // Required, and of no use to a cluster of one.
        "advertise-client-urls=http://localhost:2379".into(),
        "log-level=warn".into(),
    ];
    if !cluster.durable {
        options.push("unsafe-no-fsync".into());
    }
    Component::new(cluster, "etcd", &options)
}

fn apiserver(cluster: &Description) -> Result<Component> {
    let mut options = vec![
        format!("etcd-servers=unix://{}", cluster.file("etcd.sock")),
        format!("advertise-address={}", cluster.home.address()),
        format!("secure-port={}", cluster.home.port()),
        format!("service-cluster-ip-range={}", cluster.home.service_range()),
        format!("client-ca-file={}", cluster.file("ca.crt")),
        format!("tls-cert-file={}", cluster.file("apiserver.crt")),
        format!("tls-private-key-file={}", cluster.file("apiserver.key")),
        "service-account-issuer=https://kubernetes.default.svc.cluster.local".into(),
        format!("service-account-signing-key-file={}", cluster.file("service-accounts.key")),
        format!("service-account-key-file={}", cluster.file("service-accounts.pub")),
        "authorization-mode=Node,RBAC".into(),
        // The second is off by default and on in OpenShift: it wants rights that nothing else asks for.
        "enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement".into(),
        "allow-privileged=true".into(),
        "profiling=false".into(),
    ];
    options.extend(match cluster.home {
        // A Service must not point to a loopback address, so `kubernetes.default` stays without endpoints.
        Home::Loopback { .. } => {
            vec!["bind-address=127.0.0.1".into(), "endpoint-reconciler-type=none".into()]
        }
        Home::Node { .. } => towards_kubelet(cluster),
    });
    Component::new(cluster, "kube-apiserver", &options)
}

fn towards_kubelet(cluster: &Description) -> Vec<String> {
    vec![
        format!("kubelet-certificate-authority={}", cluster.file("ca.crt")),
        format!("kubelet-client-certificate={}", cluster.file("apiserver-to-kubelet.crt")),
        format!("kubelet-client-key={}", cluster.file("apiserver-to-kubelet.key")),
        "kubelet-preferred-address-types=InternalIP".into(),
    ]
}

fn controller_manager(cluster: &Description) -> Result<Component> {
    let options = [
        format!("kubeconfig={}", cluster.file("kube-controller-manager.kubeconfig")),
        format!("root-ca-file={}", cluster.file("ca.crt")),
        format!("service-account-private-key-file={}", cluster.file("service-accounts.key")),
        format!("cluster-signing-cert-file={}", cluster.file("ca.crt")),
        format!("cluster-signing-key-file={}", cluster.file("ca.key")),
        format!("flex-volume-plugin-dir={}", cluster.file("volume-plugins")),
        "use-service-account-credentials=true".into(),
        "enable-hostpath-provisioner=true".into(),
        // Each controller asks for an account and a token of its own; the default of 20 per second makes that 4 s.
        "kube-api-qps=300".into(),
        "kube-api-burst=600".into(),
        "leader-elect=false".into(),
        "secure-port=0".into(),
    ];
    let component = Component::new(cluster, "kube-controller-manager", &options)?;
    Ok(if cluster.has_node() { component } else { with_own_tmp(cluster, component) })
}

/// The provisioner of volumes writes to `/tmp/hostpath_pv` and takes no other advice, so `/tmp` becomes a directory of
/// the cluster's. The program is opened first because it may itself lie under `/tmp`.
fn with_own_tmp(cluster: &Description, component: Component) -> Component {
    let script = "exec 3<\"$1\" && shift && mount --bind \"$0\" /tmp && exec /proc/self/fd/3 \"$@\"";
    let mut arguments: Vec<String> =
        ["--map-root-user", "--mount", "sh", "-c", script].map(str::to_owned).to_vec();
    arguments.push(cluster.file("tmp"));
    arguments.push(component.program.display().to_string());
    arguments.extend(component.arguments);
    Component { program: "unshare".into(), arguments, ..component }
}

fn scheduler(cluster: &Description) -> Result<Component> {
    let options = [
        format!("kubeconfig={}", cluster.file("kube-scheduler.kubeconfig")),
        "leader-elect=false".into(),
        "secure-port=0".into(),
    ];
    Component::new(cluster, "kube-scheduler", &options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(home: Home, durable: bool) -> Description {
        let programs = PROGRAMS.iter().map(|name| ((*name).to_owned(), name.into())).collect();
        Description { name: "main".into(), directory: "/c".into(), home, durable, programs, debian: None }
    }

    fn arguments(component: Result<Component>) -> Vec<String> {
        component.unwrap().arguments
    }

    #[test]
    fn only_a_durable_cluster_waits_for_the_disk() {
        let home = Home::Loopback { port: 20_000 };
        assert!(arguments(etcd(&cluster(home, false))).contains(&"--unsafe-no-fsync".into()));
        assert!(!arguments(etcd(&cluster(home, true))).contains(&"--unsafe-no-fsync".into()));
    }

    #[test]
    fn a_control_plane_alone_is_reachable_from_this_machine_only() {
        let arguments = arguments(apiserver(&cluster(Home::Loopback { port: 20_000 }, false)));
        assert!(arguments.contains(&"--bind-address=127.0.0.1".into()));
        assert!(arguments.contains(&"--secure-port=20000".into()));
    }

    #[test]
    fn the_api_server_of_a_node_proves_itself_to_the_kubelet() {
        let arguments = arguments(apiserver(&cluster(Home::Node { slot: 1 }, false)));
        assert!(arguments.contains(&"--advertise-address=10.213.1.2".into()));
        assert!(arguments.iter().any(|argument| argument.starts_with("--kubelet-client-certificate=")));
    }
}
