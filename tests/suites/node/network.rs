//! What a Pod finds around it: the API server, DNS, Services.

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::PostParams;
use serde_json::json;

use crate::{BUSYBOX, KUBECTL, place, pod, run, start};

/// By name, with the Pod's own token, checking the server's certificate against the Pod's own authority.
#[tokio::test]
async fn a_pod_lists_pods_with_its_service_account() -> Result<()> {
    let (cluster, namespace) = place().await?;
    let script = "
        mine=/var/run/secrets/kubernetes.io/serviceaccount
        kubectl --server=https://kubernetes.default.svc --certificate-authority=$mine/ca.crt \\
            --token=$(cat $mine/token) --namespace=$(cat $mine/namespace) get pods -o name";
    let binding: RoleBinding = serde_json::from_value(json!({
        "metadata": {"name": "view"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace.name()}],
    }))?;
    namespace.api::<RoleBinding>().create(&PostParams::default(), &binding).await?;
    assert_eq!(run(&cluster, &namespace, pod("lister", KUBECTL, script)).await?, "pod/lister");
    namespace.finish().await;
    Ok(())
}

/// Without the binding the same Pod is refused: RBAC is really on.
#[tokio::test]
async fn a_pod_without_rights_may_not_list_pods() -> Result<()> {
    let (cluster, namespace) = place().await?;
    let said = run(&cluster, &namespace, pod("lister", KUBECTL, "kubectl get pods 2>&1 || true")).await?;
    assert!(said.contains("is forbidden") && said.contains("cannot list resource \"pods\""), "{said}");
    namespace.finish().await;
    Ok(())
}

#[tokio::test]
async fn a_pod_resolves_the_api_server() -> Result<()> {
    let (cluster, namespace) = place().await?;
    let script = "nslookup kubernetes.default.svc.cluster.local | grep -A1 ^Name: | grep -o '[0-9.]*$' | tail -n 1; \
                  echo $KUBERNETES_SERVICE_HOST";
    let said = run(&cluster, &namespace, pod("resolver", BUSYBOX, script)).await?;
    let (resolved, given) = said.split_once('\n').with_context(|| format!("no address in: {said}"))?;
    assert_eq!(resolved, given);
    namespace.finish().await;
    Ok(())
}

#[tokio::test]
async fn pods_meet_through_a_service_by_name() -> Result<()> {
    let (cluster, namespace) = place().await?;
    let serve = "mkdir /www; echo served > /www/index.html; httpd -f -p 8080 -h /www";
    start(&namespace, pod("web", BUSYBOX, serve)).await?;
    let service: Service = serde_json::from_value(json!({
        "metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
    }))?;
    namespace.api::<Service>().create(&PostParams::default(), &service).await?;
    // DNS and kube-proxy learn of the Service a moment after the API server does. A static busybox has no working wget.
    let ask = r"until printf 'GET / HTTP/1.0\r\n\r\n' | nc -w 1 web 80 2>/dev/null | grep served; do :; done";
    assert_eq!(run(&cluster, &namespace, pod("client", BUSYBOX, ask)).await?, "served");
    namespace.finish().await;
    Ok(())
}
