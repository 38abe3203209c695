//! Relative links of every Markdown file lead to a file or folder of the checkout.
//! Links to other sites are theirs to keep.

use super::finding::Finding;
use super::tree::{Text, Tree};

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.with_extension("md").flat_map(|file| check_file(tree, file)).collect()
}

fn check_file(tree: &Tree, file: &Text) -> Vec<Finding> {
    let links = prose(&file.text)
        .flat_map(|(line, text)| targets(text).into_iter().map(move |target| (line, target)));
    links.filter_map(|(line, target)| check_link(tree, &file.path, line, &target)).collect()
}

fn check_link(tree: &Tree, path: &str, line: usize, target: &str) -> Option<Finding> {
    let place = target.split(['#', '?']).next().filter(|place| !place.is_empty() && !is_address(place))?;
    match resolve(path, place) {
        None => Some(Finding::fault(
            path,
            line,
            format!("`{target}` leaves the repository"),
            "link its public address",
        )),
        Some(place) if place.is_empty() || tree.holds(&place) => None,
        Some(_) => Some(Finding::fault(path, line, format!("`{target}` leads nowhere"), "mend the link")),
    }
}

/// `https:`, `mailto:`: anything with a scheme.
fn is_address(place: &str) -> bool {
    let scheme = place.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.chars().all(|character| character.is_ascii_alphanumeric()))
}

/// A place as seen from a file, as a path from the root; nothing when it lies outside.
fn resolve(from: &str, place: &str) -> Option<String> {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let start = if place.starts_with('/') { "" } else { folder };
    let mut parts = Vec::new();
    for part in start.split('/').chain(place.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part.replace("%20", " ")),
        }
    }
    Some(parts.join("/"))
}

/// The lines outside fenced code, numbered from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    let outside = move |(_, line): &(usize, &str)| {
        let is_fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        fenced ^= is_fence;
        !fenced && !is_fence
    };
    text.lines().enumerate().filter(outside).map(|(index, line)| (index + 1, line))
}

/// The targets of `[text](target)`, `![image](target)`, `[name]: target` and `<img src="target">`.
fn targets(line: &str) -> Vec<String> {
    // Every other piece between backquotes is code.
    let text: String = line.split('`').step_by(2).collect();
    let inline = after(&text, "](", [')', ' ']);
    let html = ["src=\"", "href=\""].into_iter().flat_map(|mark| after(&text, mark, ['"', '"']));
    let definition = text.starts_with('[').then(|| after(&text, "]: ", [' ', ' '])).into_iter().flatten();
    inline.into_iter().chain(html).chain(definition).collect()
}

fn after(text: &str, mark: &str, ends: [char; 2]) -> Vec<String> {
    let target = |rest: &str| rest.split(ends).next().unwrap_or_default().trim_matches(['<', '>']).to_owned();
    text.split(mark).skip(1).map(target).collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::lines;
    use super::*;

    fn found(text: &str) -> Vec<String> {
        lines(&check(&Tree::of(&[("docs/guide.md", text), ("docs/adr/0001-one.md", ""), ("README.md", "")])))
    }

    #[test]
    fn links_to_files_and_folders_of_the_checkout_pass() {
        let text =
            "[a](adr/0001-one.md#why) [b](adr) [c](../README.md \"title\") [d](/docs) [e](..) [f](#here)";
        assert_eq!(found(text), [""; 0]);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found_in_every_spelling() {
        let text = "[a](gone.md)\n![b](<gone.md>)\n[c]: gone.md\n<img src=\"gone.md\">";
        let expected =
            [1, 2, 3, 4].map(|line| format!("docs/guide.md:{line}: `gone.md` leads nowhere; mend the link"));
        assert_eq!(found(text), expected);
    }

    #[test]
    fn a_link_that_leaves_the_repository_is_found() {
        let expected = "docs/guide.md:1: `../../other` leaves the repository; link its public address";
        assert_eq!(found("[a](../../other)"), [expected]);
    }

    #[test]
    fn other_sites_and_code_are_left_alone() {
        let text = "[a](https://example.com/x) [b](mailto:a@b.c) `[c](gone.md)`\n```\n[d](gone.md)\n```\n";
        assert_eq!(found(text), [""; 0]);
    }
}
