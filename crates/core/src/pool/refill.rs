//! How fast a pool is refilled: not at once after a member was taken, where a delay is asked for, and no faster than
//! the rate that is asked for. By default neither holds anything up.

use jiff::{SignedDuration, Timestamp};

use super::{Settings, after};

/// A delay that is lengthened by every member taken would starve a busy pool: it ends after so many of its length.
const MOST_DELAYS: i32 = 5;

/// What is remembered about a pool's refill from one plan to the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Refill {
    /// How many members there were.
    seen: Option<usize>,
    hold: Option<Hold>,
    bucket: Option<Bucket>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Hold {
    since: Timestamp,
    until: Timestamp,
}

/// Tokens for creates, one each.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bucket {
    tokens: f64,
    at: Timestamp,
}

/// How many may be created now, and when more may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    pub count: usize,
    pub again: Option<Timestamp>,
}

impl Refill {
    /// Takes note of how many members there are. The first look, growth, and a full pool start no delay.
    pub(super) fn note(&mut self, active: usize, wanted: usize, settings: &Settings, now: Timestamp) {
        let fell = self.seen.is_some_and(|seen| active < seen);
        self.seen = Some(active);
        let delay = settings.replenish_delay;
        if delay <= SignedDuration::ZERO || active >= wanted {
            self.hold = None;
        } else if fell && self.hold.is_none_or(|hold| now < hold.until) {
            let since = self.hold.map_or(now, |hold| hold.since.min(now));
            self.hold = Some(Hold {
                since,
                until: after(now, delay).min(after(since, delay.saturating_mul(MOST_DELAYS))),
            });
        }
    }

    pub(super) fn grant(&mut self, deficit: usize, settings: &Settings, now: Timestamp) -> Grant {
        if deficit == 0 {
            return Grant { count: 0, again: None };
        }
        // One that begins in the future was made before the clock was set back, and nobody knows how long before.
        if let Some(hold) = self.hold.filter(|hold| hold.since <= now && now < hold.until) {
            return Grant { count: 0, again: Some(hold.until) };
        }
        self.hold = None;
        let batch = deficit.min(settings.max_batch);
        let grant = self.draw(batch, settings.max_refill_rate, now);
        let again = if grant.count == batch && batch < deficit { Some(now) } else { grant.again };
        Grant { again, ..grant }
    }

    fn draw(&mut self, asked: usize, rate: f64, now: Timestamp) -> Grant {
        if !rate.is_finite() || rate <= 0.0 {
            return Grant { count: asked, again: None };
        }
        let capacity = rate.max(1.0);
        let filled = self.bucket.map_or(capacity, |bucket| {
            let elapsed = now.duration_since(bucket.at).as_secs_f64().max(0.0);
            (bucket.tokens + elapsed * rate).min(capacity)
        });
        let count = (0..asked).take_while(|number| token(*number) <= filled).count();
        let tokens = filled - token(count) + 1.0;
        self.bucket = Some(Bucket { tokens, at: now });
        let wait = SignedDuration::from_secs_f64(((1.0 - tokens) / rate).clamp(0.001, 3600.0));
        Grant { count, again: (count < asked).then(|| now + wait) }
    }
}

/// What a bucket must hold for one create more than `number`.
fn token(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX)) + 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millisecond: i64) -> Timestamp {
        Timestamp::from_millisecond(millisecond).unwrap()
    }

    fn delayed() -> Settings {
        Settings { replenish_delay: SignedDuration::from_secs(1), ..Settings::default() }
    }

    #[test]
    fn a_member_taken_delays_the_refill_and_growth_does_not() {
        let mut refill = Refill::default();
        refill.note(0, 3, &delayed(), at(0));
        assert_eq!(refill.grant(3, &delayed(), at(0)).count, 3, "the first look");
        refill.note(3, 3, &delayed(), at(10));
        refill.note(3, 5, &delayed(), at(20));
        assert_eq!(refill.grant(2, &delayed(), at(20)).count, 2, "growth");
        refill.note(2, 3, &delayed(), at(30));
        assert_eq!(refill.grant(1, &delayed(), at(30)), Grant { count: 0, again: Some(at(1030)) });
        assert_eq!(refill.grant(1, &delayed(), at(1030)).count, 1);
    }

    #[test]
    fn a_clock_that_is_set_back_delays_nothing() {
        let mut refill = Refill::default();
        refill.note(3, 3, &delayed(), at(86_400_000));
        refill.note(2, 3, &delayed(), at(86_400_000));
        assert_eq!(refill.grant(1, &delayed(), at(0)).count, 1);
    }

    #[test]
    fn a_busy_pool_is_refilled_in_the_end() {
        let mut refill = Refill::default();
        refill.note(100, 100, &delayed(), at(0));
        let granted = (1..20).find(|step| {
            refill.note(100 - usize::try_from(*step).unwrap(), 100, &delayed(), at(step * 500));
            refill.grant(1, &delayed(), at(step * 500)).count == 1
        });
        assert_eq!(granted, Some(11), "five delays after the first was taken");
    }

    #[test]
    fn the_rate_bounds_creates_after_the_first_few() {
        let settings = Settings { max_refill_rate: 2.0, ..Settings::default() };
        let mut refill = Refill::default();
        assert_eq!(refill.grant(5, &settings, at(0)), Grant { count: 2, again: Some(at(500)) });
        assert_eq!(refill.grant(3, &settings, at(250)).count, 0);
        assert_eq!(refill.grant(3, &settings, at(500)).count, 1);
        assert_eq!(refill.grant(2, &settings, at(60_000)).count, 2);
    }

    #[test]
    fn a_rate_below_one_a_second_still_creates() {
        let settings = Settings { max_refill_rate: 0.1, ..Settings::default() };
        let mut refill = Refill::default();
        assert_eq!(refill.grant(2, &settings, at(0)), Grant { count: 1, again: Some(at(10_000)) });
        assert_eq!(refill.grant(1, &settings, at(10_000)).count, 1);
    }

    #[test]
    fn a_batch_is_bounded_and_the_next_follows_at_once() {
        let grant = Refill::default().grant(1000, &Settings::default(), at(0));
        assert_eq!(grant, Grant { count: 300, again: Some(at(0)) });
    }
}
