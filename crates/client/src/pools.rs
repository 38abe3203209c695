//! Pools: keep Sandboxes of a template warm, more or fewer of them.

use asb_types::v1beta1::{SandboxTemplateRef, SandboxWarmPool, SandboxWarmPoolSpec};
use kube::ResourceExt;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::client::Client;
use crate::error::Error;
use crate::objects;

/// A pool to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPool {
    pub name: String,
    pub template: String,
    pub size: PoolSize,
}

/// How many Sandboxes a pool keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolSize {
    Fixed(i32),
    /// As many as demand asks for, between the two.
    Between {
        least: Option<i32>,
        most: Option<i32>,
    },
}

impl NewPool {
    /// The object to create.
    pub fn pool(&self) -> SandboxWarmPool {
        let metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
        let (replicas, min_size, max_size) = match self.size {
            PoolSize::Fixed(replicas) => (replicas, None, None),
            PoolSize::Between { least, most } => (least.unwrap_or_default(), least, most),
        };
        let sandbox_template_ref = SandboxTemplateRef { name: self.template.clone() };
        let spec =
            SandboxWarmPoolSpec { replicas, min_size, max_size, sandbox_template_ref, update_strategy: None };
        SandboxWarmPool { metadata, spec, status: None }
    }
}

impl PoolSize {
    /// A fixed size takes the bounds away: with them it would not count.
    fn patch(self) -> Value {
        match self {
            Self::Fixed(replicas) => json!({"replicas": replicas, "minSize": null, "maxSize": null}),
            Self::Between { least, most } => json!({"minSize": least, "maxSize": most}),
        }
    }
}

impl Client {
    /// The pools of one namespace, or of all.
    pub async fn pools(&self, namespace: Option<&str>) -> Result<Vec<SandboxWarmPool>, Error> {
        self.list(namespace, "list pools").await
    }

    /// The pool of that name.
    pub async fn pool(&self, namespace: &str, name: &str) -> Result<SandboxWarmPool, Error> {
        self.get(namespace, name, "pool").await
    }

    /// Makes a pool in the client's namespace.
    pub async fn create_pool(&self, wanted: &NewPool) -> Result<SandboxWarmPool, Error> {
        let pools = self.api::<SandboxWarmPool>(self.namespace());
        let created = pools.create(&PostParams::default(), &wanted.pool()).await;
        created.map_err(|source| Error::api("create the pool", source))
    }

    /// Makes a pool keep more Sandboxes, or fewer.
    pub async fn scale_pool(
        &self,
        namespace: &str,
        name: &str,
        size: PoolSize,
    ) -> Result<SandboxWarmPool, Error> {
        let pool = self.pool(namespace, name).await?;
        let patch = Patch::Merge(json!({"spec": size.patch()}));
        let pools = self.api::<SandboxWarmPool>(namespace);
        let scaled = pools.patch(&pool.name_any(), &PatchParams::default(), &patch).await;
        scaled.map_err(|source| Error::api(format!("scale pool {name:?}"), source))
    }

    /// Deletes a pool, and with it the Sandboxes that nobody has claimed.
    pub async fn delete_pool(&self, pool: &SandboxWarmPool) -> Result<(), Error> {
        let pools = self.api::<SandboxWarmPool>(&pool.namespace().unwrap_or_default());
        objects::delete(&pools, pool, "delete the pool").await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_has_a_size_or_bounds() {
        let pool =
            |size| NewPool { name: "warm".to_owned(), template: "python".to_owned(), size }.pool().spec;
        let fixed = pool(PoolSize::Fixed(3));
        assert_eq!((fixed.replicas, fixed.min_size, fixed.max_size), (3, None, None));
        let bounded = pool(PoolSize::Between { least: Some(1), most: Some(5) });
        assert_eq!((bounded.replicas, bounded.min_size, bounded.max_size), (1, Some(1), Some(5)));
    }

    #[test]
    fn a_fixed_size_takes_bounds_away() {
        assert_eq!(PoolSize::Fixed(2).patch(), json!({"replicas": 2, "minSize": null, "maxSize": null}));
    }
}
