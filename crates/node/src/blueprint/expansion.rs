//! `$(NAME)` in texts of a Pod. `$$` stands for `$`; a name that nothing is known of stays as it is written.

pub(super) fn expand(text: &str, mut value: impl FnMut(&str) -> Option<String>) -> String {
    let (mut expanded, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        rest = after;
        if let Some(after) = rest.strip_prefix('$') {
            expanded.push('$');
            rest = after;
        } else if let Some((name, after)) = reference(rest) {
            expanded.push_str(&value(name).unwrap_or_else(|| format!("$({name})")));
            rest = after;
        } else {
            expanded.push('$');
        }
    }
    expanded + rest
}

fn reference(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('(')?.split_once(')')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn known(name: &str) -> Option<String> {
        match name {
            "A" => Some("a".to_owned()),
            "E" => Some(String::new()),
            "R" => Some("$(A)$$".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn names_are_replaced_once_and_the_unknown_stay() {
        for (text, expected) in [
            ("$(A)", "a"),
            ("x$(A)y$(E)z", "xayz"),
            ("$(B)", "$(B)"),
            ("$$(A)", "$(A)"),
            ("$$$(A)", "$a"),
            ("$$$$(A)", "$$(A)"),
            ("$(R)", "$(A)$$"),
            ("$(A", "$(A"),
            ("$A $ $", "$A $ $"),
            ("$()", "$()"),
            ("$($(A))", "$($(A))"),
            ("ä$(A)ö", "äaö"),
        ] {
            assert_eq!(expand(text, known), expected, "{text}");
        }
    }

    /// The same by characters and states.
    fn reference_expansion(text: &str) -> String {
        let signs: Vec<char> = text.chars().collect();
        let (mut out, mut at) = (String::new(), 0);
        while at < signs.len() {
            let next = signs.get(at + 1);
            let end = signs[at..].iter().position(|sign| *sign == ')').map(|end| at + end);
            match (signs[at], next, end) {
                ('$', Some('$'), _) => {
                    out.push('$');
                    at += 2;
                }
                ('$', Some('('), Some(end)) => {
                    let name: String = signs[at + 2..end].iter().collect();
                    out.push_str(&known(&name).unwrap_or(format!("$({name})")));
                    at = end + 1;
                }
                (sign, _, _) => {
                    out.push(sign);
                    at += 1;
                }
            }
        }
        out
    }

    proptest! {
        #[test]
        fn any_text_expands_as_the_reference_does(text in "[$()AERxä]{0,24}") {
            prop_assert_eq!(expand(&text, known), reference_expansion(&text));
        }

        #[test]
        fn a_text_without_dollars_is_left_alone(text in "[^$]*") {
            prop_assert_eq!(expand(&text, known), text);
        }
    }
}
