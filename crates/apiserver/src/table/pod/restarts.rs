//! How often the containers of a pod were restarted, and when the last time was.

use jiff::Timestamp;
use serde_json::Value;

use super::super::age;
use super::super::reading::{integer, text};

#[derive(Default)]
pub(in super::super) struct Restarts {
    count: i64,
    last: Option<Timestamp>,
}

impl Restarts {
    pub(super) fn add(&mut self, container: &Value) {
        self.count = self.count.saturating_add(integer(container, "/restartCount"));
        let ended = text(container, "/lastState/terminated/finishedAt").parse().ok();
        self.last = self.last.max(ended);
    }

    pub(super) fn shown(&self, now: Timestamp) -> String {
        match self.last {
            Some(last) if self.count != 0 => {
                format!("{} ({} ago)", self.count, age::since(&last.to_string(), now))
            }
            _ => self.count.to_string(),
        }
    }
}
