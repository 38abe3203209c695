//! A controller that fails and breaks on demand.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;

use super::*;
use crate::store::{Disk, Key, Precondition, Store};

/// Looks at names, and does what is written beside each before it succeeds.
struct Clumsy {
    api: Api,
    breaks_at_first: AtomicUsize,
    attempts: Mutex<Vec<String>>,
    done: Notify,
}

impl Clumsy {
    fn new() -> Self {
        let disk = Disk::backend(redb::backends::InMemoryBackend::new).unwrap();
        let api = Api::new(Store::start(disk, 100).unwrap());
        Self { api, breaks_at_first: AtomicUsize::new(0), attempts: Mutex::default(), done: Notify::new() }
    }

    async fn make(&self, name: &str) {
        let key = Key::new("pods", None, name);
        self.api.store().put(key, Precondition::Absent, json!({})).await.unwrap();
    }

    fn attempts(&self) -> Vec<String> {
        self.attempts.lock().unwrap().clone()
    }
}

impl Controller for Clumsy {
    const NAME: &'static str = "clumsy";
    const RESOURCES: &'static [&'static str] = &["pods"];
    type Item = String;

    fn api(&self) -> &Api {
        &self.api
    }

    fn all(&self) -> Vec<String> {
        let left = self.breaks_at_first.load(Ordering::Relaxed);
        self.breaks_at_first.store(left.saturating_sub(1), Ordering::Relaxed);
        assert!(left == 0, "it broke on purpose");
        let entries = self.api.store().list(&Scope::resource("pods")).entries;
        entries.iter().map(|entry| entry.key.name().to_owned()).collect()
    }

    fn touched(&self, event: &Event) -> Vec<String> {
        vec![event.entry.key.name().to_owned()]
    }

    async fn tend(&self, item: &String) -> Result<(), Status> {
        let attempts = {
            let mut attempts = self.attempts.lock().unwrap();
            attempts.push(item.clone());
            attempts.iter().filter(|it| *it == item).count()
        };
        match item.as_str() {
            "fails" if attempts < 4 => Err(Status::internal("not yet")),
            "breaks" if attempts < 3 => panic!("it broke on purpose"),
            _ => {
                self.done.notify_one();
                Ok(())
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_fails_or_breaks_is_tried_again_and_keeps_nobody_waiting() {
    let clumsy = Clumsy::new();
    for name in ["breaks", "fails", "works"] {
        clumsy.make(name).await;
    }
    let mut driver = Driver::new(&clumsy);
    driver.settle().await;
    assert_eq!(clumsy.attempts(), ["breaks", "fails", "works"]);
    let begun = Instant::now();
    while driver.queue.again().is_some() {
        driver.wait().await;
        driver.settle().await;
    }
    assert_eq!(clumsy.attempts()[3..], ["breaks", "fails", "breaks", "fails", "fails"]);
    assert!(begun.elapsed() >= Duration::from_millis(50 + 100 + 200));
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_breaks_begins_anew() {
    let clumsy = Arc::new(Clumsy::new());
    clumsy.breaks_at_first.store(2, Ordering::Relaxed);
    clumsy.make("works").await;
    let running = Arc::new(AtomicUsize::new(0));
    let begun = || running.fetch_add(1, Ordering::Relaxed);
    tokio::select! {
        () = keep_up("clumsy", || follow(Arc::clone(&clumsy), begun)) => unreachable!("it is kept up for ever"),
        () = clumsy.done.notified() => {}
    }
    assert_eq!(clumsy.attempts(), ["works"]);
    assert_eq!(clumsy.breaks_at_first.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn changes_are_heard_while_there_is_work() {
    let clumsy = Clumsy::new();
    clumsy.make("first").await;
    let mut driver = Driver::new(&clumsy);
    clumsy.make("second").await;
    while driver.step().await {}
    assert_eq!(clumsy.attempts(), ["first", "second"]);
}

#[tokio::test]
async fn changes_that_were_missed_are_made_up_for() {
    let clumsy = Clumsy::new();
    let mut driver = Driver::new(&clumsy);
    for number in 0..200 {
        clumsy.make(&format!("pod{number}")).await;
    }
    driver.settle().await;
    assert_eq!(clumsy.attempts().len(), 200);
}
