//! The API server and what talks for it: who may come to its door, with what, and what its own sockets are.

use anyhow::Result;
use asb_tests::pods::spec::{With, once, python};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::RoleBinding;
use serde_json::json;

use crate::case::Attack::{Program, Staged};
use crate::case::Layer::{Api, Files, Network};
use crate::case::{Case, Outcome, Without, case};
use crate::ground::{Ground, verdict};

pub(crate) const CASES: &[Case] = &[
    case(
        "the_api_server_is_closed_to_pods_without_a_token",
        "CVE-2018-1002105, CVE-2020-8559: an API server that everybody can talk to",
        &[Network],
        Program(
            "
address = (os.environ['KUBERNETES_SERVICE_HOST'], int(os.environ['KUBERNETES_SERVICE_PORT']))
tried('the Service', lambda: socket.create_connection(address, 3))
tried('its name', lambda: socket.create_connection(('kubernetes.default.svc.cluster.local', address[1]), 3))
held()",
        ),
    )
    .without(Without::Pod(r#"{"automountServiceAccountToken": true}"#)),
    case(
        "the_token_of_a_pod_opens_nothing_that_was_not_given",
        "tokens that agents find in their sandbox: Secrets of others, Pods with more rights",
        &[Api],
        Staged(|ground| Box::pin(token(ground))),
    )
    .without(Without::Otherwise("a RoleBinding to cluster-admin")),
    case(
        "sockets_of_the_node_are_out_of_reach",
        "CVE-2020-15257, and every docker.sock that was ever mounted",
        &[Files, Network],
        Staged(|ground| Box::pin(sockets(ground))),
    )
    .without(Without::Machine),
];

const ASK: &str = "
import json, ssl, urllib.error, urllib.request
place = '/var/run/secrets/kubernetes.io/serviceaccount'
token, namespace = open(f'{place}/token').read(), os.environ['NAMESPACE']
trust = ssl.create_default_context(cafile=f'{place}/ca.crt')
base = f\"https://{os.environ['KUBERNETES_SERVICE_HOST']}:{os.environ['KUBERNETES_SERVICE_PORT']}\"
def ask(method, path, body=None):
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(base + path, data, {'Authorization': f'Bearer {token}', 'Content-Type': 'application/json'}, method=method)
    try: return urllib.request.urlopen(request, context=trust, timeout=10).status
    except urllib.error.HTTPError as error: return error.code
mighty = {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'mighty'}, 'spec': {'containers': [{'name': 'main',
    'image': 'asb.local/host', 'command': ['sleep', '1000'], 'securityContext': {'privileged': True}}]}}
asked = {
    'a Secret': ask('GET', f'/api/v1/namespaces/{namespace}/secrets/vault'),
    'all Secrets': ask('GET', '/api/v1/secrets'),
    'a Pod': ask('POST', f'/api/v1/namespaces/{namespace}/pods', mighty),
    'a command in a neighbour': ask('POST', f'/api/v1/namespaces/{namespace}/pods/attacker/exec?command=id'),
    'a token': ask('POST', f'/api/v1/namespaces/{namespace}/serviceaccounts/default/token', {}),
    'impersonation': ask('GET', '/apis/rbac.authorization.k8s.io/v1/clusterroles'),
}
for what, code in asked.items():
    if code < 400: escaped(what, code)
held(asked) if set(asked.values()) == {403} else print('not refused as it should be', asked)";

async fn token(ground: Ground) -> Result<Outcome> {
    let stage = &ground.stage;
    stage.put::<Secret>("vault", json!({"stringData": {"key": "value"}})).await?;
    if ground.is_lifted() {
        let subjects =
            json!([{"kind": "ServiceAccount", "name": "default", "namespace": stage.namespace.name()}]);
        let role =
            json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"});
        stage.put::<RoleBinding>("all", json!({"subjects": subjects, "roleRef": role})).await?;
    }
    let program = format!("{}{ASK}", include_str!("prelude.py"));
    let namespace = json!([{"name": "NAMESPACE", "value": stage.namespace.name()}]);
    let said = stage.run("attacker", once(python(&program).with(json!({"env": namespace})))).await?;
    ground.stage.finish().await?;
    verdict("main", &said)
}

/// By their paths, and wherever else there is one that anybody listens on.
async fn sockets(ground: Ground) -> Result<Outcome> {
    let control = Ground::data_directory()?.join("asb.sock").display().to_string();
    let program = "
import stat
for path in (os.environ['CONTROL'], '/run/containerd/containerd.sock', '/var/run/docker.sock', '/run/dbus/system_bus_socket',
    '/run/systemd/private'):
    tried(path, lambda: socket.socket(socket.AF_UNIX).connect(path))
for folder, folders, files in os.walk('/'):
    if folder in ('/proc', '/usr'): folders[:] = []
    for name in files:
        path = os.path.join(folder, name)
        try: found = os.lstat(path)
        except OSError: continue
        if stat.S_ISSOCK(found.st_mode): tried(path, lambda: socket.socket(socket.AF_UNIX).connect(path))
held()";
    let outcome = ground.program(program, &[("CONTROL", &control)]).await?;
    ground.stage.finish().await?;
    Ok(outcome)
}
