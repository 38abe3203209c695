//! Probes of all kinds: what they ask, how often, and what follows.

use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::spec::{With, idle, once, python, sh};
use crate::stage::{Stage, is_ready, last_exit, restarts, status};

fn restarting(container: Value) -> Value {
    json!({"containers": [container], "terminationGracePeriodSeconds": 1})
}

fn is_started(pod: &Pod) -> bool {
    status(pod, "main").and_then(|status| status.started) == Some(true)
}

const EXISTS: &str = "test -e /tmp/ready";

#[tokio::test]
async fn a_program_in_the_container_makes_it_ready_and_unready() -> Result<()> {
    let stage = Stage::set().await?;
    let probe = json!({
        "exec": {"command": ["sh", "-c", EXISTS]}, "periodSeconds": 1, "successThreshold": 2, "failureThreshold": 1,
        "timeoutSeconds": 2, "initialDelaySeconds": 1,
    });
    stage.create("ready", once(idle().with(json!({"readinessProbe": probe})))).await?;
    stage.until("ready", "started", is_started).await?;
    let complaint = stage.event("ready", "Unhealthy").await?;
    assert!(complaint.starts_with("Readiness probe failed"), "{complaint}");
    stage.exec("ready", "touch /tmp/ready").await?;
    stage.until("ready", "ready", is_ready).await?;
    stage.exec("ready", "rm /tmp/ready").await?;
    stage.until("ready", "not ready", |pod: &Pod| !is_ready(pod)).await?;
    stage.finish().await
}

/// Notes in milliseconds when it is asked, and how often it has failed.
const NOTING: &str =
    "date +%s%3N >> /tmp/asked; [ ! -e /tmp/bad ] || { echo failed >> /tmp/failed; exit 1; }";

#[tokio::test]
async fn a_probe_is_asked_when_and_as_often_as_it_says() -> Result<()> {
    let stage = Stage::set().await?;
    let probe = json!({
        "exec": {"command": ["sh", "-c", NOTING]}, "initialDelaySeconds": 3, "periodSeconds": 2,
        "successThreshold": 3, "failureThreshold": 2,
    });
    let script = "date +%s%3N > /tmp/begun; trap 'exit 0' TERM; while :; do sleep 0.1; done";
    stage.start("asked", once(sh(script).with(json!({"readinessProbe": probe})))).await?;
    let times = stage.exec("asked", "cat /tmp/begun /tmp/asked").await?;
    let times: Vec<i64> = times.lines().map(str::parse).collect::<Result<_, _>>()?;
    assert!(times.len() >= 4, "it is ready before the third success: {times:?}");
    // The clock begins with the second in which the container started.
    assert!(times[1] - times[0] > 1900, "asked too early: {times:?}");
    assert!(times[1..].windows(2).all(|pair| pair[1] - pair[0] > 1500), "asked too often: {times:?}");
    stage.exec("asked", "touch /tmp/bad").await?;
    stage.until("asked", "not ready", |pod: &Pod| !is_ready(pod)).await?;
    let failed: u32 = stage.exec("asked", "wc -l < /tmp/failed").await?.parse()?;
    assert!(failed >= 2, "one failure does not count");
    stage.finish().await
}

#[tokio::test]
async fn a_failed_liveness_probe_restarts_the_container_within_its_own_grace() -> Result<()> {
    let stage = Stage::set().await?;
    let probe = json!({
        "exec": {"command": ["sh", "-c", "exit 1"]}, "periodSeconds": 1, "failureThreshold": 1, "terminationGracePeriodSeconds": 1,
    });
    let deaf = sh("trap '' TERM; while :; do sleep 0.1; done").with(json!({"livenessProbe": probe}));
    let spec = json!({"containers": [deaf], "terminationGracePeriodSeconds": 600});
    stage.create("dead", spec).await?;
    let pod = stage.until("dead", "restarted", |pod: &Pod| restarts(pod) > 0).await?;
    assert_eq!(last_exit(&pod), Some((137, "Error")));
    assert!(stage.event("dead", "Killing").await?.contains("failed liveness probe"));
    stage.finish().await
}

#[tokio::test]
async fn a_probe_that_takes_too_long_has_failed() -> Result<()> {
    let stage = Stage::set().await?;
    let slow = json!({"exec": {"command": ["sleep", "30"]}, "timeoutSeconds": 1, "periodSeconds": 1, "failureThreshold": 1});
    stage.create("slow", restarting(idle().with(json!({"livenessProbe": slow})))).await?;
    stage.until("slow", "restarted", |pod: &Pod| restarts(pod) > 0).await?;
    stage.finish().await
}

/// The readiness probe would succeed at once, but nobody asks before the container has started.
#[tokio::test]
async fn other_probes_wait_for_the_startup_probe() -> Result<()> {
    let stage = Stage::set().await?;
    let startup =
        json!({"exec": {"command": ["sh", "-c", EXISTS]}, "periodSeconds": 1, "failureThreshold": 100});
    let readiness =
        json!({"exec": {"command": ["sh", "-c", "echo asked >> /tmp/asked"]}, "periodSeconds": 1});
    let probes = json!({"startupProbe": startup, "readinessProbe": readiness});
    stage.create("starting", once(idle().with(probes))).await?;
    stage.event("starting", "Unhealthy").await?;
    assert_eq!(stage.exec("starting", "test ! -e /tmp/asked; touch /tmp/ready; echo quiet").await?, "quiet");
    let pod = stage.until("starting", "ready", is_ready).await?;
    assert!(is_started(&pod));
    stage.finish().await
}

/// One server for plain HTTP, by number and name, with the headers that are asked for, and one that is only connected to.
#[tokio::test]
async fn ports_of_the_pod_are_asked_by_number_and_by_name() -> Result<()> {
    let stage = Stage::set().await?;
    let server = "
import http.server
class H(http.server.BaseHTTPRequestHandler):
  def do_GET(self):
    good = self.path == '/healthy?x=1' and self.headers['X-Who'] == 'me' and self.headers['Host'] == 'example.com'
    self.send_response(200 if good else 500); self.end_headers()
  def log_message(*a): pass
http.server.HTTPServer(('', 8080), H).serve_forever()";
    let headers = json!([{"name": "X-Who", "value": "me"}, {"name": "Host", "value": "example.com"}]);
    let get = json!({"path": "/healthy?x=1", "port": "web", "scheme": "HTTP", "httpHeaders": headers});
    let container = python(server).with(json!({
        "ports": [{"name": "web", "containerPort": 8080, "protocol": "TCP"}],
        "startupProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 1},
        "readinessProbe": {"httpGet": get, "periodSeconds": 1},
    }));
    stage.start("served", once(container.clone())).await?;
    let closed = json!({"tcpSocket": {"port": 8081}, "periodSeconds": 1});
    let closed = container.with(json!({"startupProbe": null, "readinessProbe": closed}));
    stage.create("closed", once(closed)).await?;
    let complaint = stage.event("closed", "Unhealthy").await?;
    assert!(complaint.contains(":8081: connect"), "{complaint}");
    stage.finish().await
}

#[tokio::test]
async fn certificates_are_not_checked_over_https() -> Result<()> {
    let stage = Stage::set().await?;
    let server = "
import http.server, ssl
class H(http.server.BaseHTTPRequestHandler):
  def do_GET(self): self.send_response(204); self.end_headers()
  def log_message(*a): pass
server = http.server.HTTPServer(('', 8443), H)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain('/tls/tls.crt', '/tls/tls.key')
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()";
    let pair = rcgen::generate_simple_self_signed(["elsewhere.example".to_owned()])?;
    let data = json!({"tls.crt": pair.cert.pem(), "tls.key": pair.signing_key.serialize_pem()});
    stage.put::<k8s_openapi::api::core::v1::Secret>("pair", json!({"stringData": data})).await?;
    let container = python(server).with(json!({
        "volumeMounts": [{"name": "tls", "mountPath": "/tls"}],
        "readinessProbe": {"httpGet": {"port": 8443, "scheme": "HTTPS"}, "periodSeconds": 1},
    }));
    let volumes = json!({"volumes": [{"name": "tls", "secret": {"secretName": "pair"}}]});
    stage.start("secure", once(container).with(volumes)).await?;
    stage.finish().await
}

/// HTTP/2 by hand, as much as one answer takes: SETTINGS, then headers, a message that says SERVING if the right service was
/// asked for, and trailers.
const GRPC: &str = r"
import socket, struct, threading
def frame(kind, flags, stream, body): return struct.pack('>I', len(body))[1:] + bytes([kind, flags]) + struct.pack('>I', stream) + body
def lit(name, value): return b'\x00' + bytes([len(name)]) + name + bytes([len(value)]) + value
def serve(c):
  f = c.makefile('rb')
  f.read(24)
  c.sendall(frame(4, 0, 0, b''))
  while True:
    head = f.read(9)
    if len(head) < 9: return
    length, kind, flags, stream = int.from_bytes(head[:3], 'big'), head[3], head[4], int.from_bytes(head[5:], 'big')
    body = f.read(length)
    if kind == 4 and not flags & 1: c.sendall(frame(4, 1, 0, b''))
    if kind == 6 and not flags & 1: c.sendall(frame(6, 1, 0, body))
    if kind == 0 and length:
      said = b'\x08\x01' if b'inner' in body else b'\x08\x02'
      c.sendall(frame(1, 4, stream, b'\x88' + lit(b'content-type', b'application/grpc')))
      c.sendall(frame(0, 0, stream, b'\x00' + struct.pack('>I', len(said)) + said))
      c.sendall(frame(1, 5, stream, lit(b'grpc-status', b'0')))
s = socket.create_server(('', 9000))
while True: threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
";

#[tokio::test]
async fn the_health_service_of_grpc_is_asked() -> Result<()> {
    let stage = Stage::set().await?;
    let probe = |service: &str| json!({"readinessProbe": {"grpc": {"port": 9000, "service": service}, "periodSeconds": 1}});
    stage.start("inner", once(python(GRPC).with(probe("inner")))).await?;
    stage.create("outer", once(python(GRPC).with(probe("outer")))).await?;
    let complaint = stage.event("outer", "Unhealthy").await?;
    assert!(complaint.starts_with("Readiness probe failed"), "{complaint}");
    let pod = stage.until("outer", "started", is_started).await?;
    assert!(!is_ready(&pod));
    stage.finish().await
}
