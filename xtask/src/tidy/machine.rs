//! What belongs to somebody's machine or mind stays there: no home or workplace paths, no notes to self.

use super::finding::Finding;
use super::tree::{Text, extension_of};

const FOLDERS: &[&str] = &["/root/", "/work/"];
const HOMES: &[&str] = &["/home/", "/Users/"];

/// The home inside a sandbox that E2B's clients expect; it is on the wire, not on a machine.
const GUEST_HOME: &str = "user";

const NOTES: &[&str] = &["TODO", "FIXME", "XXX"];

/// This file has to name what it forbids.
const SELF: &str = "xtask/src/tidy/machine.rs";

pub(crate) fn check(file: &Text) -> Vec<Finding> {
    if file.path == SELF {
        return Vec::new();
    }
    let lines = file.text.lines().zip(1..);
    lines.flat_map(|(line, number)| check_line(&file.path, number, line)).collect()
}

fn check_line(path: &str, number: usize, line: &str) -> Vec<Finding> {
    let machine =
        machine_path(line).map(|found| (format!("`{found}` is a path of somebody's machine"), RELATIVE));
    let note = note(line)
        .filter(|_| may_hold_no_notes(path))
        .map(|found| (format!("`{found}` is a note to self"), DO));
    machine
        .into_iter()
        .chain(note)
        .map(|(wrong, remedy)| Finding::fault(path, number, wrong, remedy))
        .collect()
}

const RELATIVE: &str = "use a relative path, or one that any machine has";
const DO: &str = "do it, or write it down in docs";

fn machine_path(line: &str) -> Option<&str> {
    let folder = FOLDERS.iter().find_map(|folder| starts(line, folder).next().map(|_| *folder));
    folder.or_else(|| HOMES.iter().find_map(|homes| starts(line, homes).find_map(owner)))
}

/// What follows the prefix, wherever it begins a path rather than continuing one.
fn starts<'a>(line: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    let continues =
        |before: &str| before.ends_with(|last: char| last.is_alphanumeric() || "_-.~})>".contains(last));
    let begins = line.match_indices(prefix).filter(move |(at, _)| !continues(&line[..*at]));
    begins.map(|(at, found)| &line[at + found.len()..])
}

/// Whose home it is, when that is a person.
fn owner(rest: &str) -> Option<&str> {
    let is_name = |character: char| character.is_alphanumeric() || "_-.".contains(character);
    let name = rest.split(|character| !is_name(character)).next()?;
    (!name.is_empty() && name != GUEST_HOME).then_some(name)
}

fn note(line: &str) -> Option<&str> {
    let mut words = line.split(|character: char| !character.is_alphanumeric() && character != '_');
    words.find(|word| NOTES.contains(word))
}

/// Documents may speak of plans, and hashes in lock files spell what they like.
fn may_hold_no_notes(path: &str) -> bool {
    let is_document = path.starts_with("docs/") || extension_of(path) == Some("md");
    let is_lock =
        extension_of(path) == Some("lock") || path.ends_with("go.sum") || path.ends_with("-lock.json");
    !is_document && !is_lock
}

#[cfg(test)]
mod tests {
    use super::super::finding::lines;
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        lines(&check(&Text { path: path.to_owned(), text: text.to_owned() }))
    }

    #[test]
    fn paths_of_a_machine_are_found() {
        let text = "cd /work/main\nPATH=/root/.cargo/bin\nsee /home/alice/x\n\"/Users/bob\"";
        let say = |(line, name)| format!("a.md:{line}: `{name}` is a path of somebody's machine; {RELATIVE}");
        let expected = [(1, "/work/"), (2, "/root/"), (3, "alice"), (4, "bob")].map(say);
        assert_eq!(found("a.md", text), expected);
    }

    #[test]
    fn paths_that_only_pass_through_such_names_are_left_alone() {
        let text = "~/work/x docs/root/a https://a.b/home/c $HOME/work/ /workspace /home/user/x /home/";
        assert_eq!(found("a.md", text), [""; 0]);
    }

    #[test]
    fn notes_to_self_are_found_outside_documents() {
        let expected = format!("a.rs:1: `TODO` is a note to self; {DO}");
        assert_eq!(found("a.rs", "// TODO: later"), [expected]);
        assert_eq!(found("docs/plan.txt", "TODO: later"), [""; 0]);
        assert_eq!(found("a.sh", "mktemp asb.XXXXXX"), [""; 0]);
    }
}
