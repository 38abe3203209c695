//! The end of a container's log, for those who ask for it as a termination message.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::shim::directory::Directory;
use crate::shim::protocol::Attempt;

const MOST_LINES: usize = 80;
const MOST_BYTES: usize = 2048;
/// Enough for so many bytes with the time and the stream before each line.
const WINDOW: u64 = 16 * 1024;

/// As much as a kubelet takes. Reads a few pages of a file that was just written.
pub(super) fn of(directory: &Directory, attempt: &Attempt) -> Option<String> {
    let log = directory.container(attempt).ok()??.log?;
    read(&log.path).ok()
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(WINDOW)))?;
    let mut bytes = Vec::new();
    file.take(WINDOW).read_to_end(&mut bytes)?;
    Ok(end(&String::from_utf8_lossy(&bytes), length > WINDOW))
}

/// What was said, without when and where.
fn end(text: &str, is_cut: bool) -> String {
    let mut said = String::new();
    for line in text.lines().skip(usize::from(is_cut)) {
        let mut fields = line.splitn(4, ' ');
        let (partial, words) = (fields.nth(2), fields.next());
        said.push_str(words.unwrap_or_default());
        if partial == Some("F") {
            said.push('\n');
        }
    }
    let lines: Vec<&str> = said.lines().collect();
    let kept = lines[lines.len().saturating_sub(MOST_LINES)..].join("\n");
    let begin = (kept.len().saturating_sub(MOST_BYTES)..=kept.len()).find(|at| kept.is_char_boundary(*at));
    kept[begin.unwrap_or_default()..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_whole() {
        let log = "2026-01-01T00:00:00Z stdout F one\n2026-01-01T00:00:00Z stderr P two \n2026-01-01T00:00:00Z stderr F parts\n";
        assert_eq!(end(log, false), "one\ntwo parts");
        assert_eq!(end(log, true), "two parts");
        let many = "2026-01-01T00:00:00Z stdout F ä\n".repeat(3000);
        assert_eq!(end(&many, false).lines().count(), MOST_LINES);
        let wide = format!("2026-01-01T00:00:00Z stdout F {}\n", "ä".repeat(3000));
        assert_eq!(end(&wide, false).len(), MOST_BYTES);
    }
}
