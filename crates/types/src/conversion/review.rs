//! The conversion webhook's answer, without the server around it: a ConversionReview in, a ConversionReview out.

use std::error::Error;

use kube::core::Status;
use kube::core::conversion::{ConversionRequest, ConversionResponse, ConversionReview};
use serde_json::Value;

use super::{ConversionError, Version, convert};

/// Answers a review. One object that cannot be converted fails it whole, as the API server expects.
pub fn review(review: ConversionReview) -> ConversionReview {
    match ConversionRequest::from_review(review) {
        Ok(mut request) => {
            let objects = std::mem::take(&mut request.objects);
            let converted = convert_all(&request.desired_api_version, objects);
            let response = ConversionResponse::for_request(request);
            match converted {
                Ok(objects) => response.success(objects),
                Err(error) => response.failure(failure(&error)),
            }
        }
        Err(error) => {
            ConversionResponse::invalid(Status::failure(&error.to_string(), "BadRequest").with_code(400))
        }
    }
    .into_review()
}

fn convert_all(desired: &str, objects: Vec<Value>) -> Result<Vec<Value>, ConversionError> {
    let version = Version::of(desired)?;
    objects.into_iter().map(|object| convert(object, version)).collect()
}

fn failure(error: &ConversionError) -> Status {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    Status::failure(&format!("{error}{cause}"), "Invalid").with_code(422)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ask(desired: &str, objects: &[Value]) -> Value {
        let request = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
            "request": {"uid": "705ab4f5", "desiredAPIVersion": desired, "objects": objects},
        });
        let review = review(serde_json::from_value(request).expect("a review"));
        serde_json::to_value(review).expect("a review is plain data")
    }

    #[test]
    fn answers_with_the_objects_in_their_order() {
        let sandbox = |name: &str| {
            json!({
                "apiVersion": "agents.x-k8s.io/v1alpha1", "kind": "Sandbox",
                "metadata": {"name": name}, "spec": {"podTemplate": {"spec": {"containers": []}}, "replicas": 0},
            })
        };
        let answer = ask("agents.x-k8s.io/v1beta1", &[sandbox("a"), sandbox("b")]);
        insta::assert_json_snapshot!(answer);
    }

    #[test]
    fn one_bad_object_fails_the_review_and_says_why() {
        let claim = json!({
            "apiVersion": "extensions.agents.x-k8s.io/v1alpha1", "kind": "SandboxClaim",
            "metadata": {"name": "c", "annotations": {"api.agents.x-k8s.io/v1beta1-sandboxclaim-state": "{"}},
            "spec": {"sandboxTemplateRef": {"name": "t"}},
        });
        let answer = ask("extensions.agents.x-k8s.io/v1beta1", &[claim]);
        insta::assert_json_snapshot!(answer["response"]);
    }

    #[test]
    fn a_review_without_a_request_is_refused() {
        let empty = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"});
        let answer = review(serde_json::from_value(empty).expect("a review"));
        let result = answer.response.expect("a response").result;
        assert_eq!(result.message, "request missing in ConversionReview");
    }
}
