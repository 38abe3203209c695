//! The parameters behind a `?`, which may be repeated, read as Kubernetes reads them.

/// Names and values in their order.
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn of(uri: &axum::http::Uri) -> Self {
        let text = uri.query().unwrap_or_default();
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn first(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Kubernetes takes everything for true that is there and is neither `0` nor `false`.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.first(name).is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// A number that is not one is an error; one that is absent is nothing.
    pub(super) fn number<N: std::str::FromStr>(
        &self,
        name: &str,
    ) -> Result<Option<N>, super::refusal::Refusal> {
        let Some(value) = self.first(name) else { return Ok(None) };
        let refused = |_| super::refusal::Refusal::Bad(format!("{name}: {value:?} is no number that fits"));
        value.parse().map(Some).map_err(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query {
        Query::of(&format!("/exec?{text}").parse().unwrap())
    }

    #[test]
    fn values_keep_their_order_and_their_blanks() {
        let query = query("command=sh&command=-c&command=echo+a%20b&stdin=true");
        assert_eq!(query.all("command").collect::<Vec<_>>(), ["sh", "-c", "echo a b"]);
    }

    #[test]
    fn flags_are_false_only_when_they_say_so() {
        let query = query("a=1&b=true&c=&d=0&e=False");
        assert_eq!(
            ["a", "b", "c", "d", "e", "f"].map(|name| query.flag(name)),
            [true, true, true, false, false, false]
        );
    }
}
