//! Upstream's flags for which there is nothing here. Saying that one wants nothing of the kind is fine; otherwise it is
//! refused with the reason, rather than taken and passed over.

use anyhow::{Result, bail};
use clap::ArgAction;

#[derive(clap::Args, Debug, Default)]
pub(crate) struct Foreign {
    #[arg(long, hide = true, action = ArgAction::Set, default_value_t = false)]
    enable_pprof: bool,

    #[arg(long, hide = true, action = ArgAction::Set, default_value_t = false)]
    enable_pprof_debug: bool,

    #[arg(long, hide = true)]
    pprof_block_profile_rate: Option<String>,

    #[arg(long, hide = true)]
    pprof_mutex_profile_fraction: Option<String>,
}

const PPROF: &str = "Go profiles are of Go programs; use perf on this one";

impl Foreign {
    pub(super) fn refuse(&self) -> Result<()> {
        let wanted = [
            ("enable-pprof", self.enable_pprof, PPROF),
            ("enable-pprof-debug", self.enable_pprof_debug, PPROF),
            ("pprof-block-profile-rate", self.pprof_block_profile_rate.is_some(), PPROF),
            ("pprof-mutex-profile-fraction", self.pprof_mutex_profile_fraction.is_some(), PPROF),
        ];
        match wanted.iter().find(|(_, is_wanted, _)| *is_wanted) {
            Some((flag, _, why)) => bail!("--{flag} is not supported: {why}"),
            None => Ok(()),
        }
    }
}
