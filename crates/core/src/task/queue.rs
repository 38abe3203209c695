//! In which order tasks that wait are begun: those of higher priority first; among equals, those of whoever has least under
//! way; among those, the oldest.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::Timestamp;

use crate::object::Key;

/// A task that waits for its turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub key: Key,
    pub owner: String,
    pub priority: i32,
    pub since: Timestamp,
}

/// All that wait, in the order in which they are begun if nothing else comes: the first is at position 1.
///
/// `busy` is how many tasks of each owner are under way.
pub fn order(mut waiting: Vec<Waiting>, busy: &BTreeMap<String, usize>) -> Vec<Key> {
    waiting.sort_by(|one, other| (one.since, &one.key).cmp(&(other.since, &other.key)));
    let mut levels: BTreeMap<i32, Level> = BTreeMap::new();
    for task in waiting {
        levels
            .entry(task.priority)
            .or_default()
            .entry(task.owner)
            .or_default()
            .push_back((task.since, task.key));
    }
    let mut taken = busy.clone();
    levels.into_values().rev().flat_map(|level| take_turns(level, &mut taken)).collect()
}

/// The tasks of one priority, by owner, oldest first.
type Level = BTreeMap<String, VecDeque<(Timestamp, Key)>>;

fn take_turns(mut level: Level, taken: &mut BTreeMap<String, usize>) -> Vec<Key> {
    let mut line: BTreeSet<(usize, Timestamp, String)> = level
        .iter()
        .filter_map(|(owner, tasks)| Some((count(taken, owner), tasks.front()?.0, owner.clone())))
        .collect();
    let mut order = Vec::new();
    while let Some((_, _, owner)) = line.pop_first() {
        let tasks = level.get_mut(&owner).expect("who stands in line has tasks");
        order.extend(tasks.pop_front().map(|(_, key)| key));
        *taken.entry(owner.clone()).or_default() += 1;
        if let Some((since, _)) = tasks.front() {
            line.insert((count(taken, &owner), *since, owner));
        }
    }
    order
}

fn count(taken: &BTreeMap<String, usize>, owner: &str) -> usize {
    taken.get(owner).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn waiting(name: &str, owner: &str, priority: i32, second: i64) -> Waiting {
        let since = Timestamp::from_second(second).expect("a second");
        Waiting { key: Key::new("default", name), owner: owner.to_owned(), priority, since }
    }

    fn names(waiting: Vec<Waiting>, busy: &[(&str, usize)]) -> Vec<String> {
        let busy = busy.iter().map(|(owner, count)| ((*owner).to_owned(), *count)).collect();
        order(waiting, &busy).into_iter().map(|key| key.name.to_string()).collect()
    }

    #[test]
    fn who_came_first_is_first() {
        assert_eq!(names(vec![waiting("b", "x", 0, 2), waiting("a", "x", 0, 1)], &[]), ["a", "b"]);
    }

    #[test]
    fn who_asks_for_much_does_not_keep_others_waiting() {
        let mut all: Vec<_> = (0..3).map(|at| waiting(&format!("many{at}"), "x", 0, at)).collect();
        all.push(waiting("one", "y", 0, 9));
        assert_eq!(names(all.clone(), &[]), ["many0", "one", "many1", "many2"]);
        assert_eq!(names(all, &[("y", 2)]), ["many0", "many1", "many2", "one"], "what runs counts");
    }

    #[test]
    fn priority_goes_before_everything_else() {
        let all = vec![waiting("old", "x", 0, 1), waiting("urgent", "y", 5, 9)];
        assert_eq!(names(all, &[("y", 9)]), ["urgent", "old"]);
    }

    proptest! {
        #[test]
        fn everybody_gets_a_turn_and_nobody_two(tasks in prop::collection::vec((0..4u8, 0..3i32, 0..9i64), 0..40)) {
            let all: Vec<_> = tasks.iter().enumerate()
                .map(|(at, (owner, priority, second))| waiting(&at.to_string(), &owner.to_string(), *priority, *second))
                .collect();
            let mut wanted: Vec<_> = all.iter().map(|task| task.key.clone()).collect();
            let mut got = order(all, &BTreeMap::new());
            got.sort();
            wanted.sort();
            prop_assert_eq!(got, wanted);
        }

        /// However much an owner asks for, another one's first task waits for at most one task of each.
        #[test]
        fn a_first_task_waits_for_one_of_each_owner(crowd in 1..30usize, owners in 1..5usize) {
            let mut all: Vec<_> = (0..crowd * owners)
                .map(|at| waiting(&format!("c{at}"), &(at % owners).to_string(), 0, 0)).collect();
            all.push(waiting("last", "newcomer", 0, 100));
            let place = names(all, &[]).iter().position(|name| name == "last");
            prop_assert!(place.is_some_and(|place| place <= owners));
        }
    }
}
