//! One stream of output of a container: into the log, and to whoever is attached. A reader that does not keep up is left
//! behind; the container never waits for one.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use jiff::Timestamp;
use rustix::fs::{FileType, Uid, fchown, fstat};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

use super::logs::{Lines, LogFile};

/// What a reader may be behind.
const BACKLOG: usize = 1 << 20;

/// What is read at once.
const CHUNK: usize = 16 << 10;

#[derive(Debug)]
pub(super) struct Output {
    /// Until it ends. Those who attach later find the end of it, in its place.
    source: Option<OwnedFd>,
    lines: Lines,
    readers: Vec<OwnedFd>,
}

/// Makes a pipe the property of whoever reads or writes it in the container: programs open /dev/stdout by its name.
pub(super) fn give(pipe: impl AsFd, user: u32) -> io::Result<()> {
    if FileType::from_raw_mode(fstat(&pipe)?.st_mode) == FileType::Fifo {
        fchown(&pipe, Some(Uid::from_raw(user)), None)?;
    }
    Ok(())
}

/// Whether there is more to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pumped {
    Some,
    NothingNow,
    End,
}

impl Output {
    /// Of a pipe or a terminal that does not block.
    pub(super) fn new(source: OwnedFd, stream: &'static str) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&source, true)?;
        Ok(Self { source: Some(source), lines: Lines::new(stream), readers: Vec::new() })
    }

    pub(super) fn source(&self) -> Option<BorrowedFd<'_>> {
        self.source.as_ref().map(AsFd::as_fd)
    }

    /// A pipe with all that comes from now on.
    pub(super) fn attach(&mut self) -> io::Result<OwnedFd> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        // Readers may wait; we do not.
        rustix::io::ioctl_fionbio(&write, true)?;
        // A smaller one is a shorter patience, no more.
        let _ = fcntl_setpipe_size(&write, BACKLOG);
        if self.source.is_some() {
            self.readers.push(write);
        }
        Ok(read)
    }

    /// Passes on what is there, once.
    pub(super) fn pump(&mut self, log: &mut LogFile) -> Pumped {
        let mut chunk = [0; CHUNK];
        let Some(source) = &self.source else { return Pumped::End };
        match rustix::io::read(source, &mut chunk) {
            Ok(0) => self.end(log),
            Ok(length) => {
                self.pass_on(&chunk[..length], log);
                Pumped::Some
            }
            Err(error) => match io::Error::from(error).kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted => Pumped::NothingNow,
                // A terminal says so when nobody has it open any more.
                _ => self.end(log),
            },
        }
    }

    /// Passes on all that was written before now.
    pub(super) fn drain(&mut self, log: &mut LogFile) {
        while self.pump(log) == Pumped::Some {}
        self.end(log);
    }

    fn pass_on(&mut self, bytes: &[u8], log: &mut LogFile) {
        log.write(&self.lines.feed(bytes, Timestamp::now()));
        self.readers.retain(|reader| rustix::io::write(reader, bytes) == Ok(bytes.len()));
    }

    fn end(&mut self, log: &mut LogFile) -> Pumped {
        log.write(&self.lines.finish(Timestamp::now()));
        self.readers.clear();
        self.source = None;
        Pumped::End
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_reader_that_does_not_read_is_left_behind_and_the_others_get_everything() {
        let (source, sink) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let (mut output, mut log) = (Output::new(source, "stdout").unwrap(), LogFile::new(None));
        let (_idle, busy) = (output.attach().unwrap(), output.attach().unwrap());
        let (mut sink, mut busy) = (File::from(sink), File::from(busy));
        let mut received = 0;
        for _ in 0..200 {
            sink.write_all(&[b'x'; CHUNK]).unwrap();
            assert_eq!(output.pump(&mut log), Pumped::Some);
            received += busy.read(&mut [0; CHUNK]).unwrap();
        }
        assert_eq!(received, 200 * CHUNK);
        assert_eq!(output.readers.len(), 1);
    }
}
