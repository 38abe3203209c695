//! Who may open a stream.

use crate::kubectl::{self, Kubectl, text};
use crate::server::Server;

/// Runs kubectl as somebody who may read Pods and all their parts, and nothing else.
async fn as_reader(kubectl: &Kubectl, arguments: &[&str]) -> String {
    let parts = "--resource=pods,pods/attach,pods/exec,pods/portforward";
    let role = ["create", "role", "reader", "--verb=get,list", parts];
    let binding = ["create", "rolebinding", "reader", "--role=reader", "--user=reader"];
    for command in [&role[..], &binding[..]] {
        kubectl.run(command, b"").await;
    }
    let output = kubectl.run(&[&["--as=reader"], arguments].concat(), b"").await;
    assert!(!output.status.success());
    text(&output.stderr).to_owned()
}

/// Over WebSockets a stream is asked for by GET, which must not be a way around the right to create one.
#[tokio::test]
async fn reading_pods_is_not_enough_to_open_streams_into_them() {
    let server = Server::start().await;
    for kubectl in kubectl::all(&server) {
        for (command, right) in [
            (&["exec", "demo", "--", "true"][..], "create resource \"pods/exec\""),
            (&["attach", "demo"], "create resource \"pods/attach\""),
            (&["port-forward", "demo", ":80"], "create resource \"pods/portforward\""),
            (&["logs", "demo"], "get resource \"pods/log\""),
        ] {
            let refusal =
                format!("pods \"demo\" is forbidden: User \"reader\" cannot {right} in API group \"\"");
            let said = as_reader(&kubectl, command).await;
            assert!(said.contains(&refusal), "{said}");
        }
    }
}

#[tokio::test]
async fn nobody_is_told_whether_a_pod_exists() {
    let server = Server::start().await;
    let [kubectl, ..] = &kubectl::all(&server)[..] else { panic!("there is a kubectl") };
    for pod in ["demo", "other"] {
        let output = kubectl.run(&["--as=nobody", "exec", pod, "--", "true"], b"").await;
        let refusal = format!("Error from server (Forbidden): pods \"{pod}\" is forbidden");
        assert!(text(&output.stderr).starts_with(&refusal), "{output:?}");
    }
}
