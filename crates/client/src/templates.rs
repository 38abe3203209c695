//! Templates: what the Sandboxes of pools and claims are like.

use asb_types::v1beta1::SandboxTemplate;
use kube::ResourceExt;
use kube::api::PostParams;

use crate::client::Client;
use crate::error::Error;
use crate::objects;
use crate::request::NewSandbox;

impl Client {
    /// The templates of one namespace, or of all.
    pub async fn templates(&self, namespace: Option<&str>) -> Result<Vec<SandboxTemplate>, Error> {
        self.list(namespace, "list templates").await
    }

    /// The template of that name.
    pub async fn template(&self, namespace: &str, name: &str) -> Result<SandboxTemplate, Error> {
        self.get(namespace, name, "template").await
    }

    /// Makes a template in the client's namespace: Sandboxes of it are like the one asked for.
    pub async fn create_template(&self, wanted: &NewSandbox) -> Result<SandboxTemplate, Error> {
        let templates = self.api::<SandboxTemplate>(self.namespace());
        let created = templates.create(&PostParams::default(), &wanted.template()).await;
        created.map_err(|source| Error::api("create the template", source))
    }

    /// Deletes a template. Sandboxes that were made of it stay.
    pub async fn delete_template(&self, template: &SandboxTemplate) -> Result<(), Error> {
        let templates = self.api::<SandboxTemplate>(&template.namespace().unwrap_or_default());
        objects::delete(&templates, template, "delete the template").await
    }
}
