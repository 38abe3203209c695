//! The book, one sentence at a time.

use super::*;

const NOON: Timestamp = Timestamp::UNIX_EPOCH;

fn after(milliseconds: i64) -> Timestamp {
    NOON + SignedDuration::from_millis(milliseconds)
}

fn key(name: &str) -> Key {
    Key::new("team", name)
}

fn member(name: &str, progress: Progress) -> Member {
    Member {
        sandbox: key(name),
        uid: name.into(),
        pool: "pool".into(),
        template: "python".into(),
        node: "node-1".into(),
        progress,
        started: NOON,
    }
}

fn on(node: &str, member: Member) -> Member {
    Member { node: node.into(), ..member }
}

fn claim(name: &str) -> Asker {
    Asker { key: key(name), uid: name.into() }
}

fn pool() -> Request {
    Request::Pool("pool".to_owned())
}

fn template() -> Request {
    Request::Template { template: "python".to_owned(), pool: "shadow-pool-python".to_owned() }
}

fn book(members: impl IntoIterator<Item = Member>) -> Book {
    let mut book = Book::default();
    assert_eq!(book.pool_is(&key("pool"), 3, NOON), []);
    book.template_is(&key("python"));
    for member in members {
        assert_eq!(book.offer(member, NOON), []);
    }
    book
}

/// What the claim is told, in short.
fn ask(book: &mut Book, name: &str, request: &Request, milliseconds: i64) -> String {
    match book.ask(&claim(name), request, after(milliseconds)).answer {
        Answer::Adopt(member) => member.sandbox.name.to_string(),
        Answer::Wait { until } => format!("wait {}", until.as_millisecond()),
        Answer::Cold(why) => format!("{why:?}"),
    }
}

#[test]
fn the_ready_member_that_came_first_is_handed_out_once() {
    let mut book = book([member("a", Progress::Ready), member("b", Progress::Ready)]);
    assert_eq!(ask(&mut book, "one", &pool(), 0), "a");
    assert_eq!(ask(&mut book, "two", &pool(), 0), "b");
    assert_eq!(ask(&mut book, "three", &pool(), 0), "Empty");
    assert_eq!(ask(&mut book, "one", &pool(), 0), "a", "asking again changes nothing");
    assert_eq!(book.len(), 0);
}

#[test]
fn the_node_with_most_idle_members_gives_first() {
    let members = [("a", "node-1"), ("b", "node-2"), ("c", "node-2"), ("d", "node-3"), ("e", "node-3")];
    let mut book = book(members.map(|(name, node)| on(node, member(name, Progress::Ready))));
    let taken: Vec<_> =
        ["1", "2", "3", "4", "5"].map(|claim| ask(&mut book, claim, &pool(), 0)).into_iter().collect();
    assert_eq!(taken, ["b", "d", "a", "c", "e"]);
}

#[test]
fn members_that_are_not_ready_count_for_the_spread() {
    let busy = on("node-2", member("c", Progress::Starting));
    let mut book = book([member("a", Progress::Ready), on("node-2", member("b", Progress::Ready)), busy]);
    assert_eq!(ask(&mut book, "one", &pool(), 1), "b");
}

#[test]
fn a_member_with_an_address_is_second_best() {
    let mut book = book([member("a", Progress::Reachable), member("b", Progress::Ready)]);
    assert_eq!(ask(&mut book, "one", &pool(), 0), "b");
    assert_eq!(ask(&mut book, "two", &pool(), 0), "a");
}

#[test]
fn missing_pools_and_pools_without_members_give_nothing() {
    let mut book = book([member("a", Progress::Ready)]);
    assert_eq!(ask(&mut book, "one", &Request::Pool("other".to_owned()), 0), "NoPool");
    assert_eq!(book.pool_is(&key("pool"), 0, NOON), []);
    assert_eq!(ask(&mut book, "two", &pool(), 0), "PoolOff");
    assert_eq!(ask(&mut book, "three", &template(), 0), "Empty");
    assert_eq!(book.pool_is(&key("pool"), 1, NOON), []);
    assert_eq!(ask(&mut book, "two", &pool(), 0), "a");
}

#[test]
fn members_are_kept_until_their_pool_is_known() {
    let mut book = Book::default();
    assert_eq!(book.offer(member("a", Progress::Ready), NOON), []);
    assert_eq!(ask(&mut book, "one", &pool(), 0), "NoPool");
    assert_eq!(book.pool_is(&key("pool"), 1, NOON), []);
    assert_eq!(ask(&mut book, "one", &pool(), 0), "a");
}

#[test]
fn a_claim_by_template_takes_from_any_pool_of_it_and_only_what_was_made_from_it() {
    let old = Member { template: "go".into(), ..member("a", Progress::Ready) };
    let other = Member { pool: "second".into(), ..member("b", Progress::Ready) };
    let mut book = book([old, other]);
    assert_eq!(ask(&mut book, "one", &template(), 0), "Empty", "the second pool is not known yet");
    assert_eq!(book.pool_is(&key("second"), 1, NOON), []);
    assert_eq!(ask(&mut book, "one", &template(), 0), "b");
    assert_eq!(ask(&mut book, "two", &template(), 0), "Empty");
    assert_eq!(ask(&mut book, "three", &pool(), 0), "a", "a pool gives what it has");
}

#[test]
fn a_claim_that_wants_a_fresh_one_gets_no_member() {
    let mut book = book([member("a", Progress::Ready)]);
    let fresh = Request::Fresh { template: "python".to_owned(), pool: "shadow-pool-python".to_owned() };
    assert_eq!(ask(&mut book, "one", &fresh, 0), "Asked");
}

#[test]
fn a_claim_waits_for_a_member_that_is_ahead_of_a_fresh_one() {
    let mut book = book([member("a", Progress::Starting)]);
    assert_eq!(ask(&mut book, "one", &pool(), 500), "wait 2500");
    assert_eq!(book.offer(member("a", Progress::Ready), after(900)), [key("one")]);
    assert_eq!(ask(&mut book, "one", &pool(), 901), "a");
}

#[test]
fn a_member_that_starts_only_now_is_not_worth_waiting_for() {
    let mut book = book([member("a", Progress::Starting)]);
    assert_eq!(ask(&mut book, "one", &pool(), 0), "NothingSoon");
}

#[test]
fn a_member_is_expected_by_one_claim_only() {
    let mut book = book([member("a", Progress::Starting)]);
    assert_eq!(ask(&mut book, "one", &pool(), 1), "wait 2001");
    assert_eq!(ask(&mut book, "two", &pool(), 2), "NothingSoon");
}

#[test]
fn who_came_first_is_served_first_whichever_member_is_ready_first() {
    let mut book = book(["a", "b", "c"].map(|name| member(name, Progress::Starting)));
    for claim in ["one", "two", "three"] {
        assert_eq!(ask(&mut book, claim, &pool(), 1), "wait 2001");
    }
    assert_eq!(book.offer(member("c", Progress::Ready), after(2)), [key("one")]);
    assert_eq!(book.offer(member("a", Progress::Reachable), after(3)), [key("two")]);
    assert_eq!(ask(&mut book, "three", &pool(), 4), "wait 2001");
    assert_eq!(ask(&mut book, "two", &pool(), 4), "a");
    assert_eq!(ask(&mut book, "one", &pool(), 4), "c");
}

#[test]
fn a_newcomer_does_not_get_what_others_wait_for() {
    let mut book = book([member("a", Progress::Starting)]);
    assert_eq!(ask(&mut book, "one", &pool(), 1), "wait 2001");
    assert_eq!(book.offer(member("a", Progress::Ready), after(2)), [key("one")]);
    assert_eq!(ask(&mut book, "two", &pool(), 3), "Empty");
}

#[test]
fn a_claim_that_waited_in_vain_goes_cold_and_does_not_wait_again() {
    let mut book = book([member("a", Progress::Starting)]);
    assert_eq!(ask(&mut book, "one", &pool(), 1), "wait 2001");
    assert_eq!(ask(&mut book, "one", &pool(), 2_001), "Waited");
    assert_eq!(ask(&mut book, "one", &pool(), 2_002), "Waited");
    assert_eq!(book.offer(member("a", Progress::Ready), after(2_003)), []);
    assert_eq!(ask(&mut book, "one", &pool(), 2_004), "a", "unless one is there by now");
}

#[test]
fn a_clock_that_is_set_back_makes_no_claim_wait_for_it() {
    let mut book = book([Member { started: after(86_399_000), ..member("a", Progress::Starting) }]);
    assert_eq!(ask(&mut book, "one", &pool(), 86_400_000), "wait 86402000");
    assert_eq!(ask(&mut book, "one", &pool(), 1), "Waited");
}

#[test]
fn what_was_promised_and_is_gone_is_replaced_or_told() {
    let mut book = book([member("a", Progress::Starting), member("b", Progress::Starting)]);
    assert_eq!(ask(&mut book, "one", &pool(), 1), "wait 2001");
    assert_eq!(book.withdraw(&key("a"), after(2)), []);
    assert_eq!(ask(&mut book, "one", &pool(), 3), "wait 2001");
    assert_eq!(book.withdraw(&key("b"), after(4)), [key("one")]);
    assert_eq!(ask(&mut book, "one", &pool(), 5), "Empty");
}

#[test]
fn closing_a_pool_wakes_whoever_waits_for_it() {
    let mut book = book([member("a", Progress::Starting), member("b", Progress::Starting)]);
    assert_eq!(ask(&mut book, "one", &pool(), 1), "wait 2001");
    assert_eq!(book.pool_is_gone(&key("pool"), after(2)), [key("one")]);
    assert_eq!(ask(&mut book, "one", &pool(), 3), "NoPool");
}

#[test]
fn a_claim_is_as_patient_as_a_start_takes() {
    let mut book = book([member("a", Progress::Starting)]);
    book.observe_start(&key("python"), SignedDuration::from_millis(700));
    assert_eq!(ask(&mut book, "one", &pool(), 100), "wait 800");
}

#[test]
fn a_member_that_is_long_overdue_is_not_waited_for() {
    let mut book = book([member("a", Progress::Starting)]);
    book.observe_start(&key("python"), SignedDuration::from_secs(1));
    assert_eq!(ask(&mut book, "one", &pool(), 4_001), "NothingSoon");
    assert_eq!(ask(&mut book, "two", &pool(), 3_999), "wait 4999");
}

#[test]
fn how_long_starts_take_is_learnt_from_members_that_become_ready() {
    let mut book = book([member("a", Progress::Starting)]);
    assert_eq!(book.offer(member("a", Progress::Ready), after(400)), []);
    assert_eq!(ask(&mut book, "one", &pool(), 400), "a");
    assert_eq!(book.offer(Member { started: after(450), ..member("b", Progress::Starting) }, after(450)), []);
    assert_eq!(ask(&mut book, "two", &pool(), 500), "wait 900");
    book.template_is_gone(&key("python"));
    assert_eq!(ask(&mut book, "three", &pool(), 500), "NothingSoon");
}

#[test]
fn members_that_claims_hold_or_wait_for_are_expected() {
    let mut book = book([
        member("a", Progress::Ready),
        member("b", Progress::Starting),
        member("c", Progress::Starting),
    ]);
    assert_eq!(ask(&mut book, "one", &pool(), 1), "a");
    assert_eq!(ask(&mut book, "two", &pool(), 1), "wait 2001");
    let expected = ["a", "b", "c", "d"].map(|name| book.is_expected(&key(name)));
    assert_eq!(expected.iter().filter(|is| **is).count(), 2);
    assert!(expected[0] && !expected[3]);
}

#[test]
fn a_book_of_things_that_are_all_gone_is_blank() {
    let mut book = book([member("a", Progress::Ready), member("b", Progress::Starting)]);
    assert_eq!(ask(&mut book, "one", &pool(), 1), "a");
    assert_eq!(ask(&mut book, "two", &pool(), 1), "wait 2001");
    let _ = (book.leave(&"one".into(), after(2)), book.leave(&"two".into(), after(2)));
    book.template_is_gone(&key("python"));
    let _ = (book.pool_is_gone(&key("pool"), after(3)), book.offer(member("b", Progress::Ready), after(3)));
    let _ = (book.withdraw(&key("a"), after(4)), book.withdraw(&key("b"), after(4)));
    assert_eq!(book.size(), 0, "{book:?}");
}

#[test]
fn nobody_waits_longer_than_half_a_minute() {
    let mut book = book([member("a", Progress::Starting)]);
    book.observe_start(&key("python"), SignedDuration::from_secs(600));
    assert_eq!(ask(&mut book, "one", &pool(), 1), "wait 30001");
}

#[test]
fn what_is_given_back_goes_to_who_waits_and_the_giver_keeps_its_turn() {
    let mut book = book([member("a", Progress::Ready), member("b", Progress::Starting)]);
    assert_eq!(ask(&mut book, "one", &pool(), 1), "a");
    assert_eq!(ask(&mut book, "two", &pool(), 1), "wait 2001");
    assert_eq!(book.give_back(&"one".into(), after(2)), [key("two")]);
    assert_eq!(ask(&mut book, "one", &pool(), 3), "wait 2001");
    assert_eq!(book.leave(&"two".into(), after(4)), [key("one")]);
    assert_eq!(ask(&mut book, "one", &pool(), 5), "a");
}

#[test]
fn a_member_in_somebodys_hands_stays_there_however_it_changes() {
    let mut book = book([member("a", Progress::Ready)]);
    assert_eq!(ask(&mut book, "one", &pool(), 0), "a");
    assert_eq!(book.offer(on("node-9", member("a", Progress::Ready)), after(1)), []);
    assert_eq!(ask(&mut book, "two", &pool(), 1), "Empty");
    assert_eq!(book.withdraw(&key("a"), after(2)), []);
    assert_eq!(book.leave(&"one".into(), after(3)), []);
    assert_eq!(ask(&mut book, "two", &pool(), 3), "Empty");
}

#[test]
fn another_sandbox_of_the_same_name_is_another_member() {
    let mut book = book([member("a", Progress::Ready)]);
    assert_eq!(ask(&mut book, "one", &pool(), 0), "a");
    let reborn = Member { uid: "reborn".into(), ..member("a", Progress::Ready) };
    assert_eq!(book.offer(reborn, after(1)), []);
    assert_eq!(ask(&mut book, "two", &pool(), 2), "a");
    assert_eq!(ask(&mut book, "one", &pool(), 3), "Empty");
}

#[test]
fn a_claim_that_changes_its_mind_hands_in_what_it_had() {
    let mut book = book([member("a", Progress::Ready), member("b", Progress::Starting)]);
    assert_eq!(ask(&mut book, "one", &pool(), 1), "a");
    assert_eq!(ask(&mut book, "two", &pool(), 1), "wait 2001");
    let asked = book.ask(&claim("one"), &Request::Pool("other".to_owned()), after(2));
    assert_eq!(asked, Asked { answer: Answer::Cold(Cold::NoPool), wake: vec![key("two")] });
}

#[test]
fn whoever_expected_a_member_that_another_got_expects_what_it_may_take() {
    let second = Member { pool: "second".into(), ..member("b", Progress::Starting) };
    let mut book = book([member("a", Progress::Starting)]);
    assert_eq!(book.pool_is(&key("second"), 1, NOON), []);
    assert_eq!(book.offer(second.clone(), NOON), []);
    assert_eq!(ask(&mut book, "any", &template(), 1), "wait 2001", "it expects the first");
    assert_eq!(ask(&mut book, "one", &Request::Pool("second".to_owned()), 1), "wait 2001");
    let ready = Member { progress: Progress::Ready, ..second };
    assert_eq!(book.offer(ready, after(2)), [key("any"), key("one")]);
    assert_eq!(ask(&mut book, "any", &template(), 3), "b");
    assert_eq!(ask(&mut book, "one", &Request::Pool("second".to_owned()), 3), "Empty");
}
