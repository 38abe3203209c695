//! What Pods take of the node together, for those who decide about many and do not want to count all of them each time.

use k8s_openapi::api::core::v1::Pod;

use super::has_ended;
use crate::pod::resources::{Resources, requests};

pub(super) const PODS: &str = "pods";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Load(Resources);

impl Load {
    /// Nothing for a Pod that has ended.
    pub fn of(pod: &Pod) -> Self {
        let Some(spec) = pod.spec.as_ref().filter(|_| !has_ended(pod)) else { return Self::default() };
        let mut taken = requests(spec);
        taken.set(PODS, 1);
        Self(taken)
    }

    pub fn add(&mut self, other: &Self) {
        self.0.add(&other.0);
    }

    pub(super) fn of_all(pods: &[&Pod]) -> Self {
        let mut all = Self::default();
        for pod in pods {
            all.add(&Self::of(pod));
        }
        all
    }

    pub(super) fn get(&self, resource: &str) -> i64 {
        self.0.get(resource)
    }
}
