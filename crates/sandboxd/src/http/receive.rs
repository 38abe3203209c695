//! Takes a file from a body, as it comes, to the disk.

use std::sync::Arc;

use super::body::Chunks;
use super::multipart::{Event, Head, Reader};
use crate::failure::Failure;
use crate::files::blocking;
use crate::files::path::Inside;
use crate::files::root::Root;
use crate::files::upload::Upload;

/// How much is written at a time.
const CHUNK: usize = 256 * 1024;
/// The part of a form that is the file.
const PART: &str = "file";

pub(crate) struct Writer {
    upload: Upload,
    held: Vec<u8>,
}

impl Writer {
    pub(crate) async fn begin(root: Arc<Root>, inside: Inside, mode: u32) -> Result<Self, Failure> {
        let upload = blocking(move || Upload::begin(&root, &inside, mode)).await?;
        Ok(Self { upload, held: Vec::new() })
    }

    pub(crate) async fn write(mut self, bytes: &[u8]) -> Result<Self, Failure> {
        self.held.extend_from_slice(bytes);
        if self.held.len() < CHUNK {
            return Ok(self);
        }
        blocking(move || {
            self.upload.write(&self.held)?;
            self.held.clear();
            Ok(self)
        })
        .await
    }

    pub(crate) async fn finish(mut self) -> Result<(), Failure> {
        blocking(move || {
            self.upload.write(&self.held)?;
            self.upload.finish()
        })
        .await
    }
}

/// The body is the file.
pub(crate) async fn raw(mut chunks: Chunks, mut writer: Writer) -> Result<(), Failure> {
    while let Some(bytes) = chunks.next().await? {
        writer = writer.write(&bytes).await?;
    }
    writer.finish().await
}

/// The body is a form, and its first part of the right name is the file. Says what that part called it, or nothing if there is no
/// such part.
pub(crate) async fn form(
    mut chunks: Chunks,
    content_type: &str,
    root: &Arc<Root>,
    mode: u32,
    place: impl Fn(&Head) -> Result<Inside, Failure>,
) -> Result<Option<String>, Failure> {
    let broken = |error: super::multipart::Broken| Failure::invalid(error.to_string());
    let mut reader = Reader::new(content_type).map_err(broken)?;
    let (mut found, mut writer, mut open) = (None, None, false);
    while let Some(bytes) = chunks.next().await? {
        for event in reader.push(&bytes).map_err(broken)? {
            match event {
                Event::Part(head) if head.name == PART && found.is_none() => {
                    writer = Some(Writer::begin(root.clone(), place(&head)?, mode).await?);
                    found = Some(head.filename.unwrap_or_default());
                    open = true;
                }
                Event::Data(data) if open => {
                    if let Some(begun) = writer.take() {
                        writer = Some(begun.write(&data).await?);
                    }
                }
                Event::PartEnd => open = false,
                Event::Part(_) | Event::Data(_) => {}
            }
        }
    }
    reader.finish().map_err(broken)?;
    if let Some(writer) = writer {
        writer.finish().await?;
    }
    Ok(found)
}

pub(crate) fn is_form(content_type: Option<&str>) -> bool {
    content_type.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("multipart/form-data"))
}
