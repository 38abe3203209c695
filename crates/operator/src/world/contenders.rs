//! Objects whose names have one hash, as [`asb_core::collision`] wants to know them.

use asb_core::collision::{Contender, elder, message};
use asb_core::views::{PoolView, SandboxView, TemplateView};

use super::World;

impl World {
    /// The Sandbox that is served and has the hash of this one's name.
    pub(crate) fn older_twin(&self, sandbox: &SandboxView) -> Option<String> {
        let twins = self.sandboxes_of_hash.namesakes(&sandbox.metadata.key);
        let twins = twins.filter_map(|twin| self.sandboxes.get(twin));
        let live = twins.filter(|twin| !twin.metadata.is_deleting()).map(|twin| self.sandbox(twin));
        elder(self.sandbox(sandbox), live).map(|elder| elder.name().to_owned())
    }

    /// Why a template is not to be used: another one is served that has its hash.
    pub(crate) fn template_collision(&self, template: &TemplateView) -> Option<String> {
        let others = self.templates_of_hash.namesakes(&template.metadata.key);
        let others = others.filter_map(|other| self.templates.get(other)).map(|other| self.template(other));
        elder(self.template(template), others).map(message)
    }

    /// Why a pool is not to be filled.
    pub(crate) fn pool_collision(&self, pool: &PoolView) -> Option<String> {
        let others = self.pools_of_hash.namesakes(&pool.metadata.key);
        let others = others.filter_map(|other| self.pools.get(other)).map(|other| self.pool(other));
        elder(self.pool(pool), others).map(message)
    }

    fn sandbox<'a>(&self, sandbox: &'a SandboxView) -> Contender<'a> {
        let has_pod = self.pods.owned_by(&sandbox.metadata.uid).next().is_some();
        Contender::new(&sandbox.metadata, &sandbox.status.conditions, has_pod)
    }

    fn template<'a>(&self, template: &'a TemplateView) -> Contender<'a> {
        let has_policy = self.network_policies.owned_by(&template.metadata.uid).next().is_some();
        Contender::new(&template.metadata, &template.status.conditions, has_policy)
    }

    fn pool<'a>(&self, pool: &'a PoolView) -> Contender<'a> {
        let has_members = self.sandboxes.owned_by(&pool.metadata.uid).next().is_some();
        Contender::new(&pool.metadata, &pool.status.conditions, has_members)
    }
}
