//! Requests that want to be carried elsewhere than to a Sandbox. They come by a forwarded connection of somebody who may reach every
//! Sandbox, so that nothing but where they lead keeps them back. A trap listens where they want to go.

use asb_router::Settings;
use serde_json::json;
use tokio::net::TcpStream;

use crate::backend::Backend;
use crate::raw::{self, Answer};
use crate::witness::Witness;
use crate::world::{World, ask};

struct Place {
    world: World,
    trap: Witness,
}

impl Place {
    async fn set() -> Self {
        let settings = Settings { domain: Some("boxes.test".to_owned()), ..Settings::default() };
        let (world, trap) = (World::with(settings).await, Witness::at("127.0.0.3:0").await);
        world.router_pod(json!([{"name": "router", "image": "i"}])).await;
        // Nobody listens at the Sandbox: what does not go elsewhere goes nowhere.
        world.sandbox("mine", &["127.0.0.2"]).await;
        Self { world, trap }
    }

    /// Sends one request; `{trap}` is the port of the trap.
    async fn send(&self, target: &str, headers: &str) -> Vec<Answer> {
        let port = self.trap.port.to_string();
        let request =
            format!("GET {target} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").replace("{trap}", &port);
        raw::answers(&raw::exchange(self.world.tunnel, request.as_bytes()).await)
    }

    async fn leads_nowhere(&self, target: &str, headers: &str) {
        let answers = self.send(target, headers).await;
        let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
        assert!(matches!(statuses[..], [400 | 502]), "{target} {headers}: {answers:?}");
        assert_eq!(self.trap.connections(), 0, "{target} {headers}");
    }
}

/// Whatever could be taken for a name, and lead elsewhere as part of an address.
const NAMES: &[&str] = &[
    "127.0.0.3",
    "127.0.0.3:{trap}",
    "0x7f000003",
    "[::ffff:127.0.0.3]",
    "::ffff:127.0.0.3",
    "localhost",
    "169.254.169.254",
    "metadata.google.internal",
    "kubernetes.default.svc",
    "mine@127.0.0.3",
    "mine:{trap}@127.0.0.3",
    "127.0.0.3/mine",
    "127.0.0.3#mine",
    "127.0.0.3?mine",
    "127.0.0.3\\mine",
    "..",
    ".",
    "../mine",
    "mine/..",
    "mine.",
    ".mine",
    "mi%6ee",
    "mine%2e127",
    "127%2e0%2e0%2e3",
    "mine%00",
    "mine,127.0.0.3",
    "mine 127.0.0.3",
    "mine\u{3002}127",
    "\u{ff4d}ine",
    "MINE",
    "xn--mine-",
    "-mine",
    "mine_",
    "*",
];

#[tokio::test(flavor = "multi_thread")]
async fn no_name_is_an_address() {
    let place = Place::set().await;
    for name in NAMES {
        place
            .leads_nowhere("/", &format!("Host: r\r\nX-Sandbox-Port: {{trap}}\r\nX-Sandbox-ID: {name}\r\n"))
            .await;
        let namespaced = format!(
            "Host: r\r\nX-Sandbox-Port: {{trap}}\r\nX-Sandbox-ID: mine\r\nX-Sandbox-Namespace: {name}\r\n"
        );
        place.leads_nowhere("/", &namespaced).await;
        place.leads_nowhere("/", &format!("Host: {{trap}}-{name}-default.boxes.test\r\n")).await;
    }
    TcpStream::connect(("127.0.0.3", place.trap.port)).await.expect("the trap is set");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_port_is_more_than_a_port() {
    let place = Place::set().await;
    for port in [
        "0",
        "65536",
        "-1",
        "+80",
        "8 0",
        "80@127.0.0.3:{trap}",
        "{trap}/",
        "0x50",
        "\u{ff18}\u{ff10}",
        "{trap}#",
        "",
        "1e3",
    ] {
        let headers = format!("Host: r\r\nX-Sandbox-ID: mine\r\nX-Sandbox-Port: {port}\r\n");
        let answers = place.send("/", &headers).await;
        assert_eq!(answers[0].status, 400, "{port}: {answers:?}");
    }
    assert_eq!(place.trap.connections(), 0);
}

/// Of a client's word on where the Sandbox is nothing counts that its status does not say too.
#[tokio::test(flavor = "multi_thread")]
async fn no_hint_leads_elsewhere() {
    let place = Place::set().await;
    let hints = [
        "127.0.0.3",
        "::ffff:127.0.0.3",
        "127.0.0.3:{trap}",
        "169.254.169.254",
        "::1",
        "0.0.0.0",
        "192.0.2.1",
        "2001:db8::1",
    ];
    for hint in hints {
        let common = "Host: r\r\nX-Sandbox-ID: mine\r\nX-Sandbox-Port: {trap}\r\n";
        place.leads_nowhere("/", &format!("{common}X-Sandbox-Pod-IP: {hint}\r\n")).await;
        place.leads_nowhere("/", &format!("{common}X-Sandbox-UID: {hint}\r\n")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_host_leads_elsewhere() {
    let place = Place::set().await;
    let hosts = [
        "127.0.0.3:{trap}",
        "[::ffff:127.0.0.3]:{trap}",
        "{trap}-mine-default.boxes.test@127.0.0.3:{trap}",
        "127.0.0.3:{trap}#.boxes.test",
        "127.0.0.3:{trap}/.boxes.test",
        "{trap}-127-0-0-3.boxes.test",
        "{trap}-mine-default.boxes.test.127.0.0.3",
        "65536-mine-default.boxes.test",
        "-mine-default.boxes.test",
        "boxes.test",
        "",
    ];
    for host in hosts {
        place.leads_nowhere("/", &format!("Host: {host}\r\n")).await;
        place.leads_nowhere(&format!("http://{host}/"), "Host: r\r\n").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_path_leads_elsewhere() {
    let place = Place::set().await;
    let paths = [
        "/sandboxes/default/127.0.0.3/{trap}/",
        "/sandboxes/default/mine@127.0.0.3/{trap}/",
        "/sandboxes/default/mine/{trap}@127.0.0.3:{trap}/",
        "/sandboxes/127.0.0.3/mine/{trap}/",
        "/sandboxes/default/../{trap}/",
        "/sandboxes/default/%6dine/{trap}/",
        "/sandboxes/default%2fmine%2f{trap}/",
        "/sandboxes//mine/{trap}/",
        "/sandboxes/default/mine/{trap}///127.0.0.3:{trap}/",
        "/sandboxes/default/mine/{trap}/http://127.0.0.3:{trap}/",
        "//127.0.0.3:{trap}/",
        "http://127.0.0.3:{trap}/",
        "http://mine@127.0.0.3:{trap}/",
        "ftp://127.0.0.3:{trap}/",
    ];
    for path in paths {
        place.leads_nowhere(path, "Host: r\r\n").await;
    }
}

/// A Sandbox that answers with another place sends the client there, and not the router.
#[tokio::test(flavor = "multi_thread")]
async fn the_router_is_not_sent_elsewhere() {
    let (world, trap) = (World::start().await, Witness::start().await);
    let elsewhere = format!("http://127.0.0.1:{}/", trap.port);
    let backend = Backend::serve(move |_| {
        let answer = http::Response::builder().status(302).header("Location", &elsewhere);
        std::future::ready(answer.body(http_body_util::Full::default()).expect("an answer"))
    })
    .await;
    world.sandbox("box", &["127.0.0.1"]).await;
    assert_eq!(ask(world.to("box", backend.port, "/"), "").await.0.as_u16(), 302);
    assert_eq!(trap.connections(), 0);
}
