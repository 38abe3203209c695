//! What stands behind the question mark of a request.

use crate::failure::Failure;

pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(text: Option<&str>) -> Self {
        Self(form_urlencoded::parse(text.unwrap_or_default().as_bytes()).into_owned().collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A name alone is a yes.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Failure> {
        match self.get(name) {
            None | Some("false" | "0") => Ok(false),
            Some("" | "true" | "1") => Ok(true),
            Some(other) => Err(Failure::invalid(format!("{name} is true or false, not {other:?}"))),
        }
    }

    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, Failure> {
        let number = self.get(name).map(str::parse).transpose();
        number.map_err(|_| Failure::invalid(format!("{name} is not a number that can be meant")))
    }

    /// `0644`, as upstream wants it written.
    pub(crate) fn mode(&self, default: u32) -> Result<u32, Failure> {
        let Some(text) = self.get("mode") else { return Ok(default) };
        let digits = text.strip_prefix('0').filter(|digits| digits.len() == 3);
        let digits = digits.filter(|digits| digits.bytes().all(|digit| matches!(digit, b'0'..=b'7')));
        let mode = digits.and_then(|digits| u32::from_str_radix(digits, 8).ok());
        mode.ok_or_else(|| Failure::invalid(format!("mode is written like 0644, not {text:?}")))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn query(text: &str) -> Query {
        Query::parse(Some(text))
    }

    #[test]
    fn flags_numbers_and_modes_are_read() {
        assert!(query("recursive=true").flag("recursive").unwrap());
        assert!(query("recursive").flag("recursive").unwrap());
        assert!(!query("").flag("recursive").unwrap());
        assert_eq!(query("from=7").number::<u64>("from").unwrap(), Some(7));
        assert_eq!(query("mode=0750").mode(0o644).unwrap(), 0o750);
        assert_eq!(query("").mode(0o644).unwrap(), 0o644);
    }

    #[test]
    fn what_is_neither_is_refused() {
        assert!(query("recursive=maybe").flag("recursive").is_err());
        assert!(query("from=-1").number::<u64>("from").is_err());
        for mode in ["644", "0999", "01777", "+777", "", "0o644"] {
            assert!(query(&format!("mode={mode}")).mode(0).is_err(), "{mode}");
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(pairs in proptest::collection::btree_map(".{1,8}", ".{0,20}", 0..5)) {
            let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(&pairs).finish();
            let query = query(&text);
            for (name, value) in &pairs {
                prop_assert_eq!(query.get(name), Some(value.as_str()));
            }
        }

        #[test]
        fn nothing_breaks_it(text in ".*", name in "from|mode|recursive") {
            let query = query(&format!("{name}={text}&{text}"));
            let _ = (query.flag(&name), query.number::<u64>(&name), query.number::<f64>(&name));
            if let Ok(mode) = query.mode(0o644) {
                prop_assert!(mode <= 0o777);
            }
        }
    }
}
