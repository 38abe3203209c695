//! One measured number, what it is, and how it is written.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Milliseconds,
    Seconds,
    PerSecond,
    Mebibytes,
    /// Of one processor.
    Percent,
    Count,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    pub(super) what: String,
    pub(super) unit: Unit,
    pub(super) value: f64,
}

impl Figure {
    pub(super) fn new(what: impl Into<String>, unit: Unit, value: f64) -> Self {
        Self { what: what.into(), unit, value }
    }

    pub(super) fn milliseconds(what: impl Into<String>, duration: Duration) -> Self {
        Self::new(what, Unit::Milliseconds, duration.as_secs_f64() * 1000.0)
    }
}

impl Unit {
    pub(super) fn written(self, value: f64) -> String {
        if value.is_infinite() {
            return "never".to_owned();
        }
        match self {
            Self::Milliseconds => format!("{value:.1} ms"),
            Self::Seconds => format!("{value:.1} s"),
            Self::PerSecond => format!("{value:.1}/s"),
            Self::Mebibytes => format!("{value:.0} MiB"),
            Self::Percent => format!("{value:.1} %"),
            Self::Count => format!("{value:.2}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_with_what_they_count() {
        assert_eq!(Unit::Milliseconds.written(12.34), "12.3 ms");
        assert_eq!(Unit::Count.written(0.2), "0.20");
        assert_eq!(Unit::Milliseconds.written(f64::INFINITY), "never");
    }
}
