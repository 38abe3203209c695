//! Files as a Pod finds them.

use serde_json::{Value, json};

use super::*;

const CLUSTER: Cluster<'_> = Cluster { server: Ipv4Addr::new(10, 1, 0, 1), zone: "cluster.local" };

fn host() -> Resolver {
    Resolver::read(
        "# made by hand\nnameserver 127.0.0.53\nnameserver 192.0.2.53 # far\nsearch corp.example\noptions edns0\n",
    )
}

fn text(spec: Value) -> String {
    let mut spec = spec;
    spec["containers"] = json!([]);
    file(&serde_json::from_value(spec).unwrap(), "team", CLUSTER, &host()).unwrap().text
}

#[test]
fn cluster_first_asks_us_and_searches_the_cluster() {
    let expected = "nameserver 10.1.0.1\n\
        search team.svc.cluster.local svc.cluster.local cluster.local corp.example\noptions ndots:5\n";
    assert_eq!(text(json!({})), expected);
    assert_eq!(text(json!({"dnsPolicy": "ClusterFirst"})), expected);
    assert_eq!(text(json!({"dnsPolicy": "ClusterFirstWithHostNet", "hostNetwork": true})), expected);
}

#[test]
fn default_is_the_hosts_with_us_in_place_of_its_loopback() {
    let expected = "nameserver 10.1.0.1\nnameserver 192.0.2.53\nsearch corp.example\noptions edns0\n";
    assert_eq!(text(json!({"dnsPolicy": "Default"})), expected);
    let expected = expected.replace("10.1.0.1", "127.0.0.53");
    assert_eq!(text(json!({"dnsPolicy": "Default", "hostNetwork": true})), expected);
    assert_eq!(text(json!({"hostNetwork": true})), expected);
}

#[test]
fn none_is_what_the_pod_says() {
    let config = json!({"nameservers": ["8.8.8.8", "8.8.8.8"], "searches": ["a.example"],
        "options": [{"name": "ndots", "value": "2"}, {"name": "rotate"}]});
    let expected = "nameserver 8.8.8.8\nsearch a.example\noptions ndots:2 rotate\n";
    assert_eq!(text(json!({"dnsPolicy": "None", "dnsConfig": config})), expected);
}

#[test]
fn a_pods_settings_come_behind_and_its_options_win() {
    let config = json!({"searches": ["a.example"], "options": [{"name": "ndots", "value": "1"}]});
    let text = text(json!({"dnsConfig": config}));
    assert!(text.contains("corp.example a.example\n") && text.ends_with("options ndots:1\n"), "{text}");
}

#[test]
fn what_resolvers_do_not_take_is_left_out_and_said() {
    let servers: Vec<_> = (1..=4).map(|last| format!("192.0.2.{last}")).collect();
    let searches: Vec<_> = (0..40).map(|number| format!("{number:02}.{}", "x".repeat(97))).collect();
    let spec = json!({"containers": [], "dnsPolicy": "None", "dnsConfig": {"nameservers": servers, "searches": searches}});
    let file = file(&serde_json::from_value(spec).unwrap(), "team", CLUSTER, &host()).unwrap();
    assert_eq!(file.left_out[0], "nameserver 192.0.2.4");
    assert_eq!(file.left_out.len(), 1 + 40 - 20, "{:?}", file.left_out);
}

#[test]
fn policies_nobody_knows_are_refused() {
    let spec = serde_json::from_value(json!({"containers": [], "dnsPolicy": "Maybe"})).unwrap();
    assert_eq!(file(&spec, "team", CLUSTER, &host()), Err(UnknownPolicy("Maybe".into())));
}
