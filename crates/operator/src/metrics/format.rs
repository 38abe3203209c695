//! The two text formats in which measures are read. Prometheus takes either, and upstream has only ever spoken the older
//! one, in which bounds of buckets are written as Go writes numbers: whoever takes that gets it.

use std::fmt::Write;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// That of Prometheus, 0.0.4.
    Plain,
    OpenMetrics,
}

impl Format {
    /// What to answer to somebody who accepts this.
    pub(crate) fn accepted(accept: &str) -> Self {
        let takes = |wanted: &[&str]| accept.split(',').any(|range| is_one_of(range, wanted));
        let is_plain = takes(&["text/plain", "text/*", "*/*"]);
        if !is_plain && takes(&["application/openmetrics-text"]) { Self::OpenMetrics } else { Self::Plain }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Plain => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Whether a part of an `Accept` header names one of these, and does not refuse it.
fn is_one_of(range: &str, wanted: &[&str]) -> bool {
    let mut parts = range.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let quality = parts.find_map(|part| part.strip_prefix("q=")).and_then(|quality| quality.parse().ok());
    wanted.iter().any(|wanted| name.eq_ignore_ascii_case(wanted)) && quality != Some(0.0)
}

/// The older format of what is written in `OpenMetrics`.
pub(super) fn plain(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let mut help = None;
    for line in open_metrics.lines() {
        if let Some(described) = line.strip_prefix("# HELP ") {
            help = described.split_once(' ');
        } else if let Some((name, type_)) = line.strip_prefix("# TYPE ").and_then(|it| it.split_once(' ')) {
            describe(&mut text, name, type_, help.take());
        } else if line.starts_with('#') {
            // Units are in the names, and the end is where nothing more comes.
        } else {
            sample(&mut text, line);
        }
    }
    text
}

/// Here a counter goes by the name that its samples bear.
fn describe(text: &mut String, name: &str, type_: &str, help: Option<(&str, &str)>) {
    let suffix = if type_ == "counter" { "_total" } else { "" };
    let help = help.map_or("", |(_, help)| help);
    write!(text, "# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {type_}\n")
        .expect("writing to a string cannot fail");
}

fn sample(text: &mut String, line: &str) {
    const BOUND: &str = "_bucket{le=\"";
    let bound = line.find(BOUND).map(|at| line.split_at(at + BOUND.len()));
    match bound.and_then(|(name, rest)| Some((name, rest.split_once('"')?))) {
        Some((name, (bound, rest))) => {
            text.push_str(name);
            text.push_str(&bound.parse().map_or_else(|_| bound.to_owned(), number));
            text.push('"');
            text.push_str(rest);
        }
        None => text.push_str(line),
    }
    text.push('\n');
}

/// A number as Go writes it: the fewest digits that tell it, very small and very large ones with an exponent.
fn number(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').expect("Rust writes an exponent");
    match exponent.parse::<i32>() {
        Ok(exponent) if exponent < -4 => format!("{digits}e-{:02}", -exponent),
        Ok(exponent) if exponent >= 21 => format!("{digits}e+{exponent:02}"),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_takes_plain_text_gets_it() {
        let prometheus =
            "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
        for accept in ["", "*/*", "text/html, */*", "text/plain", prometheus, "application/json"] {
            assert_eq!(Format::accepted(accept), Format::Plain, "{accept}");
        }
        for accept in
            ["application/openmetrics-text", "Application/OpenMetrics-Text; version=1.0.0, text/plain;q=0"]
        {
            assert_eq!(Format::accepted(accept), Format::OpenMetrics, "{accept}");
        }
        assert_eq!(Format::accepted("application/openmetrics-text; q=0"), Format::Plain);
    }

    #[test]
    fn numbers_are_written_as_go_writes_them() {
        let written = [1e-8, 9.999_999_999_999_999e-6, 0.0001, 0.005, 0.5, 1.0, 100.0, 600_000.0, 1e21]
            .map(number)
            .join(" ");
        assert_eq!(written, "1e-08 9.999999999999999e-06 0.0001 0.005 0.5 1 100 600000 1e+21");
        assert_eq!(number(f64::INFINITY), "+Inf");
    }

    #[test]
    fn the_older_format_names_counters_in_full_and_has_no_end() {
        let newer = "# HELP looks How often.\n# TYPE looks counter\nlooks_total{a=\"# b\"} 1\n\
            # HELP took How long.\n# TYPE took histogram\n# UNIT took seconds\ntook_sum 1.0\ntook_count 1\n\
            took_bucket{le=\"100.0\",of=\"x_bucket{le=\\\"1.0\"} 1\ntook_bucket{le=\"+Inf\"} 1\n# EOF\n";
        insta::assert_snapshot!(plain(newer));
    }
}
