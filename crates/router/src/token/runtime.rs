//! What the router shows to the runtime inside a Sandbox: `s1.<payload>.<signature>`, for one UID and a short time. The runtime
//! knows the public key and its Sandbox's UID, and nothing secret.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::PrivateKey;

const WORD: &str = "agent-sandbox/sandboxd-token/v1.";

/// How long the runtime may take it. Short: whoever sees one has that long.
pub(crate) const LIFETIME: SignedDuration = SignedDuration::from_mins(5);

/// A token for the Sandbox of this UID.
pub fn for_runtime(uid: &str, key: &PrivateKey, now: Timestamp) -> String {
    let end = now.as_second() + LIFETIME.as_secs();
    let payload = URL_SAFE_NO_PAD.encode(json!({"uid": uid, "exp": end}).to_string());
    let signature = URL_SAFE_NO_PAD.encode(key.sign(format!("{WORD}{payload}").as_bytes()));
    format!("s1.{payload}.{signature}")
}
