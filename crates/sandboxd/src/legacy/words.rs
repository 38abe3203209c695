//! Splits a command into words as Python's `shlex.split` does, because that is what upstream's runtime does with it: quotes and
//! backslashes count, nothing else does. No shell, no variables, no pipes.

/// Why a command has no words. The messages are Python's, which clients show to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfinished {
    #[error("No closing quotation")]
    Quotation,
    #[error("No escaped character")]
    Escape,
}

pub(crate) fn split(text: &str) -> Result<Vec<String>, Unfinished> {
    let mut words = Vec::new();
    let mut rest = text.chars();
    let mut word: Option<String> = None;
    while let Some(character) = rest.next() {
        match character {
            ' ' | '\t' | '\r' | '\n' => words.extend(word.take()),
            '\'' => single(&mut rest, word.get_or_insert_default())?,
            '"' => double(&mut rest, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(rest.next().ok_or(Unfinished::Escape)?),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

/// Everything up to the next quote, as it is.
fn single(rest: &mut std::str::Chars, word: &mut String) -> Result<(), Unfinished> {
    for character in rest.by_ref() {
        match character {
            '\'' => return Ok(()),
            other => word.push(other),
        }
    }
    Err(Unfinished::Quotation)
}

/// Within double quotes a backslash escapes quotes and itself; before anything else it stays.
fn double(rest: &mut std::str::Chars, word: &mut String) -> Result<(), Unfinished> {
    while let Some(character) = rest.next() {
        match character {
            '"' => return Ok(()),
            '\\' => match rest.next().ok_or(Unfinished::Escape)? {
                escaped @ ('"' | '\\') => word.push(escaped),
                other => word.extend(['\\', other]),
            },
            other => word.push(other),
        }
    }
    Err(Unfinished::Quotation)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        split(text).unwrap()
    }

    #[test]
    fn words_are_what_python_makes_of_them() {
        assert_eq!(words("echo hello  world\n"), ["echo", "hello", "world"]);
        assert_eq!(words("echo 'a b' \"c d\""), ["echo", "a b", "c d"]);
        assert_eq!(words("a'b'\"c\"d"), ["abcd"]);
        assert_eq!(words("''"), [""]);
        assert_eq!(words("a '' b"), ["a", "", "b"]);
        assert_eq!(words(r"a\ b \' \\"), ["a b", "'", r"\"]);
        assert_eq!(words(r#""a\"b" "a\nb" "\\""#), ["a\"b", r"a\nb", r"\"]);
        assert_eq!(words(r"'a\b'"), [r"a\b"]);
        assert_eq!(words("   "), [""; 0]);
    }

    #[test]
    fn nothing_of_a_shell_is_known() {
        assert_eq!(words("echo $HOME | cat # x"), ["echo", "$HOME", "|", "cat", "#", "x"]);
    }

    #[test]
    fn what_is_not_closed_is_refused_in_pythons_words() {
        assert_eq!(split("echo 'a").unwrap_err().to_string(), "No closing quotation");
        assert_eq!(split("echo \"a").unwrap_err().to_string(), "No closing quotation");
        assert_eq!(split("echo \\").unwrap_err().to_string(), "No escaped character");
        assert_eq!(split("echo \"\\").unwrap_err().to_string(), "No escaped character");
    }

    proptest! {
        #[test]
        fn what_was_quoted_comes_back(list in proptest::collection::vec(".*", 0..8)) {
            let quoted: Vec<String> = list.iter().map(|word| format!("'{}'", word.replace('\'', "'\"'\"'"))).collect();
            prop_assert_eq!(words(&quoted.join(" ")), list);
        }

        #[test]
        fn nothing_breaks_it(text in ".*") {
            let _ = split(&text);
        }
    }
}
