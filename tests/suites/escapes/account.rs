//! How many attacks were made, and how they went.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::ground::Setting;

#[derive(Default)]
struct Count {
    made: AtomicUsize,
    as_expected: AtomicUsize,
}

static CONFINED: Count = Count { made: AtomicUsize::new(0), as_expected: AtomicUsize::new(0) };
static LIFTED: Count = Count { made: AtomicUsize::new(0), as_expected: AtomicUsize::new(0) };

pub(crate) fn made(setting: Setting, as_expected: bool) {
    let count = match setting {
        Setting::Confined => &CONFINED,
        Setting::Lifted => &LIFTED,
    };
    count.made.fetch_add(1, Relaxed);
    count.as_expected.fetch_add(usize::from(as_expected), Relaxed);
}

/// Says it where the outcome of tests is said.
pub(crate) fn tell() {
    let [confined, lifted] =
        [&CONFINED, &LIFTED].map(|count| (count.made.load(Relaxed), count.as_expected.load(Relaxed)));
    let mut out = std::io::stdout();
    // An error means that nobody is there to be told.
    if confined.0 > 0 {
        let _ = writeln!(out, "{} attacks were made from inside; {} were held off", confined.0, confined.1);
    }
    if lifted.0 > 0 {
        let _ = writeln!(out, "{} of them were made without their layer; {} succeeded", lifted.0, lifted.1);
    }
}
