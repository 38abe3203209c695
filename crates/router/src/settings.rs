//! What is set for the whole router.

use std::time::Duration;

use asb_core::route::Loopback;

#[derive(Clone, Debug)]
pub struct Settings {
    /// The one namespace whose Sandboxes are reached. All, if there is none.
    pub namespace: Option<String>,
    /// The domain below which host names are Sandboxes: `<port>-<sandbox>-<namespace>.<domain>`.
    pub domain: Option<String>,
    /// How long a Sandbox may take until its answer begins, where the request does not say.
    pub patience: Duration,
    /// The most that a request may say.
    pub most_patience: Duration,
    /// How long one attempt to connect to a Sandbox may take.
    pub dialing: Duration,
    /// How often connecting is tried again, and how long after; doubled each time.
    pub redials: u32,
    pub redial_after: Duration,
    /// The largest body of a request, if there is a limit.
    pub most_body: Option<u64>,
    /// How many requests of one client are carried at a time.
    pub requests_per_client: usize,
    /// How many connections there may be in all, and of one client.
    pub connections: usize,
    pub connections_per_client: usize,
    /// How long a connection may take to say what it wants, at first and each time.
    pub hello: Duration,
    /// How long a connection by HTTP/2 may go on that wants nothing.
    pub idle: Duration,
    /// How long requests may take to end once the router stops.
    pub goodbye: Duration,
    /// Whether Sandboxes may be at this machine's own addresses.
    pub loopback: Loopback,
    /// Whether each request is logged.
    pub access_log: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            namespace: None,
            domain: None,
            patience: Duration::from_mins(3),
            most_patience: Duration::from_hours(24),
            dialing: Duration::from_secs(5),
            redials: 3,
            redial_after: Duration::from_millis(200),
            most_body: None,
            requests_per_client: 256,
            connections: 4096,
            connections_per_client: 1024,
            hello: Duration::from_secs(10),
            idle: Duration::from_mins(2),
            goodbye: Duration::from_secs(30),
            loopback: Loopback::Refused,
            access_log: true,
        }
    }
}
