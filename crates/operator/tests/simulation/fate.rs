//! What goes wrong with a request.

use std::time::Duration;

use crate::chance::Chance;

/// How bad it is in a schedule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Storm {
    /// Of a thousand requests, so many go wrong.
    faults: u64,
    /// Of a thousand writes, so many are the operator's last.
    deaths: u64,
    /// The longest that most requests take, in milliseconds.
    slowness: u64,
}

impl Storm {
    pub(crate) const OVER: Self = Self { faults: 0, deaths: 0, slowness: 5 };

    pub(crate) fn brew(chance: &mut Chance) -> Self {
        Self {
            faults: chance.pick(&[0, 30, 150, 400, 600]),
            deaths: chance.pick(&[0, 10, 40]),
            slowness: chance.pick(&[2, 30, 500]),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Fine,
    /// The server will not do it now.
    Refused(u16),
    /// Somebody changes the object just before.
    Meddled,
    /// No answer comes, and nothing was done.
    LostBefore,
    /// No answer comes, though it was done.
    LostAfter,
    /// The operator's process ends before the request is heard.
    DiesBefore,
    /// It ends right after it was done.
    DiesAfter,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    pub(crate) fate: Fate,
    pub(crate) there: Duration,
    pub(crate) back: Duration,
    /// What the server says instead of an answer, if it says anything.
    pub(crate) excuse: Option<u16>,
}

impl Course {
    pub(crate) fn draw(chance: &mut Chance, storm: Storm, is_write: bool) -> Self {
        let fate = Fate::draw(chance, storm, is_write);
        let is_lost = matches!(fate, Fate::LostBefore | Fate::LostAfter);
        let back = if is_lost { 10_000 } else { storm.slowness };
        // A server whose database did not answer it does not know either whether it was done.
        let excuse = if is_lost { chance.pick(&[None, Some(500), Some(504)]) } else { None };
        Self { fate, there: chance.millis(storm.slowness), back: chance.millis(back), excuse }
    }
}

impl Fate {
    fn draw(chance: &mut Chance, storm: Storm, is_write: bool) -> Self {
        if is_write && chance.below(1000) < storm.deaths {
            return chance.pick(&[Self::DiesBefore, Self::DiesAfter, Self::DiesAfter]);
        }
        if chance.below(1000) >= storm.faults {
            return Self::Fine;
        }
        let refused = Self::Refused(chance.pick(&[429, 500, 503]));
        if is_write {
            chance.pick(&[refused, Self::Meddled, Self::LostBefore, Self::LostAfter, Self::LostAfter])
        } else {
            chance.pick(&[refused, Self::LostBefore])
        }
    }
}
