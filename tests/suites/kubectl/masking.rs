//! Makes what is shown the same on every run: names of the run, times, ages, identities and versions are masked, and
//! columns, whose width goes by them, are held apart by two spaces. So is what kubectl says differently from version to
//! version though the server says the same.

/// What the namespace is called on the screen.
const NAMESPACE: &str = "here";

pub(crate) fn mask(shown: &str, namespace: &str) -> String {
    let shown = shown.replace(namespace, NAMESPACE).replace(" deleted from here namespace", " deleted");
    let lines = shown.lines().filter(|line| !is_log(line) && line.trim() != "creationTimestamp: null");
    lines.map(line).map(|line| line + "\n").collect()
}

/// Such as `W0101 00:00:00.000000     1 reflector.go:1] …`.
fn is_log(line: &str) -> bool {
    let level = line.strip_prefix(['E', 'I', 'W']).unwrap_or_default().as_bytes();
    level.len() > 4 && level[..4].iter().all(u8::is_ascii_digit) && level[4] == b' '
}

fn line(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let (indent, rest) = line.split_at(indent);
    let columns = rest.split("  ").map(str::trim).filter(|column| !column.is_empty());
    let masked: Vec<_> = columns.map(words).collect();
    let masked = masked.join("  ");
    let version = ["resourceVersion", "Resource Version"].iter().find(|it| masked.contains(**it));
    version.map_or_else(|| format!("{indent}{masked}"), |version| format!("{indent}{version}: …"))
}

fn words(column: &str) -> String {
    column.split_inclusive([' ', '"', ',', '(', ')', '=', '\'']).map(word).collect()
}

fn word(word: &str) -> String {
    let core = word.trim_end_matches([' ', '"', ',', '(', ')', '=', '\'']);
    let masked = if is_age(core) {
        "AGE"
    } else if is_time(core) {
        "TIME"
    } else if is_identity(core) {
        "IDENTITY"
    } else if core.starts_with("10.") && core.split('.').count() == 4 {
        "ADDRESS"
    } else if core.starts_with("kube-api-access-") {
        "kube-api-access-…"
    } else {
        core
    };
    word.replacen(core, masked, usize::from(!core.is_empty()))
}

/// Such as `5s` or `1m3s`.
fn is_age(word: &str) -> bool {
    let is_unit = |it: char| matches!(it, 's' | 'm');
    word.starts_with(|it: char| it.is_ascii_digit())
        && word.ends_with(is_unit)
        && word.chars().all(|it| it.is_ascii_digit() || is_unit(it))
        && !word.ends_with("00m")
}

/// Such as `2026-01-01T00:00:00Z`.
fn is_time(word: &str) -> bool {
    word.len() >= 20 && word.ends_with('Z') && word.as_bytes()[4] == b'-' && word.as_bytes()[10] == b'T'
}

/// Such as `123e4567-e89b-12d3-a456-426614174000`.
fn is_identity(word: &str) -> bool {
    word.len() == 36 && word.bytes().all(|it| it == b'-' || it.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn what_differs_from_run_to_run_is_masked() {
        let shown = "NAME   AGE\nbox    12s\n  uid: 123e4567-e89b-12d3-a456-426614174000\n  at: \"2026-01-01T00:00:00Z\"\n";
        assert_eq!(mask(shown, "ns-1"), "NAME  AGE\nbox  AGE\n  uid: IDENTITY\n  at: \"TIME\"\n");
        assert_eq!(mask("in ns-1  resourceVersion: \"7\"", "ns-1"), "resourceVersion: …\n");
    }
}
