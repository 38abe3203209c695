//! What looks like a secret, by the shapes that issuers give to theirs so that they can be found, and by value where a value
//! is known.

/// A shape: how it begins, and how many letters of which sort follow at least.
struct Shape {
    name: &'static str,
    begins: &'static str,
    follows: fn(u8) -> bool,
    at_least: usize,
}

const SHAPES: [Shape; 15] = [
    shape("an AWS access key", "AKIA", upper, 16),
    shape("a temporary AWS access key", "ASIA", upper, 16),
    shape("a GitHub token", "ghp_", word, 36),
    shape("a GitHub token", "gho_", word, 36),
    shape("a GitHub token", "ghs_", word, 36),
    shape("a GitHub token", "ghu_", word, 36),
    shape("a GitHub token", "github_pat_", word, 50),
    shape("a GitLab token", "glpat-", dashed, 20),
    shape("an Anthropic key", "sk-ant-", dashed, 20),
    shape("an OpenAI key", "sk-proj-", dashed, 20),
    shape("a Google API key", "AIza", dashed, 35),
    shape("a Slack token", "xoxb-", dashed, 20),
    shape("a Slack token", "xoxp-", dashed, 20),
    shape("an npm token", "npm_", word, 36),
    shape("a Stripe key", "sk_live_", word, 20),
];

const fn shape(name: &'static str, begins: &'static str, follows: fn(u8) -> bool, at_least: usize) -> Shape {
    Shape { name, begins, follows, at_least }
}

fn upper(letter: u8) -> bool {
    letter.is_ascii_uppercase() || letter.is_ascii_digit()
}

fn word(letter: u8) -> bool {
    letter.is_ascii_alphanumeric() || letter == b'_'
}

fn dashed(letter: u8) -> bool {
    word(letter) || letter == b'-'
}

/// Values that are shorter are in every text.
const SHORTEST_KNOWN: usize = 8;

/// Which sorts of secrets stand in these bytes. Values that are `known` are found whatever their shape.
pub fn found(bytes: &[u8], known: &[&str]) -> Vec<&'static str> {
    let mut sorts: Vec<_> =
        SHAPES.iter().filter(|shape| stands_in(shape, bytes)).map(|shape| shape.name).collect();
    if is_private_key(bytes) {
        sorts.push("a private key");
    }
    let is_known = |value: &&str| value.len() >= SHORTEST_KNOWN && contains(bytes, value.as_bytes());
    if known.iter().any(is_known) {
        sorts.push("a secret of this task");
    }
    sorts.dedup();
    sorts
}

/// Not in the middle of a longer word, of which everything is a part.
fn stands_in(shape: &Shape, bytes: &[u8]) -> bool {
    let begins = shape.begins.as_bytes();
    places(bytes, begins).any(|at| {
        let follows =
            bytes[at + begins.len()..].iter().take_while(|letter| (shape.follows)(**letter)).count();
        let alone = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
        alone && follows >= shape.at_least
    })
}

/// As PEM has them, whatever their sort.
fn is_private_key(bytes: &[u8]) -> bool {
    places(bytes, b"-----BEGIN ").any(|at| {
        let line = bytes[at..].split(|letter| *letter == b'\n').next().unwrap_or_default();
        contains(line, b"PRIVATE KEY-----")
    })
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    places(bytes, part).next().is_some()
}

fn places<'a>(bytes: &'a [u8], part: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let first = part[0];
    let starts = bytes.iter().enumerate().filter(move |(_, letter)| **letter == first).map(|(at, _)| at);
    starts.filter(move |at| bytes[*at..].starts_with(part))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Put together here, so that this file has none.
    fn token(begins: &str, length: usize) -> String {
        format!("key = \"{begins}{}\"\n", "A1".repeat(length / 2 + 1))
    }

    #[test]
    fn tokens_are_known_by_their_shape() {
        assert_eq!(found(token("ghp_", 36).as_bytes(), &[]), ["a GitHub token"]);
        assert_eq!(found(token("AKIA", 16).as_bytes(), &[]), ["an AWS access key"]);
        assert_eq!(found(token("sk-ant-", 40).as_bytes(), &[]), ["an Anthropic key"]);
        let key = format!("x\n-----BEGIN {}PRIVATE KEY-----\nabc", "OPENSSH ");
        assert_eq!(found(key.as_bytes(), &[]), ["a private key"]);
    }

    #[test]
    fn words_that_only_look_like_it_are_not_meant() {
        for text in [
            "ghp_short",
            "risk-ant-farm",
            "AKIAlower0000000000000000",
            "-----BEGIN PUBLIC KEY-----",
            "task-proj-x",
        ] {
            assert_eq!(found(text.as_bytes(), &[]), Vec::<&str>::new(), "{text}");
        }
    }

    #[test]
    fn what_is_known_is_found_whatever_it_looks_like() {
        assert_eq!(found(b"password: correct horse", &["correct horse"]), ["a secret of this task"]);
        assert_eq!(found(b"a b c", &["b"]), Vec::<&str>::new(), "too short to be told from a text");
    }

    proptest! {
        #[test]
        fn any_bytes_are_looked_through(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            found(&bytes, &["12345678"]);
        }
    }
}
