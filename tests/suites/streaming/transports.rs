//! Which transport a stream is carried over. A client whose transport fails tries the next one without a word, so what
//! arrives says nothing of it; what kubectl asked for does.

use crate::kubectl::{self, Kubectl, Transport, text};
use crate::server::Server;

/// The request for a stream, as kubectl logs it: over WebSockets a GET, over SPDY a POST.
fn asked(kubectl: &Kubectl, log: &str, part: &str) -> bool {
    let verb = if kubectl.transport == Transport::WebSocket { "GET" } else { "POST" };
    let requests: Vec<_> = log.lines().filter(|line| line.contains(part)).collect();
    requests.len() == 1 && requests[0].contains(verb) && requests[0].contains("101 Switching Protocols")
}

#[tokio::test]
async fn commands_are_carried_over_the_transport_that_kubectl_prefers() {
    let server = Server::start().await;
    for kubectl in kubectl::all(&server) {
        let output = kubectl.run(&["-v=6", "exec", "demo", "--", "true"], b"").await;
        assert!(asked(&kubectl, text(&output.stderr), "pods/demo/exec?"), "{}", text(&output.stderr));
        let output = kubectl.run(&["-v=6", "attach", "-i", "demo"], b"").await;
        assert!(asked(&kubectl, text(&output.stderr), "pods/demo/attach?"), "{}", text(&output.stderr));
    }
}
