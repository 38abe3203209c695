//! Pods, made the short way.

use serde_json::{Value, json};

/// This machine's own programs.
pub const IMAGE: &str = "asb.local/host";

/// A container that runs a shell script.
pub fn sh(script: &str) -> Value {
    json!({"name": "main", "image": IMAGE, "command": ["sh", "-ec", script]})
}

pub fn python(script: &str) -> Value {
    json!({"name": "main", "image": IMAGE, "command": ["python3", "-uc", script]})
}

/// A container that waits until it is told to stop.
pub fn idle() -> Value {
    sh("trap 'exit 0' TERM; while :; do sleep 0.1; done")
}

/// A Pod of one container, which is tried once.
pub fn once(container: Value) -> Value {
    json!({"restartPolicy": "Never", "containers": [container]})
}

/// The same with more to say, or with something else.
pub trait With {
    #[must_use]
    fn with(self, more: Value) -> Self;
}

impl With for Value {
    fn with(mut self, more: Value) -> Self {
        let Value::Object(more) = more else { panic!("fields to add") };
        self.as_object_mut().expect("an object").extend(more);
        self
    }
}
