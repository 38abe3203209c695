//! Names: the Pod's own, those of others in its files, and who is asked for the rest.

use anyhow::Result;
use k8s_openapi::api::core::v1::Service;
use serde_json::json;

use crate::spec::{With, once, sh};
use crate::stage::Stage;

#[tokio::test]
async fn a_pod_is_called_as_it_says() -> Result<()> {
    let stage = Stage::set().await?;
    let script = "hostname; cat /etc/hostname; grep -v '^#' /etc/hosts | tail -3 | cut -f2-";
    let plain = stage.run("plain", once(sh(script))).await?;
    assert!(plain.starts_with("plain\nplain\n"), "{plain}");
    let aliases = json!([{"ip": "192.0.2.1", "hostnames": ["one.example", "two.example"]}]);
    let spec = once(sh("hostname; tail -1 /etc/hosts; grep -o 'other.*' /etc/hosts"));
    let named = spec.with(json!({"hostname": "other", "hostAliases": aliases}));
    assert_eq!(stage.run("named", named).await?, "other\n192.0.2.1\tone.example\ttwo.example\nother");
    let spec = once(sh("hostname")).with(json!({"hostname": "other", "hostnameOverride": "over.example"}));
    assert_eq!(stage.run("over", spec).await?, "over.example");
    stage.finish().await
}

#[tokio::test]
async fn a_subdomain_makes_a_full_name() -> Result<()> {
    let stage = Stage::set().await?;
    let namespace = stage.namespace.name().to_owned();
    let spec = once(sh("hostname; hostname -f")).with(json!({"hostname": "a", "subdomain": "web"}));
    let full = format!("a.web.{namespace}.svc.cluster.local");
    assert_eq!(stage.run("short", spec.clone()).await?, format!("a\n{full}"));
    let spec = spec.with(json!({"setHostnameAsFQDN": true}));
    assert_eq!(stage.run("long", spec).await?, format!("{full}\n{full}"));
    stage.finish().await
}

/// A headless Service gives its Pods names, which others find.
#[tokio::test]
async fn others_find_a_pod_by_hostname_and_subdomain() -> Result<()> {
    let stage = Stage::set().await?;
    let spec = json!({"clusterIP": "None", "selector": {"app": "web"}, "ports": [{"port": 80}]});
    stage.put::<Service>("web", json!({"spec": spec})).await?;
    let metadata = json!({"name": "member", "labels": {"app": "web"}});
    let spec = once(crate::spec::idle()).with(json!({"hostname": "a", "subdomain": "web"}));
    stage
        .put::<k8s_openapi::api::core::v1::Pod>("member", json!({"metadata": metadata, "spec": spec}))
        .await?;
    let pod = stage.until("member", "ready", crate::stage::is_ready).await?;
    let address = pod.status.and_then(|status| status.pod_ip).unwrap_or_default();
    let look = "until getent ahostsv4 a.web > /tmp/x; do sleep 0.1; done; head -1 /tmp/x | cut -d' ' -f1";
    assert_eq!(stage.run("seeker", once(sh(look))).await?, address);
    stage.finish().await
}

#[tokio::test]
async fn the_resolver_is_told_what_the_pod_wants() -> Result<()> {
    let stage = Stage::set().await?;
    let namespace = stage.namespace.name().to_owned();
    let cat = || once(sh("cat /etc/resolv.conf"));
    let cluster = stage.run("cluster", cat().with(json!({"dnsPolicy": "ClusterFirst"}))).await?;
    let search = format!("search {namespace}.svc.cluster.local svc.cluster.local cluster.local");
    assert!(cluster.contains(&search) && cluster.contains("options ndots:5"), "{cluster}");
    let config = json!({
        "nameservers": ["192.0.2.53"], "searches": ["corp.example"],
        "options": [{"name": "ndots", "value": "2"}, {"name": "rotate"}],
    });
    let own = stage.run("own", cat().with(json!({"dnsPolicy": "None", "dnsConfig": config}))).await?;
    assert_eq!(own, "search corp.example\nnameserver 192.0.2.53\noptions ndots:2 rotate");
    let machine = stage.run("machine", cat().with(json!({"dnsPolicy": "Default"}))).await?;
    assert!(!machine.contains("cluster.local"), "{machine}");
    let more =
        json!({"dnsConfig": {"searches": ["corp.example"], "options": [{"name": "ndots", "value": "1"}]}});
    let more = stage.run("more", cat().with(more)).await?;
    assert!(more.contains(&format!("{search} corp.example")) && more.contains("ndots:1"), "{more}");
    stage.finish().await
}
