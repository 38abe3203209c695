//! Errors as one line of text, for people and for the other side of a socket.

use std::error::Error;

/// With all that led to it. An error that has said its cause already does not say it twice.
pub(crate) fn full(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let said = inner.to_string();
        if !text.ends_with(&said) {
            text = format!("{text}: {said}");
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{said}")]
    struct Layer {
        said: &'static str,
        source: Option<Box<Layer>>,
    }

    #[test]
    fn causes_follow_and_none_is_said_twice() {
        let innermost = Layer { said: "no such file", source: None };
        let middle = Layer { said: "cannot open: no such file", source: Some(Box::new(innermost)) };
        let outer = Layer { said: "cannot start", source: Some(Box::new(middle)) };
        assert_eq!(full(&outer), "cannot start: cannot open: no such file");
    }
}
