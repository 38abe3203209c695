//! What was written to an API server, as it counts itself: by verb and resource. Bindings and leases are left out, and so is
//! what only looks like a write.

use std::collections::BTreeMap;

use super::exposition::{Labels, samples};

/// Requests by verb and resource, such as `patch sandboxes/status`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Writes {
    pub(super) by_resource: BTreeMap<String, f64>,
    /// Of these, the ones that were answered with an error.
    pub(super) refused: f64,
}

impl Writes {
    pub(super) fn read(exposition: &str) -> Self {
        let mut writes = Self::default();
        for (labels, count) in samples(exposition, "apiserver_request_total") {
            if let Some(name) = name(&labels) {
                *writes.by_resource.entry(name).or_default() += count;
                let code = labels.get("code").map(String::as_str).unwrap_or_default();
                writes.refused += if code.starts_with('2') { 0.0 } else { count };
            }
        }
        writes
    }

    /// What was written since.
    pub(super) fn since(&self, before: &Self) -> Self {
        let earlier = |name| before.by_resource.get(name).copied().unwrap_or_default();
        let by_resource = self.by_resource.iter().map(|(name, count)| (name.clone(), count - earlier(name)));
        let by_resource = by_resource.filter(|(_, count)| *count > 0.0).collect();
        Self { by_resource, refused: self.refused - before.refused }
    }

    pub(super) fn total(&self) -> f64 {
        self.by_resource.values().sum()
    }

    /// All but those of one resource.
    pub(super) fn beside(&self, resource: &str) -> f64 {
        let others =
            self.by_resource.iter().filter(|(name, _)| name.split(' ').next_back() != Some(resource));
        others.map(|(_, count)| count).sum()
    }
}

/// What a write is called here; nothing for what is none.
fn name(labels: &Labels) -> Option<String> {
    let label = |name: &str| labels.get(name).map(String::as_str).unwrap_or_default();
    let verb = match label("verb") {
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "APPLY" => "apply",
        "DELETE" => "delete",
        "DELETECOLLECTION" => "delete many",
        _ => return None,
    };
    let (resource, part) = (label("resource"), label("subresource"));
    let is_none = resource == "leases"
        || part == "binding"
        || part == "token"
        || resource.ends_with("reviews")
        || !label("dry_run").is_empty();
    let slash = if part.is_empty() { "" } else { "/" };
    (!is_none && !resource.is_empty()).then(|| format!("{verb} {resource}{slash}{part}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(verb: &str, resource: &str, part: &str, code: &str, count: u32) -> String {
        format!(
            "apiserver_request_total{{code=\"{code}\",dry_run=\"\",group=\"g\",resource=\"{resource}\",\
             subresource=\"{part}\",verb=\"{verb}\"}} {count}\n"
        )
    }

    #[expect(clippy::cast_possible_truncation, reason = "the numbers of these tests are small and whole")]
    fn i64_of(number: f64) -> i64 {
        number as i64
    }

    fn counted(writes: &Writes) -> Vec<(&str, f64)> {
        writes.by_resource.iter().map(|(name, count)| (name.as_str(), *count)).collect()
    }

    #[test]
    fn writes_are_counted_by_verb_and_resource() {
        let text = [
            line("POST", "sandboxes", "", "201", 4),
            line("PATCH", "sandboxes", "status", "200", 3),
            line("PATCH", "sandboxes", "status", "409", 2),
            line("GET", "sandboxes", "", "200", 9),
            line("WATCH", "sandboxes", "", "200", 9),
        ];
        let writes = Writes::read(&text.concat());
        assert_eq!(counted(&writes), [("create sandboxes", 4.0), ("patch sandboxes/status", 5.0)]);
        assert_eq!(
            [writes.total(), writes.refused, writes.beside("sandboxes/status")].map(i64_of),
            [9, 2, 4]
        );
    }

    #[test]
    fn bindings_leases_and_questions_are_left_out() {
        let text = [
            line("PUT", "leases", "", "200", 1),
            line("POST", "pods", "binding", "201", 1),
            line("POST", "serviceaccounts", "token", "201", 1),
            line("POST", "subjectaccessreviews", "", "201", 1),
            line("POST", "", "", "200", 1),
            line("POST", "pods", "", "201", 1).replace("dry_run=\"\"", "dry_run=\"All\""),
        ];
        assert_eq!(Writes::read(&text.concat()), Writes::default());
    }

    #[test]
    fn only_what_came_since_counts() {
        let before =
            Writes::read(&[line("POST", "pods", "", "201", 4), line("PUT", "pods", "", "200", 1)].concat());
        let after = Writes::read(
            &[line("POST", "pods", "", "201", 6), line("POST", "events", "", "201", 1)].concat(),
        );
        assert_eq!(counted(&after.since(&before)), [("create events", 1.0), ("create pods", 2.0)]);
    }
}
