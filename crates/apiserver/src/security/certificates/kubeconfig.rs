//! The kubeconfig of the administrator: all that `kubectl` needs, in one private file.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::files::replace_private;
use super::{Certificates, Error};

const NAME: &str = "agent-sandbox";
const USER: &str = "kubernetes-admin";

impl Certificates {
    /// The text of a kubeconfig for a server such as `https://127.0.0.1:6443`, with everything embedded.
    pub fn kubeconfig(&self, server: &str) -> String {
        let encoded = |pem: &str| STANDARD.encode(pem);
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": NAME, "cluster": {
                "server": server,
                "certificate-authority-data": encoded(&self.authority_pem()),
            }}],
            "users": [{"name": USER, "user": {
                "client-certificate-data": encoded(&self.admin.certificate_pem),
                "client-key-data": encoded(&self.admin.key.serialize_pem()),
            }}],
            "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": USER}}],
            "current-context": NAME,
        });
        // JSON is YAML, and leaves no question of quoting.
        format!("{config:#}\n")
    }
}

/// Writes a kubeconfig whole or not at all, readable for its owner only, whatever was there before.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    replace_private(path, text)
}
