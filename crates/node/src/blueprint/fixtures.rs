//! Pods with one container, and what was looked up for them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Container, Pod, Secret, Service};
use serde_json::{Value, json};

use super::{Files, Node, Place, Resolved, Resolver};
use crate::shim::plan::{IdRange, Runtime};

pub(super) struct Case {
    pub(super) pod: Pod,
    node: Node,
    addresses: Vec<String>,
    config_maps: BTreeMap<String, ConfigMap>,
    secrets: BTreeMap<String, Secret>,
    services: Vec<Service>,
    volumes: BTreeMap<String, Place>,
    files: Files,
}

impl Case {
    /// A Pod whose container `c` is this.
    pub(super) fn with(mut container: Value) -> Self {
        container["name"] = json!("c");
        let pod = json!({
            "metadata": {"name": "p", "namespace": "n", "uid": "u-1"},
            "spec": {"containers": [container]},
            "status": {"qosClass": "Burstable"},
        });
        Self {
            pod: read(pod),
            node: node(),
            addresses: vec!["10.1.0.2".into()],
            config_maps: BTreeMap::new(),
            secrets: BTreeMap::new(),
            services: Vec::new(),
            volumes: BTreeMap::new(),
            files: Files {
                hosts: "/p/hosts".into(),
                hostname: "/p/hostname".into(),
                resolver: "/p/resolv.conf".into(),
            },
        }
    }

    /// With a field of the spec, or its replacement.
    pub(super) fn spec(mut self, field: &str, value: Value) -> Self {
        let mut pod = serde_json::to_value(&self.pod).unwrap();
        pod["spec"][field] = value;
        self.pod = read(pod);
        self
    }

    pub(super) fn class(mut self, class: &str) -> Self {
        self.pod.status.as_mut().unwrap().qos_class = Some(class.into());
        self
    }

    pub(super) fn config_map(mut self, name: &str, data: Value) -> Self {
        self.config_maps.insert(name.into(), read(json!({"metadata": {"name": name}, "data": data})));
        self
    }

    pub(super) fn secret(mut self, name: &str, data: Value) -> Self {
        self.secrets.insert(name.into(), read(json!({"metadata": {"name": name}, "data": data})));
        self
    }

    pub(super) fn service(mut self, name: &str, address: &str) -> Self {
        let spec = json!({"clusterIP": address, "ports": [{"port": 5432}]});
        self.services.push(read(json!({"metadata": {"name": name, "namespace": "n"}, "spec": spec})));
        self
    }

    pub(super) fn volume(mut self, name: &str, path: &str, read_only: bool) -> Self {
        self.volumes.insert(name.into(), Place::Path { path: path.into(), read_only, recursive: false });
        self
    }

    pub(super) fn memory(mut self, name: &str) -> Self {
        self.volumes.insert(name.into(), Place::Memory);
        self
    }

    pub(super) fn container(&self) -> &Container {
        super::containers(self.pod.spec.as_ref().unwrap()).find(|container| container.name == "c").unwrap()
    }

    pub(super) fn resolved(&self) -> Resolved<'_> {
        Resolved {
            pod: &self.pod,
            node: &self.node,
            ids: IdRange { first: 2_000_000_000, count: 65_536 },
            runtime: &Runtime::Builtin,
            addresses: &self.addresses,
            config_maps: &self.config_maps,
            secrets: &self.secrets,
            services: &self.services,
            volumes: &self.volumes,
            files: &self.files,
        }
    }
}

fn node() -> Node {
    Node {
        name: "here".into(),
        addresses: vec!["192.0.2.1".into()],
        memory: 8 << 30,
        allocatable: read(json!({"cpu": "2", "memory": "7Gi"})),
        pids_per_pod: Some(4096),
        open_files: 524_288,
        cgroup: "asb".into(),
        domain: "cluster.local".into(),
        name_servers: vec!["10.0.0.10".into()],
        resolver: Resolver::default(),
        logs: "/logs".into(),
        log_bytes: 10 << 20,
        log_files: 5,
    }
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}
