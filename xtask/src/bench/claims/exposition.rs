//! Reads the text format in which programs expose what they count.

use std::collections::BTreeMap;

pub(super) type Labels = BTreeMap<String, String>;

/// The values of one metric by their labels.
pub(super) fn samples<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = (Labels, f64)> + 'a {
    let rest = move |line: &'a str| line.strip_prefix(name).filter(|rest| rest.starts_with(['{', ' ']));
    text.lines().filter_map(rest).filter_map(sample)
}

fn sample(rest: &str) -> Option<(Labels, f64)> {
    let (labels, value) = match rest.strip_prefix('{') {
        None => (Labels::new(), rest),
        Some(rest) => labels(rest)?,
    };
    // A time may follow.
    Some((labels, value.split_whitespace().next()?.parse().ok()?))
}

/// Labels up to the closing brace, and what follows it.
fn labels(mut rest: &str) -> Option<(Labels, &str)> {
    let mut labels = Labels::new();
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (name, after) = rest.split_once("=\"")?;
        let (value, after) = quoted(after)?;
        labels.insert(name.to_owned(), value);
        rest = after;
    }
}

/// Text up to the closing quote, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(match characters.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# HELP requests_total {\"}\n\
        requests_total{verb=\"POST\",path=\"a\\\"},b\\n\"} 3\n\
        requests_total{verb=\"GET\",} 1.5e+02 1700000000\n\
        requests_total_other{verb=\"GET\"} 9\n\
        up 1\n";

    #[test]
    fn values_are_found_by_their_labels() {
        let found: Vec<_> = samples(TEXT, "requests_total").collect();
        let verbs: Vec<_> = found.iter().map(|(labels, value)| (labels["verb"].as_str(), *value)).collect();
        assert_eq!(verbs, [("POST", 3.0), ("GET", 150.0)]);
        assert_eq!(found[0].0["path"], "a\"},b\n");
    }

    #[test]
    fn a_metric_needs_no_labels() {
        assert_eq!(samples(TEXT, "up").collect::<Vec<_>>(), [(Labels::new(), 1.0)]);
        assert_eq!(samples(TEXT, "down").count(), 0);
    }

    #[test]
    fn what_is_broken_off_is_left_out() {
        assert_eq!(samples("up{a=\"b\nup{a=\"b\"\nup{} x\nup", "up").count(), 0);
    }
}
