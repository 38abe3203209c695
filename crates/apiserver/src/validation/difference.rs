//! What differs between two texts, in the form that Kubernetes' server appends to refusals of updates: a unified
//! difference with three lines of context, computed by the longest run of lines that both texts have.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

const CONTEXT: usize = 3;
/// Lines that make up more than a hundredth of a text of this length say nothing about what belongs together.
const LONG: usize = 200;
/// Beyond this the search for runs would take too long; what lies between the first and last change is then one change.
const MOST: usize = 2000;

/// Lines of both texts from here on are the same.
#[derive(Clone, Copy)]
struct Run {
    before: usize,
    after: usize,
    length: usize,
}

/// Lines of one text that stand for lines of the other.
#[derive(Clone)]
struct Change {
    before: Range<usize>,
    after: Range<usize>,
}

pub(super) fn unified(before: &[String], after: &[String]) -> String {
    let mut text = String::new();
    for hunk in hunks(changes(&runs(before, after), before.len(), after.len())) {
        write_hunk(&mut text, &hunk, before, after);
    }
    text
}

fn runs(before: &[String], after: &[String]) -> Vec<Run> {
    if before.len().max(after.len()) > MOST {
        return ends(before, after);
    }
    let places = places(after);
    let mut runs = Vec::new();
    let mut open = vec![(0..before.len(), 0..after.len())];
    while let Some((left, right)) = open.pop() {
        let Some(run) = longest(before, after, &places, left.clone(), right.clone()) else { continue };
        open.push((left.start..run.before, right.start..run.after));
        open.push((run.before + run.length..left.end, run.after + run.length..right.end));
        runs.push(run);
    }
    runs.sort_by_key(|run| run.before);
    runs
}

/// What both texts start and end with.
fn ends(before: &[String], after: &[String]) -> Vec<Run> {
    let least = before.len().min(after.len());
    let start = before.iter().zip(after).take_while(|(left, right)| left == right).count();
    let end = before.iter().rev().zip(after.iter().rev()).take_while(|(left, right)| left == right).count();
    let end = end.min(least - start);
    vec![
        Run { before: 0, after: 0, length: start },
        Run { before: before.len() - end, after: after.len() - end, length: end },
    ]
}

/// Where each line of a text stands, without those that stand all over the place.
fn places(text: &[String]) -> HashMap<&str, Vec<usize>> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, line) in text.iter().enumerate() {
        places.entry(line).or_default().push(index);
    }
    if text.len() >= LONG {
        places.retain(|_, places| places.len() <= text.len() / 100 + 1);
    }
    places
}

/// The longest run within parts of the texts; the first of several.
fn longest(
    before: &[String],
    after: &[String],
    places: &HashMap<&str, Vec<usize>>,
    left: Range<usize>,
    right: Range<usize>,
) -> Option<Run> {
    let mut best = Run { before: left.start, after: right.start, length: 0 };
    // How long the run is that ends at the line before and at each line of the other text.
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    for index in left.clone() {
        let mut next = HashMap::new();
        for &place in places.get(before[index].as_str()).into_iter().flatten() {
            if !right.contains(&place) {
                continue;
            }
            let length = 1 + place.checked_sub(1).and_then(|place| lengths.get(&place)).copied().unwrap_or(0);
            next.insert(place, length);
            if length > best.length {
                best = Run { before: index + 1 - length, after: place + 1 - length, length };
            }
        }
        lengths = next;
    }
    widen(&mut best, before, after, &left, &right);
    (best.length > 0).then_some(best)
}

/// Takes in the lines around a run that were not looked for.
fn widen(run: &mut Run, before: &[String], after: &[String], left: &Range<usize>, right: &Range<usize>) {
    while run.before > left.start && run.after > right.start && before[run.before - 1] == after[run.after - 1]
    {
        (run.before, run.after, run.length) = (run.before - 1, run.after - 1, run.length + 1);
    }
    while run.before + run.length < left.end
        && run.after + run.length < right.end
        && before[run.before + run.length] == after[run.after + run.length]
    {
        run.length += 1;
    }
}

fn changes(runs: &[Run], before: usize, after: usize) -> Vec<Change> {
    let end = Run { before, after, length: 0 };
    let (mut left, mut right) = (0, 0);
    let mut changes = Vec::new();
    for run in runs.iter().chain([&end]) {
        if left < run.before || right < run.after {
            changes.push(Change { before: left..run.before, after: right..run.after });
        }
        (left, right) = (run.before + run.length, run.after + run.length);
    }
    changes
}

/// Changes that are close enough to share their context.
fn hunks(changes: Vec<Change>) -> Vec<Vec<Change>> {
    let mut hunks: Vec<Vec<Change>> = Vec::new();
    for change in changes {
        let last = hunks.last_mut().filter(|hunk| {
            hunk.last().is_some_and(|last| change.before.start - last.before.end <= 2 * CONTEXT)
        });
        match last {
            Some(hunk) => hunk.push(change),
            None => hunks.push(vec![change]),
        }
    }
    hunks
}

fn write_hunk(text: &mut String, hunk: &[Change], before: &[String], after: &[String]) {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return };
    let lead = first.before.start.min(CONTEXT);
    let trail = (before.len() - last.before.end).min(CONTEXT);
    let left = first.before.start - lead..last.before.end + trail;
    let right = first.after.start - lead..last.after.end + trail;
    writeln!(text, "@@ -{} +{} @@", extent(&left), extent(&right)).expect("a string takes everything");
    let mut write = |mark: &str, lines: &[String]| {
        for line in lines {
            writeln!(text, "{mark}{line}").expect("a string takes everything");
        }
    };
    let mut position = left.start;
    for change in hunk {
        write(" ", &before[position..change.before.start]);
        write("-", &before[change.before.clone()]);
        write("+", &after[change.after.clone()]);
        position = change.before.end;
    }
    write(" ", &before[position..left.end]);
}

fn extent(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => (lines.start + 1).to_string(),
        length => format!("{},{length}", lines.start + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.chars().map(String::from).collect()
    }

    #[test]
    fn a_change_is_shown_with_what_stands_around_it() {
        let text = unified(&lines("abcdefgh"), &lines("abcdXfgh"));
        assert_eq!(text, "@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+X\n f\n g\n h\n");
    }

    #[test]
    fn changes_far_apart_are_shown_apart() {
        let text = unified(&lines("a23456789b"), &lines("x23456789y"));
        assert_eq!(text.matches("@@ -").count(), 2);
    }

    #[test]
    fn texts_that_are_the_same_do_not_differ() {
        assert_eq!(unified(&lines("abc"), &lines("abc")), "");
    }

    #[test]
    fn very_long_texts_are_compared_from_both_ends() {
        let long = |middle: &str| -> Vec<String> {
            let same = (0..MOST).map(|index| index.to_string());
            same.clone().chain([middle.to_owned()]).chain(same).collect()
        };
        let text = unified(&long("a"), &long("b"));
        assert!(text.contains("-a\n+b\n") && text.lines().count() == 9);
    }
}
