//! What libcontainer logs while it builds, kept aside: its errors come back as one flat sentence, and the cause of a failure
//! stands only in the log of whichever of its processes failed.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::sync::Mutex;

use rustix::fs::{MemfdFlags, memfd_create};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// A log in memory, which the processes forked from here share.
pub(super) struct Diagnostics {
    file: File,
}

impl Diagnostics {
    /// Collects errors of this process and of those forked from it.
    pub(super) fn collect() -> std::io::Result<Self> {
        let file = File::from(memfd_create("diagnostics", MemfdFlags::CLOEXEC)?);
        let collector = Collector { file: Mutex::new(file.try_clone()?) };
        tracing::subscriber::set_global_default(collector).map_err(std::io::Error::other)?;
        Ok(Self { file })
    }

    /// What was said, the innermost cause first.
    pub(super) fn text(mut self) -> String {
        let mut text = String::new();
        // Without it there is still the error itself.
        let _ = self.file.rewind().and_then(|()| self.file.read_to_string(&mut text));
        text.trim_end().replace('\n', "; ")
    }
}

struct Collector {
    file: Mutex<File>,
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::ERROR && metadata.is_event()
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        if let Ok(mut file) = self.file.lock() {
            let _ = writeln!(file, "{}{}", line.message, line.fields);
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let written = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
        debug_assert!(written.is_ok(), "a string takes whatever is written to it");
    }
}
