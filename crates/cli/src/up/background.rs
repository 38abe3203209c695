//! `asb up --detach`: the same program again, in the background, with the same words.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;

use super::greeting::{self, Mode};
use crate::{daemon, output, session};

pub(super) fn start(data_dir: &Path) -> Result<()> {
    let begun = Instant::now();
    session::block_on(async {
        let hello = daemon::start(data_dir, in_background(env::args_os().skip(1))).await?;
        output::print(&greeting::of(&hello, data_dir, begun.elapsed(), Mode::Background))
    })
}

/// What was typed, for the process that stays.
fn in_background(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    words.map(|word| if word == "--detach" || word == "-d" { "--background".into() } else { word }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_in_the_background_is_told_the_same() {
        let told = in_background(["up", "-d", "--listen", "127.0.0.1:0"].into_iter().map(OsString::from));
        assert_eq!(told, ["up", "--background", "--listen", "127.0.0.1:0"]);
    }
}
