//! Variables that tell a container where Services are.

use k8s_openapi::api::core::v1::{Service, ServicePort};

/// Those of the Pod's namespace if it wants them; and in any case where the API server is.
pub(super) fn variables(services: &[Service], namespace: &str, links: bool) -> Vec<(String, String)> {
    let name = |service: &Service| service.metadata.name.clone().unwrap_or_default();
    let is_in = |service: &Service, place: &str| service.metadata.namespace.as_deref() == Some(place);
    let mut chosen: Vec<_> = services.iter().filter(|service| links && is_in(service, namespace)).collect();
    let has_own = chosen.iter().any(|service| name(service) == "kubernetes" && address(service).is_some());
    if !has_own {
        let server = |service: &&Service| name(service) == "kubernetes" && is_in(service, "default");
        chosen.extend(services.iter().find(server));
    }
    chosen.sort_by_key(|service| name(service));
    chosen.into_iter().flat_map(of).collect()
}

fn of(service: &Service) -> Vec<(String, String)> {
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_deref()).unwrap_or_default();
    let (Some(address), Some(first)) = (address(service), ports.first()) else { return Vec::new() };
    let name = variable_name(service.metadata.name.as_deref().unwrap_or_default());
    let mut variables = vec![
        (format!("{name}_SERVICE_HOST"), address.to_owned()),
        (format!("{name}_SERVICE_PORT"), first.port.to_string()),
    ];
    for port in ports {
        if let Some(known) = port.name.as_deref().filter(|known| !known.is_empty()) {
            let known = variable_name(known);
            variables.push((format!("{name}_SERVICE_PORT_{known}"), port.port.to_string()));
        }
    }
    variables.push((format!("{name}_PORT"), link(address, first)));
    variables.extend(ports.iter().flat_map(|port| links(&name, address, port)));
    variables
}

/// As Docker's links were.
fn links(name: &str, address: &str, port: &ServicePort) -> [(String, String); 4] {
    let protocol = protocol(port);
    let prefix = format!("{name}_PORT_{}_{}", port.port, protocol.to_uppercase());
    [
        (prefix.clone(), link(address, port)),
        (format!("{prefix}_PROTO"), protocol),
        (format!("{prefix}_PORT"), port.port.to_string()),
        (format!("{prefix}_ADDR"), address.to_owned()),
    ]
}

fn link(address: &str, port: &ServicePort) -> String {
    let host = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
    format!("{}://{host}:{}", protocol(port), port.port)
}

fn protocol(port: &ServicePort) -> String {
    port.protocol.as_deref().unwrap_or("TCP").to_lowercase()
}

/// Headless Services and those by another name have none.
fn address(service: &Service) -> Option<&str> {
    let address = service.spec.as_ref()?.cluster_ip.as_deref()?;
    (!address.is_empty() && address != "None").then_some(address)
}

fn variable_name(name: &str) -> String {
    name.replace('-', "_").to_uppercase()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn service(namespace: &str, name: &str, address: &str) -> Service {
        let ports = json!([{"port": 80, "name": "web-ui"}, {"port": 53, "name": "dns", "protocol": "UDP"}]);
        let metadata = json!({"name": name, "namespace": namespace});
        serde_json::from_value(json!({"metadata": metadata, "spec": {"clusterIP": address, "ports": ports}}))
            .unwrap()
    }

    fn names(services: &[Service], links: bool) -> Vec<String> {
        let variables = variables(services, "n", links);
        variables.into_iter().filter(|(name, _)| name.ends_with("_HOST")).map(|(_, value)| value).collect()
    }

    #[test]
    fn a_service_is_told_in_all_the_ways_that_programs_look_for() {
        insta::assert_yaml_snapshot!(variables(&[service("n", "my-db", "10.0.0.9")], "n", true));
    }

    #[test]
    fn an_address_of_the_longer_kind_is_bracketed() {
        let variables = variables(&[service("n", "db", "fd00::1")], "n", true);
        assert!(variables.contains(&("DB_PORT".to_owned(), "tcp://[fd00::1]:80".to_owned())));
        assert!(variables.contains(&("DB_SERVICE_HOST".to_owned(), "fd00::1".to_owned())));
    }

    #[test]
    fn other_namespaces_and_headless_services_are_left_out() {
        let services =
            [service("n", "a", "None"), service("m", "b", "10.0.0.2"), service("n", "c", "10.0.0.3")];
        assert_eq!(names(&services, true), ["10.0.0.3"]);
    }

    #[test]
    fn the_api_server_is_told_even_to_who_wants_no_links() {
        let services = [service("default", "kubernetes", "10.0.0.1"), service("n", "c", "10.0.0.3")];
        assert_eq!(names(&services, false), ["10.0.0.1"]);
        assert_eq!(names(&services, true), ["10.0.0.3", "10.0.0.1"]);
    }

    #[test]
    fn a_service_of_the_namespace_goes_before_the_api_server() {
        let services = [service("default", "kubernetes", "10.0.0.1"), service("n", "kubernetes", "10.0.0.7")];
        assert_eq!(names(&services, true), ["10.0.0.7"]);
        assert_eq!(names(&services, false), ["10.0.0.1"]);
    }
}
