//! Rules that values of many kinds obey.

use super::At;

impl At<'_, '_> {
    /// One error for each message that the rule has about the text.
    pub(in crate::validation) fn must(&self, rule: impl Fn(&str) -> Vec<String>) {
        self.must_hold(self.text(), rule);
    }

    /// The same of a text that stands elsewhere and is reported here.
    pub(in crate::validation) fn must_hold(&self, text: &str, rule: impl Fn(&str) -> Vec<String>) {
        for message in rule(text) {
            self.invalid(text, message);
        }
    }

    /// The text is required, and then obeys the rule.
    pub(in crate::validation) fn must_be_given_and(&self, rule: impl Fn(&str) -> Vec<String>) {
        if self.must_be_given() {
            self.must(rule);
        }
    }

    /// The text, where there is any, obeys the rule.
    pub(in crate::validation) fn may(&self, rule: impl Fn(&str) -> Vec<String>) {
        if !self.text().is_empty() {
            self.must(rule);
        }
    }

    pub(in crate::validation) fn must_be_given(&self) -> bool {
        let given = !self.text().is_empty();
        if !given {
            self.required("");
        }
        given
    }

    pub(in crate::validation) fn must_be_one_of(&self, supported: &[&str]) {
        if !supported.contains(&self.text()) {
            self.not_supported(self.text(), supported);
        }
    }

    /// The text is required, and then one of these.
    pub(in crate::validation) fn must_be_given_and_one_of(&self, supported: &[&str]) {
        if self.must_be_given() {
            self.must_be_one_of(supported);
        }
    }

    /// The value, where there is one, is one of these.
    pub(in crate::validation) fn may_be_one_of(&self, supported: &[&str]) {
        if self.exists() {
            self.must_be_one_of(supported);
        }
    }

    pub(in crate::validation) fn must_not_be_negative(&self) {
        if self.integer() < 0 {
            self.invalid(self.integer(), "must be greater than or equal to 0");
        }
    }

    pub(in crate::validation) fn must_be_positive(&self) {
        if self.integer() <= 0 {
            self.invalid(self.integer(), "must be greater than zero");
        }
    }

    pub(in crate::validation) fn must_be_within(&self, least: i64, most: i64) {
        if !(least..=most).contains(&self.integer()) {
            self.invalid(self.integer(), format!("must be between {least} and {most}, inclusive"));
        }
    }

    /// A number, where there is one.
    pub(in crate::validation) fn may_be_within(&self, least: i64, most: i64) {
        if self.exists() {
            self.must_be_within(least, most);
        }
    }

    pub(in crate::validation) fn must_be_a_port(&self) {
        self.must_be_within(1, 65535);
    }
}
