//! Notices panics in a schedule. The operator survives a bug in one look at an object; the simulation must not.

use std::cell::RefCell;
use std::panic;
use std::sync::Once;

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

static WATCH: Once = Once::new();

/// Runs something on this thread, and says how it panicked, if it did at any place.
pub(crate) fn noticed<R>(run: impl FnOnce() -> R) -> (R, Option<String>) {
    WATCH.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            LAST.set(Some(panic.to_string()));
            usual(panic);
        }));
    });
    LAST.set(None);
    let result = run();
    (result, LAST.take())
}
