//! How much is said on standard error about what goes on, and in which form.

use anyhow::{Result, bail};
use clap::{ArgAction, ValueEnum};
use tracing::level_filters::LevelFilter;

use crate::output::{self, Listener};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Encoder {
    /// One JSON object a line
    Json,
    /// For people
    #[value(alias = "console")]
    Text,
}

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Logging")]
pub(crate) struct Logging {
    /// How much to say about what goes on: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "info", env = "ASB_LOG", hide_env_values = true)]
    log: LevelFilter,

    /// In which form
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Encoder::Json)]
    log_encoder: Encoder,

    /// For people, and much: as --log debug --log-encoder text
    #[arg(long, action = ArgAction::Set, default_value_t = false, hide = true)]
    zap_devel: bool,

    #[arg(long, hide = true, value_enum)]
    zap_encoder: Option<Encoder>,

    #[arg(long, hide = true)]
    zap_log_level: Option<String>,

    #[arg(long, hide = true)]
    zap_stacktrace_level: Option<String>,

    #[arg(long, hide = true)]
    zap_time_encoding: Option<String>,
}

impl Logging {
    /// From here on, what goes on is said, and somebody else may listen.
    pub(crate) fn begin(&self, other: Option<Listener>) -> Result<()> {
        let (level, encoder) = self.chosen()?;
        output::log(level, encoder, other);
        Ok(())
    }

    fn chosen(&self) -> Result<(LevelFilter, Encoder)> {
        if self.zap_stacktrace_level.is_some() {
            bail!("--zap-stacktrace-level is not supported: errors carry their causes, and no stacks");
        }
        match self.zap_time_encoding.as_deref() {
            None | Some("rfc3339" | "rfc3339nano" | "iso8601") => {}
            Some(other) => bail!("--zap-time-encoding={other} is not supported: times are in RFC 3339"),
        }
        let (level, encoder) =
            if self.zap_devel { (LevelFilter::DEBUG, Encoder::Text) } else { (self.log, self.log_encoder) };
        let level = self.zap_log_level.as_deref().map(zap_level).transpose()?.unwrap_or(level);
        Ok((level, self.zap_encoder.unwrap_or(encoder)))
    }
}

/// Zap's levels have names, and beyond them numbers that say how much more.
fn zap_level(text: &str) -> Result<LevelFilter> {
    Ok(match text.to_ascii_lowercase().as_str() {
        "debug" => LevelFilter::DEBUG,
        "info" => LevelFilter::INFO,
        "error" | "panic" => LevelFilter::ERROR,
        other => match other.parse::<u8>() {
            Ok(1) => LevelFilter::DEBUG,
            Ok(2..) => LevelFilter::TRACE,
            Ok(0) | Err(_) => bail!("--zap-log-level must be debug, info, error, panic or a number above 0"),
        },
    })
}
