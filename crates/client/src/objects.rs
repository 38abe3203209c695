//! What goes for the objects of every kind: list, get, delete, wait until they are gone.

use std::fmt::Debug;
use std::io;
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use kube::api::{DeleteParams, ListParams, Preconditions};
use kube::runtime::wait::{await_condition, conditions::is_deleted};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use crate::client::Client;
use crate::error::Error;

/// How long an object that was just deleted may still be there.
const PATIENCE: Duration = Duration::from_mins(5);

/// A kind that lives in namespaces and has a type of its own.
pub(crate) trait Kind:
    Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static
{
}

impl<K> Kind for K where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + DeserializeOwned
        + Debug
        + Send
        + 'static
{
}

impl Client {
    pub(crate) async fn list<K: Kind>(&self, namespace: Option<&str>, doing: &str) -> Result<Vec<K>, Error> {
        let found = self.api_across::<K>(namespace).list(&ListParams::default()).await;
        Ok(found.map_err(|source| Error::api(doing, source))?.items)
    }

    pub(crate) async fn get<K: Kind>(
        &self,
        namespace: &str,
        name: &str,
        what: &'static str,
    ) -> Result<K, Error> {
        let found = self.api::<K>(namespace).get_opt(name).await;
        let found = found.map_err(|source| Error::api(format!("look for {what} {name:?}"), source))?;
        let missing = || Error::NotFound { what, name: name.to_owned(), namespace: namespace.to_owned() };
        found.ok_or_else(missing)
    }
}

pub(crate) async fn delete<K: Kind>(api: &Api<K>, object: &K, doing: &str) -> Result<(), Error> {
    let params = DeleteParams::background().preconditions(only(object));
    match api.delete(&object.name_any(), &params).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        deleted => deleted.map(drop).map_err(|source| Error::api(doing, source)),
    }
}

pub(crate) async fn wait_until_gone<K: Kind>(api: &Api<K>, object: &K) -> Result<(), Error> {
    let (name, uid) = (object.name_any(), object.uid().unwrap_or_default());
    // A watch is large, and whoever deletes has no use for that.
    let gone = Box::pin(await_condition(api.clone(), &name, is_deleted(&uid)));
    let what = format!("the end of {} {name:?}", K::kind(&()));
    match tokio::time::timeout(PATIENCE, gone).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => {
            Err(Error::Transfer { doing: format!("cannot await {what}"), source: io::Error::other(error) })
        }
        Err(_) => {
            let source = io::ErrorKind::TimedOut.into();
            Err(Error::Transfer { doing: format!("waited in vain for {what}"), source })
        }
    }
}

/// This very object, and not one that has its name by now.
pub(crate) fn only<K: Resource>(object: &K) -> Preconditions {
    Preconditions { uid: object.meta().uid.clone(), resource_version: None }
}
