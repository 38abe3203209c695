//! Writes to a store for as long as it lives and says what was acknowledged, one number a line.
//! `tests/kill.rs` kills it and looks whether that was true.

use std::env;
use std::io::{Write, stdout};
use std::path::PathBuf;

use asb_apiserver::store::{Key, Precondition, Store};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let path = PathBuf::from(env::args_os().nth(1).expect("usage: store_writer FILE"));
    let store = Store::open(&path).expect("a store");
    for number in 0_u64.. {
        let key = Key::new("configmaps", Some("default"), &format!("n{number}"));
        store.put(key, Precondition::Absent, json!({"data": {"n": number}})).await.expect("a write");
        writeln!(stdout(), "{number}").expect("somebody reads");
    }
}
