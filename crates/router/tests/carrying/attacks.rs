//! What somebody sends who wants more than they may have. Each attack is made on a router with two Sandboxes: `mine`, whose token the
//! attacker has, and `yours`.

mod confusion;
mod downgrade;
mod floods;
mod fuzz;
mod http2_floods;
mod smuggling;
mod ssrf;
mod tokens;

use asb_router::Settings;

use crate::raw::{self, Answer};
use crate::witness::{Seen, Witness};
use crate::world::{World, token};

pub(super) struct Scene {
    pub(super) world: World,
    pub(super) mine: Witness,
    pub(super) yours: Witness,
}

impl Scene {
    pub(super) async fn set() -> Self {
        Self::with(Settings::default()).await
    }

    pub(super) async fn with(settings: Settings) -> Self {
        // An address that hardly anybody else listens at: some attacks change ports.
        let (mine, yours) = (Witness::at("127.0.0.2:0").await, Witness::at("127.0.0.2:0").await);
        let world = World::with(settings).await;
        world.sandbox("mine", &["127.0.0.2"]).await;
        world.sandbox("yours", &["127.0.0.2"]).await;
        Self { world, mine, yours }
    }

    /// Headers that let a request into `mine`.
    pub(super) fn entitled(&self) -> String {
        let port = self.mine.port;
        format!(
            "Host: r\r\nX-Sandbox-ID: mine\r\nX-Sandbox-Port: {port}\r\nAuthorization: Bearer {}\r\n",
            token("mine")
        )
    }

    /// A request into `yours` by somebody who may not.
    pub(super) fn smuggled(&self) -> String {
        let port = self.yours.port;
        format!("GET /smuggled HTTP/1.1\r\nHost: r\r\nX-Sandbox-ID: yours\r\nX-Sandbox-Port: {port}\r\n\r\n")
    }

    pub(super) fn honest(&self) -> String {
        format!("GET /honest HTTP/1.1\r\n{}Connection: close\r\n\r\n", self.entitled())
    }

    /// Sends an attack and an honest request behind it, on one connection, and the honest one on another. What the client hears must be
    /// whole answers, each its own; nobody but the entitled may have got in.
    pub(super) async fn attack(&self, name: &str, attack: &[u8]) -> Vec<Answer> {
        let before = self.mine.paths().len();
        let bytes = [attack, self.honest().as_bytes()].concat();
        let answers = raw::answers(&raw::exchange(self.world.address, &bytes).await);
        let good: Vec<&str> =
            answers.iter().filter(|it| it.status == 200).map(|it| it.body.as_str()).collect();
        let in_order = ["seen:/attack", "seen:/honest"];
        assert!(
            [&in_order[..], &in_order[..1], &in_order[1..], &[]].contains(&&good[..]),
            "{name}: {answers:?}"
        );
        self.is_served(name).await;
        let paths = self.mine.paths();
        let fresh: Vec<&str> = paths[before..].iter().map(String::as_str).collect();
        let attacks = fresh.iter().filter(|path| **path == "/attack").count();
        assert!(
            attacks <= 1 && fresh.iter().all(|path| ["/attack", "/honest"].contains(path)),
            "{name}: {fresh:?}"
        );
        assert_eq!(self.yours.connections(), 0, "{name}");
        answers
    }

    /// An honest client gets its own answer.
    pub(super) async fn is_served(&self, after: &str) {
        let answers = raw::answers(&raw::exchange(self.world.address, self.honest().as_bytes()).await);
        let said: Vec<(u16, &str)> =
            answers.iter().map(|answer| (answer.status, answer.body.as_str())).collect();
        assert_eq!(said, [(200, "seen:/honest")], "after {after}");
    }

    /// Nothing but requests that were let in arrived anywhere.
    pub(super) fn has_seen_nothing_else(&self) {
        let is_good = |seen: &Seen| match seen {
            Seen::Request(message) => message.path == "/honest",
            Seen::Cut(_) | Seen::Malformed(_) => false,
        };
        assert!(self.mine.seen().iter().all(is_good), "{:?}", self.mine.seen());
        assert_eq!(self.yours.connections(), 0);
    }
}
