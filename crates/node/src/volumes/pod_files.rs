//! Files that are the Pod's own, and that every one of its containers has.

use std::fs;
use std::io;
use std::path::Path;

use super::durable::{Gate, OPEN, closed, publish, unless_missing, write_file};
use super::error::{Error, failed};
use crate::blueprint::Files;

/// What is in them.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    pub hosts: &'a str,
    pub hostname: &'a str,
    pub resolver: &'a str,
}

/// Makes sure of the files in `folder`. One that says the same already stays, with whoever has it mounted.
pub fn write(folder: &Path, texts: &Texts<'_>) -> Result<Files, Error> {
    write_with(folder, texts, OPEN)
}

fn write_with(folder: &Path, texts: &Texts<'_>, gate: Gate<'_>) -> Result<Files, Error> {
    gate().and_then(|()| closed(folder)).map_err(failed("make", folder))?;
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        one(folder, name, text, gate).map_err(failed("write", &path))?;
        Ok::<_, Error>(path)
    };
    Ok(Files {
        hosts: file("hosts", texts.hosts)?,
        hostname: file("hostname", &format!("{}\n", texts.hostname))?,
        resolver: file("resolv.conf", texts.resolver)?,
    })
}

fn one(folder: &Path, name: &str, text: &str, gate: Gate<'_>) -> io::Result<()> {
    let (path, new) = (folder.join(name), folder.join(format!(".new-{name}")));
    if fs::read(&path).is_ok_and(|found| found == text.as_bytes()) {
        return Ok(());
    }
    gate()?;
    unless_missing(fs::remove_file(&new))?;
    let file = write_file(&new, text.as_bytes(), 0o644)?;
    gate()?;
    file.sync_all()?;
    publish(&new, &path, gate)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::volumes::fixtures::at_every_step;

    const TEXTS: Texts<'_> =
        Texts { hosts: "127.0.0.1\tlocalhost\n", hostname: "p", resolver: "nameserver 10.0.0.10\n" };

    #[test]
    fn files_are_written_once_and_again_when_they_change() {
        let folder = tempfile::tempdir().unwrap();
        let files = write(folder.path(), &TEXTS).unwrap();
        let number = |path: &Path| fs::metadata(path).unwrap().ino();
        let before = (number(&files.hosts), number(&files.resolver));
        assert_eq!(fs::read(&files.hostname).unwrap(), b"p\n");
        assert_eq!(fs::metadata(&files.hosts).unwrap().mode() & 0o7777, 0o644);
        write(folder.path(), &Texts { hosts: "::1\tlocalhost\n", ..TEXTS }).unwrap();
        assert_eq!(number(&files.resolver), before.1);
        assert_eq!(fs::read(&files.hosts).unwrap(), b"::1\tlocalhost\n");
    }

    #[test]
    fn a_crash_at_any_step_can_be_done_again() {
        at_every_step(
            |folder, gate| write_with(&folder.join("etc"), &TEXTS, gate).is_ok(),
            |folder| {
                let files = write(&folder.join("etc"), &TEXTS).unwrap();
                assert_eq!(fs::read(files.resolver).unwrap(), TEXTS.resolver.as_bytes());
                assert_eq!(fs::read_dir(folder.join("etc")).unwrap().count(), 3);
            },
        );
    }
}
