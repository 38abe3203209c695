//! `asb up` among clients that mean no good: what each may not do, and that the others do not notice.

use std::fs::DirBuilder;
use std::net::TcpStream;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use asb_tests::embedded::{self, Server, up};
use asb_tests::wait;
use http::{Method, Request};
use kube::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/evil/roles";
const BLOBS: &str = "/apis/hostile.example/v1/namespaces/evil/blobs";

/// A server with a tenant who may do as they like in one namespace, and nowhere else.
struct Attacked {
    directory: TempDir,
    server: Server,
    tenant: Client,
}

impl Attacked {
    async fn start() -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let server = Server::start(directory.path()).await?;
        let token = tenant(&server.client).await?;
        let tenant = Server::with_token(directory.path(), &token).await?;
        Ok(Self { directory, server, tenant })
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Makes the tenant, and returns a token of theirs.
async fn tenant(admin: &Client) -> Result<String> {
    let binding = json!({
        "metadata": {"name": "mallory"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "mallory", "namespace": "evil"}],
    });
    let bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/evil/rolebindings";
    let accounts = "/api/v1/namespaces/evil/serviceaccounts";
    post(admin, "/api/v1/namespaces", &json!({"metadata": {"name": "evil"}})).await?;
    post(admin, accounts, &json!({"metadata": {"name": "mallory"}})).await?;
    post(admin, bindings, &binding).await?;
    token(admin).await
}

async fn token(admin: &Client) -> Result<String> {
    let path = "/api/v1/namespaces/evil/serviceaccounts/mallory/token";
    let issued = post(admin, path, &json!({"spec": {}})).await?;
    Ok(issued["status"]["token"].as_str().context("a token")?.to_owned())
}

async fn post(client: &Client, path: &str, body: &Value) -> Result<Value> {
    let request = Request::post(path).header("content-type", "application/json");
    Ok(client.request(request.body(body.to_string().into_bytes())?).await?)
}

/// The status of an answer.
async fn code(client: &Client, method: Method, path: &str, media: &str, body: &str) -> Result<u16> {
    let request = Request::builder().method(method).uri(path).header("content-type", media);
    let response = client.send(request.body(body.as_bytes().to_vec().into())?).await?;
    Ok(response.status().as_u16())
}

async fn get(client: &Client, path: &str) -> Result<u16> {
    code(client, Method::GET, path, "application/json", "").await
}

async fn define_blobs(admin: &Client) -> Result<()> {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version = json!({
        "name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything}}},
    });
    let definition = json!({
        "metadata": {"name": "blobs.hostile.example"},
        "spec": {
            "group": "hostile.example", "scope": "Namespaced", "versions": [version],
            "names": {"plural": "blobs", "kind": "Blob"},
        },
    });
    post(admin, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition).await?;
    let served = || async { (get(admin, BLOBS).await.ok()? == 200).then_some(()) };
    Ok(wait::until(wait::DEADLINE, "the definition to be served", served).await?)
}

fn blob(name: &str, spec: &str) -> String {
    format!(
        r#"{{"apiVersion": "hostile.example/v1", "kind": "Blob", "metadata": {{"name": "{name}"}}, "spec": {spec}}}"#
    )
}

fn nested(depth: usize) -> String {
    format!("{}1{}", r#"{"a": "#.repeat(depth), "}".repeat(depth))
}

#[tokio::test]
async fn objects_that_are_too_deep_or_grow_too_large_are_refused_and_the_server_starts_again() -> Result<()> {
    let mut attacked = Attacked::start().await?;
    let admin = &attacked.server.client;
    define_blobs(admin).await?;
    let create = async |name: &str, spec: &str| {
        code(admin, Method::POST, BLOBS, "application/json", &blob(name, spec)).await
    };
    assert_eq!(create("deep", &nested(95)).await?, 201);
    assert_eq!(create("deeper", &nested(200)).await?, 400);
    assert_eq!(create("large", &format!(r#"{{"a": "{}"}}"#, "x".repeat(900_000))).await?, 201);
    let copies = r#"[{"op": "copy", "from": "/spec/a", "path": "/spec/b"}, {"op": "copy", "from": "/spec/a", "path": "/spec/c"}]"#;
    let large = format!("{BLOBS}/large");
    assert_eq!(code(admin, Method::PATCH, &large, "application/json-patch+json", copies).await?, 500);
    attacked.server.process.kill().await?;
    let server = Server::start(attacked.path()).await?;
    assert_eq!(get(&server.client, &format!("{BLOBS}/deep")).await?, 200);
    Ok(())
}

#[tokio::test]
async fn clients_that_connect_and_say_nothing_keep_nobody_out() -> Result<()> {
    let attacked = Attacked::start().await?;
    let address = embedded::config(attacked.path()).await?.cluster_url;
    let address = address.authority().context("an address")?.as_str().to_owned();
    let silent: Vec<TcpStream> = (0..600).map(|_| TcpStream::connect(&address)).collect::<Result<_, _>>()?;
    let honest = Client::try_from(embedded::config(attacked.path()).await?)?;
    let answer =
        tokio::time::timeout(Duration::from_secs(5), get(&honest, "/api/v1/namespaces/default")).await;
    assert_eq!(answer.context("an answer in time")??, 200);
    drop(silent);
    Ok(())
}

#[tokio::test]
async fn strangers_see_health_and_version_and_nothing_else() -> Result<()> {
    let attacked = Attacked::start().await?;
    let stranger = Server::with_token(attacked.path(), "").await?;
    for path in ["/healthz", "/livez", "/readyz", "/version"] {
        assert_eq!(get(&stranger, path).await?, 200, "{path}");
    }
    let hidden =
        ["/", "/api", "/apis", "/openapi/v3", "/metrics", "/debug/pprof", "/openid/v1/jwks", "/api/v1/pods"];
    for path in hidden.into_iter().chain(["/version/../api", "/healthz/%2e%2e/api", "/api/v1//pods"]) {
        assert_eq!(get(&stranger, path).await?, 403, "{path}");
    }
    Ok(())
}

#[tokio::test]
async fn a_token_that_was_tampered_with_or_outlived_its_account_is_refused() -> Result<()> {
    let attacked = Attacked::start().await?;
    let admin = &attacked.server.client;
    let good = token(admin).await?;
    let parts: Vec<&str> = good.split('.').collect();
    let [header, claims, signature] = parts.as_slice() else { anyhow::bail!("three parts") };
    // {"alg":"none"}
    let unsigned = format!("eyJhbGciOiJub25lIn0.{claims}.");
    let other = format!("{header}.{claims}.{}", "A".repeat(signature.len()));
    let with = async |token: &str| get(&Server::with_token(attacked.path(), token).await?, "/api").await;
    assert_eq!((with(&good).await?, with(&unsigned).await?, with(&other).await?), (200, 401, 401));
    let accounts = "/api/v1/namespaces/evil/serviceaccounts";
    code(admin, Method::DELETE, &format!("{accounts}/mallory"), "application/json", "").await?;
    assert_eq!(with(&good).await?, 401);
    post(admin, accounts, &json!({"metadata": {"name": "mallory"}})).await?;
    assert_eq!(with(&good).await?, 401, "it is another account of that name");
    Ok(())
}

#[tokio::test]
async fn a_tenant_cannot_give_themselves_more_than_they_have() -> Result<()> {
    let attacked = Attacked::start().await?;
    let tenant = &attacked.tenant;
    let rules = |resource: &str| json!([{"apiGroups": [""], "resources": [resource], "verbs": ["get"]}]);
    let role = |resource: &str| {
        let kind = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"});
        json!({"apiVersion": kind["apiVersion"], "kind": kind["kind"], "metadata": {"name": "r"}, "rules": rules(resource)})
    };
    post(tenant, ROLES, &role("pods")).await?;
    let one = format!("{ROLES}/r");
    let applied = format!("{one}?fieldManager=x&force=true");
    let replaced = json!([{"op": "replace", "path": "/rules/0/resources/0", "value": "nodes"}]).to_string();
    let (whole, merged) = (role("nodes").to_string(), json!({"rules": rules("*")}).to_string());
    let attempts = [
        (Method::POST, ROLES, "application/json", &whole),
        (Method::PUT, &one, "application/json", &whole),
        (Method::PATCH, &one, "application/merge-patch+json", &merged),
        (Method::PATCH, &one, "application/strategic-merge-patch+json", &merged),
        (Method::PATCH, &one, "application/json-patch+json", &replaced),
        (Method::PATCH, &applied, "application/apply-patch+yaml", &whole),
    ];
    for (method, path, media, body) in attempts {
        assert_eq!(code(tenant, method.clone(), path, media, body).await?, 403, "{method} {path} {media}");
    }
    let masters = Request::get("/api/v1/nodes").header("impersonate-user", "x");
    let masters = masters.header("impersonate-group", "system:masters").body(Vec::new().into())?;
    assert_eq!(tenant.send(masters).await?.status().as_u16(), 403);
    Ok(())
}

#[tokio::test]
async fn secrets_and_tokens_are_in_no_log_and_in_no_file_that_others_can_read() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let (data, log) = (directory.path().join("data"), directory.path().join("log"));
    DirBuilder::new().mode(0o700).create(&data)?;
    // Something to complain about.
    DirBuilder::new().mode(0o755).create(data.join("pki"))?;
    let mut command = up(&data, "127.0.0.1:0")?;
    command.args(["--log", "trace"]).stderr(Stdio::from(std::fs::File::create(&log)?));
    let mut server = Server::run(&data, command).await?;
    let token = tenant(&server.client).await?;
    let mallory = Server::with_token(&data, &token).await?;
    let secret = json!({"metadata": {"name": "s"}, "stringData": {"password": "correct-horse"}});
    post(&mallory, "/api/v1/namespaces/evil/secrets", &secret).await?;
    server.process.kill().await?;
    let said = std::fs::read_to_string(&log)?;
    assert!(said.contains("others could read this"), "{said}");
    for hidden in ["correct-horse", "Y29ycmVjdC1ob3JzZQ", token.rsplit('.').next().context("a signature")?] {
        assert!(!said.contains(hidden), "{hidden} is in the log");
    }
    must_be_private(&data)
}

/// Nobody but the owner gets at anything in a folder.
fn must_be_private(path: &Path) -> Result<()> {
    let metadata = std::fs::metadata(path)?;
    ensure!(metadata.permissions().mode() % 0o100 == 0, "{} is open to others", path.display());
    if metadata.is_dir() {
        std::fs::read_dir(path)?.try_for_each(|entry| must_be_private(&entry?.path()))?;
    }
    Ok(())
}
