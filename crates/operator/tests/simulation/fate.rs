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
    /// No answer comes, and it is done when the operator no longer waits for it.
    LandsLate,
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
    /// How much later it is done than the operator gives up, where it is done late.
    pub(crate) late: Duration,
    /// Whether it is done even if the process that asked for it is gone.
    pub(crate) outlives: bool,
}

impl Course {
    pub(crate) fn draw(chance: &mut Chance, storm: Storm, is_write: bool) -> Self {
        let fate = Fate::draw(chance, storm, is_write);
        let is_lost = fate.is_lost();
        // What is read may be long out of date when it arrives.
        let is_late = !is_write && storm.faults > 0 && chance.one_in(8);
        let back = match (is_lost, is_late) {
            (true, _) => 10_000,
            (false, true) => 5000,
            (false, false) => storm.slowness,
        };
        // A server whose database did not answer it does not know either whether it was done.
        let excuse = if is_lost { chance.pick(&[None, Some(500), Some(504)]) } else { None };
        let late = if fate == Fate::LandsLate { chance.pick(&[50, 1000, 10_000, 60_000]) } else { 1 };
        Self {
            fate,
            there: chance.millis(storm.slowness),
            back: chance.millis(back),
            excuse,
            late: chance.millis(late),
            outlives: is_write && chance.one_in(2),
        }
    }
}

impl Fate {
    /// Whether no answer comes.
    pub(crate) fn is_lost(self) -> bool {
        matches!(self, Self::LostBefore | Self::LostAfter | Self::LandsLate)
    }

    fn draw(chance: &mut Chance, storm: Storm, is_write: bool) -> Self {
        if is_write && chance.below(1000) < storm.deaths {
            return chance.pick(&[Self::DiesBefore, Self::DiesAfter, Self::DiesAfter]);
        }
        if chance.below(1000) >= storm.faults {
            return Self::Fine;
        }
        let refused = Self::Refused(chance.pick(&[429, 500, 503]));
        if is_write {
            let lost = [Self::LostBefore, Self::LostAfter, Self::LostAfter, Self::LandsLate];
            let lost = chance.pick(&lost);
            chance.pick(&[refused, Self::Meddled, lost, lost, lost])
        } else {
            chance.pick(&[refused, Self::LostBefore])
        }
    }
}
