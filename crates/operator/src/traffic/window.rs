//! How many requests to have under way at a time. More than the API server works on only wait there, in the order in which
//! they came, instead of here, where the urgent ones go first. How many that is shows in how much longer answers take than
//! they need: the way in which TCP Vegas finds out about a network.

use std::time::Duration;

use tokio::time::Instant;

/// So many may be under way whatever comes.
const LEAST: f64 = 8.0;
/// So many are to wait at the server. With fewer it may run out of work, and more gain nothing.
const FEW: f64 = 4.0;
const MANY: f64 = 8.0;
/// How long the quickest answer is remembered, at least. Servers get slower for good, too.
const MEMORY: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Window {
    size: f64,
    most: f64,
    /// The quickest answers of this stretch of time, and of the one before it.
    quickest: Duration,
    quickest_before: Duration,
    since: Option<Instant>,
}

impl Window {
    pub(super) fn new(most: usize) -> Self {
        let most = f64::from(u32::try_from(most).unwrap_or(u32::MAX));
        Self {
            size: LEAST.min(most),
            most,
            quickest: Duration::MAX,
            quickest_before: Duration::MAX,
            since: None,
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and a u32")]
    pub(super) fn size(&self) -> usize {
        self.size as usize
    }

    /// Takes note of an answer, and of whether more would have been asked meanwhile.
    pub(super) fn answered(&mut self, took: Duration, is_full: bool, now: Instant) {
        self.remember(took, now);
        let needed = self.quickest.min(self.quickest_before);
        let waiting = self.size * (1.0 - needed.as_secs_f64() / took.as_secs_f64().max(f64::EPSILON));
        if waiting > MANY {
            self.size -= 1.0 / self.size;
        } else if waiting < FEW && is_full {
            self.size += 1.0 / self.size;
        }
        self.size = self.size.clamp(LEAST.min(self.most), self.most);
    }

    fn remember(&mut self, took: Duration, now: Instant) {
        let since = *self.since.get_or_insert(now);
        if now.duration_since(since) >= MEMORY {
            self.quickest_before = std::mem::replace(&mut self.quickest, Duration::MAX);
            self.since = Some(now);
        }
        self.quickest = self.quickest.min(took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that works on so many requests at a time, each for 5 ms, asked as often as the window allows.
    fn settled(window: &mut Window, at_once: usize, answers: usize) -> usize {
        let now = Instant::now();
        window.answered(Duration::from_millis(5), false, now);
        for _ in 0..answers {
            let rounds = window.size().div_ceil(at_once).max(1);
            window.answered(Duration::from_millis(5) * u32::try_from(rounds).unwrap(), true, now);
        }
        window.size()
    }

    #[test]
    fn a_small_server_is_not_asked_more_than_it_does() {
        assert!((8..=16).contains(&settled(&mut Window::new(256), 2, 10_000)));
    }

    #[test]
    fn a_large_server_is_given_what_it_can_do() {
        assert!((48..=64).contains(&settled(&mut Window::new(256), 48, 10_000)));
    }

    #[test]
    fn there_is_an_end_to_it() {
        assert_eq!(settled(&mut Window::new(64), 1_000, 10_000), 64);
        assert_eq!(settled(&mut Window::new(1), 1_000, 10_000), 1);
    }

    #[test]
    fn a_server_that_has_nothing_to_do_proves_nothing() {
        let mut window = Window::new(256);
        let now = Instant::now();
        for _ in 0..1_000 {
            window.answered(Duration::from_millis(5), false, now);
        }
        assert_eq!(window.size(), 8);
    }

    #[test]
    fn what_a_server_could_do_once_is_forgotten() {
        let mut window = Window::new(256);
        let start = Instant::now();
        window.answered(Duration::from_millis(1), true, start);
        for second in 0..60 {
            for _ in 0..100 {
                window.answered(Duration::from_millis(20), true, start + Duration::from_secs(second));
            }
        }
        assert!(window.size() > 32, "{}", window.size());
    }
}
