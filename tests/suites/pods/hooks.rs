//! Hooks after the start and before the end, and the signal to stop.

use anyhow::Result;
use asb_tests::wait;
use kube::api::DeleteParams;
use serde_json::{Value, json};

use crate::spec::{With, idle, once, python, sh};
use crate::stage::{Stage, is_ready, last_exit, restarts};

/// A claim outlives the Pod, so that what is done at the end can be seen after it.
const CLAIM: &str = "memory";

async fn claim(stage: &Stage) -> Result<()> {
    let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}});
    stage.put::<k8s_openapi::api::core::v1::PersistentVolumeClaim>(CLAIM, json!({"spec": spec})).await?;
    Ok(())
}

fn remembering(container: Value) -> Value {
    let container = container.with(json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}));
    once(container).with(json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": CLAIM}}]}))
}

/// What Pods of the past have written.
async fn memory(stage: &Stage) -> Result<String> {
    stage.run("reader", remembering(sh("cat /v/log"))).await
}

async fn delete(stage: &Stage, name: &str) -> Result<()> {
    let pod = stage.pods().delete(name, &DeleteParams::default()).await?.left().expect("it takes its time");
    Ok(wait::for_gone(&stage.pods(), &pod).await?)
}

#[tokio::test]
async fn hooks_run_in_the_container_after_its_start_and_before_its_end() -> Result<()> {
    let stage = Stage::set().await?;
    claim(&stage).await?;
    let hook = |word: &str| json!({"exec": {"command": ["sh", "-c", format!("echo {word} >> /v/log")]}});
    let container = sh("trap 'echo signal >> /v/log; exit 0' TERM; while :; do sleep 0.05; done");
    let container =
        container.with(json!({"lifecycle": {"postStart": hook("start"), "preStop": hook("stop")}}));
    stage.start("hooked", remembering(container)).await?;
    delete(&stage, "hooked").await?;
    assert_eq!(memory(&stage).await?, "start\nstop\nsignal");
    stage.finish().await
}

#[tokio::test]
async fn hooks_ask_the_pod_over_http() -> Result<()> {
    let stage = Stage::set().await?;
    claim(&stage).await?;
    let server = "
import http.server
class H(http.server.BaseHTTPRequestHandler):
  def do_GET(self):
    open('/v/log', 'a').write(self.path + ' ' + self.headers['X-Who'] + '\\n')
    self.send_response(200); self.end_headers()
  def log_message(*a): pass
http.server.HTTPServer(('', 8080), H).serve_forever()";
    let get = |path: &str| json!({"httpGet": {"path": path, "port": "web", "scheme": "HTTP", "httpHeaders": [{"name": "X-Who", "value": "node"}]}});
    let container = python(server).with(json!({
        "ports": [{"containerPort": 8080, "name": "web"}],
        "readinessProbe": {"httpGet": {"path": "/probe", "port": 8080, "httpHeaders": [{"name": "X-Who", "value": "probe"}]}, "periodSeconds": 1},
        "lifecycle": {"preStop": get("/stop")},
    }));
    let spec = remembering(container).with(json!({"terminationGracePeriodSeconds": 1}));
    stage.start("asked", spec).await?;
    delete(&stage, "asked").await?;
    let log = memory(&stage).await?;
    assert!(log.starts_with("/probe probe") && log.contains("/stop node"), "{log}");
    stage.finish().await
}

#[tokio::test]
async fn hooks_may_only_wait() -> Result<()> {
    let stage = Stage::set().await?;
    let wait = |seconds: u32| json!({"sleep": {"seconds": seconds}});
    let container = idle().with(json!({"lifecycle": {"postStart": wait(1), "preStop": wait(1)}}));
    let begun = std::time::Instant::now();
    stage.start("slow", once(container)).await?;
    assert!(begun.elapsed().as_secs_f32() >= 1.0, "it is up too early");
    let begun = std::time::Instant::now();
    delete(&stage, "slow").await?;
    assert!(begun.elapsed().as_secs_f32() >= 1.0, "it is gone too early");
    stage.finish().await
}

#[tokio::test]
async fn a_failed_hook_restarts_the_container() -> Result<()> {
    let stage = Stage::set().await?;
    let hook = json!({"lifecycle": {"postStart": {"exec": {"command": ["sh", "-c", "[ -e /v/been ] || { touch /v/been; exit 1; }"]}}}});
    let container = idle().with(hook).with(json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}));
    let spec = json!({"containers": [container], "volumes": [{"name": "v", "emptyDir": {}}], "terminationGracePeriodSeconds": 1});
    stage.start("refused", spec).await?;
    let pod = stage.until("refused", "ready again", |pod| is_ready(pod) && restarts(pod) == 1).await?;
    assert!(last_exit(&pod).is_some());
    stage.finish().await
}

/// Kubernetes 1.36 keeps the field behind a gate that is off, and so the API server drops it; the image's signal counts.
#[tokio::test]
async fn a_signal_to_stop_is_dropped_as_long_as_kubernetes_drops_it() -> Result<()> {
    let stage = Stage::set().await?;
    claim(&stage).await?;
    let script = "for s in TERM USR1 INT; do trap \"echo $s >> /v/log; exit 0\" $s; done; touch /tmp/up; while :; do sleep 0.05; done";
    let up = json!({"exec": {"command": ["test", "-e", "/tmp/up"]}, "periodSeconds": 1});
    let container = sh(script).with(json!({"lifecycle": {"stopSignal": "SIGUSR1"}, "readinessProbe": up}));
    let pod = stage.start("signalled", remembering(container)).await?;
    assert_eq!(pod.spec.and_then(|spec| spec.containers[0].lifecycle.clone()), None);
    delete(&stage, "signalled").await?;
    assert_eq!(memory(&stage).await?, "TERM");
    stage.finish().await
}
