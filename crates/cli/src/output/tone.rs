//! Colours, which only say again what the words say, and only on a terminal of somebody who wants them.

use std::env;
use std::io::IsTerminal;

/// Whether what is said is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Good,
    Uncertain,
    Bad,
    Quiet,
}

/// The text in the colour of its tone.
pub(crate) fn painted(text: &str, tone: Tone, colours: bool) -> String {
    let code = match tone {
        Tone::Plain => return text.to_owned(),
        Tone::Good => 32,
        Tone::Uncertain => 33,
        Tone::Bad => 31,
        Tone::Quiet => 2,
    };
    if colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// Whether standard output shows colours.
pub(crate) fn on_output() -> bool {
    std::io::stdout().is_terminal() && are_wanted()
}

/// Whether standard error does.
pub(crate) fn on_error() -> bool {
    std::io::stderr().is_terminal() && are_wanted()
}

/// By the convention of no-color.org, and on terminals that can.
fn are_wanted() -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colours_a_text_is_as_it_was() {
        assert_eq!(painted("yes", Tone::Good, false), "yes");
        assert_eq!(painted("yes", Tone::Good, true), "\x1b[32myes\x1b[0m");
        assert_eq!(painted("yes", Tone::Plain, true), "yes");
    }
}
