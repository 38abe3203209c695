//! What each Pod takes of the node.

use std::collections::HashMap;

use asb_core::pod::scheduler::Load;
use k8s_openapi::api::core::v1::Pod;

use super::uid;

/// What each Pod takes, counted once for every state of its spec.
#[derive(Debug, Default)]
pub(super) struct Loads(HashMap<String, (Option<i64>, Option<String>, Load)>);

impl Loads {
    pub(super) fn of(&mut self, pod: &Pod) -> &Load {
        let phase = pod.status.as_ref().and_then(|status| status.phase.clone());
        let state = (pod.metadata.generation, phase);
        let known =
            self.0.entry(uid(pod).to_owned()).or_insert_with(|| (state.0, state.1.clone(), Load::of(pod)));
        if (known.0, &known.1) != (state.0, &state.1) {
            *known = (state.0, state.1, Load::of(pod));
        }
        &known.2
    }

    pub(super) fn keep(&mut self, is_there: impl Fn(&str) -> bool) {
        self.0.retain(|uid, _| is_there(uid));
    }
}
