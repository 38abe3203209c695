//! What people are told besides status: events, and failures in the words of those who met them.

use serde::Serialize;

/// An event about an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    pub severity: Severity,
    pub reason: &'static str,
    pub action: &'static str,
    pub note: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Severity {
    Normal,
    Warning,
}

/// What went wrong while a plan was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It may pass: it is tried again.
    Transient(String),
    /// The API server refuses what the user asks for: only a change of the object helps.
    Permanent(String),
}

/// Parts of the messages by which admission says that it will not have an object for what the object asks. Quotas,
/// permissions and things that are not there yet are forbidden in other words.
const OBJECTIONS: [&str; 4] = [
    // Pod security standards.
    "violates PodSecurity",
    // Webhooks, and policies in CEL.
    "denied the request",
    "denied request",
    // Limit ranges: "maximum cpu usage per Container is 1, but limit is 2".
    " usage per ",
];

/// Whether what is forbidden is what the object asks for, so that only a change of it, or of a policy, helps.
pub fn is_objection(message: &str) -> bool {
    OBJECTIONS.iter().any(|objection| message.contains(objection))
}

/// How a failure that may pass is told.
pub fn error_seen(problem: &str) -> String {
    format!("Error seen: {problem}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_policy_objects_to_is_told_from_what_there_is_no_room_for() {
        let objections = [
            r#"pods "p" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true"#,
            r#"admission webhook "policy.example" denied the request: no image of that registry"#,
            "ValidatingAdmissionPolicy 'small' with binding 'small' denied request: too large",
            r#"pods "p" is forbidden: [maximum cpu usage per Container is 1, but limit is 2]"#,
        ];
        let others = [
            r#"pods "p" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1"#,
            r#"pods "p" is forbidden: error looking up service account team/later: serviceaccount "later" not found"#,
            r#"pods is forbidden: User "x" cannot create resource "pods" in API group "" in the namespace "team""#,
        ];
        assert!(objections.iter().all(|message| is_objection(message)));
        assert!(!others.iter().any(|message| is_objection(message)));
    }
}
