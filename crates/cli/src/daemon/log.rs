//! The log of a daemon that has no terminal to talk to.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Beyond which a start begins a new one and keeps the one before.
const LARGE: u64 = 8 * 1024 * 1024;

/// How much of it is worth showing.
const LINES: usize = 20;

pub(crate) fn path(data_dir: &Path) -> PathBuf {
    data_dir.join("asb.log")
}

/// Opens it at its end, and says where that is.
pub(super) fn open(data_dir: &Path) -> Result<(File, u64)> {
    let path = path(data_dir);
    let opened = || -> std::io::Result<(File, u64)> {
        if fs::metadata(&path).is_ok_and(|log| log.len() > LARGE) {
            fs::rename(&path, path.with_extension("log.old"))?;
        }
        let file = File::options().create(true).append(true).mode(0o600).open(&path)?;
        let end = file.metadata()?.len();
        Ok((file, end))
    };
    opened().with_context(|| format!("cannot write the log {}", path.display()))
}

/// The last lines that were written from there on.
pub(super) fn tail(data_dir: &Path, from: u64) -> String {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(path(data_dir))?;
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    last_lines(&read().unwrap_or_default())
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_is_its_last_lines() {
        let long: String =
            (1..=30).flat_map(|number| ["line ".to_owned(), number.to_string(), "\n".to_owned()]).collect();
        let end = last_lines(&long);
        assert!(end.starts_with("line 11\n") && end.ends_with("line 30"), "{end}");
        assert_eq!(last_lines("only\n"), "only");
        assert_eq!(last_lines(""), "");
    }
}
