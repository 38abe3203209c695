//! Bodies of requests that are no objects of their own: what is posted to subresources.

use super::at::At;
use super::metadata::{self, NameRule};

const LEAST_AGE: i64 = 10 * 60;
const MOST_AGE: i64 = 1 << 32;

/// Which node a pod runs on.
pub(super) fn binding(binding: &At) {
    let target = binding.field("target");
    if !["", "Node"].contains(&target.text_of("kind")) {
        target.field("kind").not_supported(target.text_of("kind"), &["Node", "<empty>"]);
    }
    target.field("name").must_be_given();
}

pub(super) fn eviction(eviction: &At) {
    let options = eviction.field("deleteOptions");
    let unsafely = options.field("ignoreStoreReadErrorWithClusterBreakingPotential");
    if unsafely.flag() {
        unsafely.invalid(true, "can not be set for pod eviction, try after removing the option");
    }
}

pub(super) fn token(request: &At) {
    token_age(&request.field("spec").field("expirationSeconds"));
}

/// For how long a token is good.
pub(super) fn token_age(seconds: &At) {
    if seconds.integer() < LEAST_AGE {
        seconds.invalid(seconds.integer(), "may not specify a duration less than 10 minutes");
    }
    if seconds.integer() > MOST_AGE {
        seconds.invalid(seconds.integer(), "may not specify a duration larger than 2^32 seconds");
    }
}

pub(super) fn scale(scale: &At) {
    metadata::new_of_kubernetes(&scale.field("metadata"), true, NameRule::Dns1123Subdomain);
    scale.field("spec").field("replicas").must_not_be_negative();
}
