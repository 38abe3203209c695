//! Which endpoints a Service has, by the ports they offer: Pods may call different ports by one name.

use std::net::Ipv4Addr;

use k8s_openapi::api::core::v1::{ObjectReference, Pod, Service, ServicePort, ServiceSpec};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::network::member::{Protocol, has_ended, named_ports};
use crate::network::selector::Labels;
use crate::object::Key;

/// Endpoints that offer the same ports.
pub(super) struct Group {
    pub(super) ports: Vec<EndpointPort>,
    pub(super) endpoints: Vec<Endpoint>,
}

/// Nothing for a Service whose endpoints are not ours to find.
pub(super) fn groups<'a>(
    service: &Service,
    key: &Key,
    pods: impl Iterator<Item = &'a Pod>,
) -> Option<Vec<Group>> {
    let spec = service.spec.as_ref()?;
    let selector = spec.selector.as_ref().filter(|selector| !selector.is_empty())?;
    if spec.type_.as_deref() == Some("ExternalName") {
        return None;
    }
    let mut groups: Vec<Group> = Vec::new();
    for pod in pods.filter(|pod| is_selected(pod, key, selector) && !has_ended(pod)) {
        let Some(endpoint) = endpoint(pod, key, spec) else { continue };
        let ports = ports(pod, spec);
        match groups.iter_mut().find(|group| group.ports == ports) {
            Some(group) => group.endpoints.push(endpoint),
            None => groups.push(Group { ports, endpoints: vec![endpoint] }),
        }
    }
    Some(groups)
}

fn is_selected(pod: &Pod, service: &Key, selector: &Labels) -> bool {
    let none = Labels::new();
    let labels = pod.metadata.labels.as_ref().unwrap_or(&none);
    pod.metadata.namespace.as_deref() == Some(&*service.namespace)
        && selector.iter().all(|(key, value)| labels.get(key) == Some(value))
}

fn endpoint(pod: &Pod, service: &Key, spec: &ServiceSpec) -> Option<Endpoint> {
    let address = address(pod)?;
    let (metadata, pod_spec) = (&pod.metadata, pod.spec.as_ref()?);
    let serving = is_ready(pod);
    let terminating = metadata.deletion_timestamp.is_some();
    let ready = spec.publish_not_ready_addresses == Some(true) || serving && !terminating;
    let has_name = pod_spec.subdomain.as_deref() == Some(&*service.name);
    Some(Endpoint {
        addresses: vec![address.to_string()],
        conditions: Some(EndpointConditions {
            ready: Some(ready),
            serving: Some(serving),
            terminating: Some(terminating),
        }),
        hostname: pod_spec.hostname.clone().filter(|name| has_name && !name.is_empty()),
        node_name: pod_spec.node_name.clone().filter(|name| !name.is_empty()),
        target_ref: Some(ObjectReference {
            kind: Some("Pod".to_owned()),
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone(),
            uid: metadata.uid.clone(),
            ..ObjectReference::default()
        }),
        ..Endpoint::default()
    })
}

fn address(pod: &Pod) -> Option<Ipv4Addr> {
    let status = pod.status.as_ref()?;
    let several = status.pod_ips.iter().flatten().map(|address| address.ip.as_str());
    several.chain(status.pod_ip.as_deref()).find_map(|text| text.parse().ok())
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut ready = conditions.filter(|condition| condition.type_ == "Ready");
    ready.any(|condition| condition.status == "True")
}

/// Ports that this Pod has no number for are left out.
fn ports(pod: &Pod, spec: &ServiceSpec) -> Vec<EndpointPort> {
    let each = spec.ports.iter().flatten().filter_map(|port| {
        Some(EndpointPort {
            name: Some(port.name.clone().unwrap_or_default()),
            port: Some(number(pod, port)?),
            protocol: Some(port.protocol.clone().unwrap_or_else(|| "TCP".to_owned())),
            app_protocol: port.app_protocol.clone(),
        })
    });
    each.collect()
}

fn number(pod: &Pod, port: &ServicePort) -> Option<i32> {
    let protocol = Protocol::read(port.protocol.as_deref())?;
    match &port.target_port {
        None => Some(port.port),
        Some(IntOrString::Int(number)) => Some(*number),
        Some(IntOrString::String(name)) => {
            let ports = named_ports(pod.spec.as_ref()?);
            let found = ports.iter().find(|port| port.name == *name && port.protocol == protocol);
            found.map(|port| i32::from(port.number))
        }
    }
}
