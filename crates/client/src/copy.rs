//! Files into a Sandbox and out of it: as an archive through `tar` inside, as kubectl does it. What comes out is not
//! trusted: it may not write anywhere but where it was asked for.

mod location;
mod pack;
mod unpack;

use std::io;
use std::path::{Path, PathBuf};

use asb_types::v1beta1::Sandbox;
use tokio::io::DuplexStream;
use tokio_util::io::SyncIoBridge;

use crate::client::Client;
use crate::error::Error;
use crate::process::{Ends, Wanted};

pub use location::Location;
use location::{Inside, into, out_of};

/// How much of an archive may be under way.
const BUFFER: usize = 256 * 1024;
/// How much of the complaints of a `tar` is passed on.
const COMPLAINT: usize = 4096;

/// What was copied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    pub files: u64,
    pub bytes: u64,
    /// What was left out, and why: links and devices are not copied.
    pub skipped: Vec<String>,
}

impl Client {
    /// Copies a file or directory of here into a Sandbox. Into a directory that is there it goes by its own name.
    ///
    /// ```no_run
    /// # async fn example(client: asb_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let sandbox = client.find_sandbox(&"box".parse()?).await?;
    /// client.copy_in(&sandbox, "src".as_ref(), "/data/", None).await?;
    /// client.copy_out(&sandbox, "/data/result.json", ".".as_ref(), None).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn copy_in(
        &self,
        sandbox: &Sandbox,
        from: &Path,
        to: &str,
        container: Option<&str>,
    ) -> Result<Copied, Error> {
        let is_directory = to.ends_with('/') || self.is_directory(sandbox, to, container).await?;
        let inside = into(from, to, is_directory);
        let (near, far) = tokio::io::duplex(BUFFER);
        let (source, name) = (from.to_owned(), inside.name);
        let packing = tokio::task::spawn_blocking(move || pack::pack(&source, &name, SyncIoBridge::new(far)));
        let wanted = Wanted { container: container.map(str::to_owned), stdin: true, tty: false };
        let command = ["tar", "-x", "-m", "-f", "-", "-C", &inside.directory];
        let mut complaint = Vec::new();
        let process = self.exec(sandbox, &command, &wanted).await?;
        let ends = Ends { input: Some(near), output: tokio::io::sink(), errors: &mut complaint };
        let code = process.pump(ends).await.map_err(without_tar)?;
        // What could not be read here explains what went wrong there.
        let packed = packing.await.map_err(|error| transfer("pack", io::Error::other(error)))?;
        let copied = packed.map_err(|source| transfer(&format!("read {}", from.display()), source));
        if code != 0 {
            copied
                .or_else(|error| if is_broken_pipe(&error) { Ok(Copied::default()) } else { Err(error) })?;
            return Err(complained("write", code, &complaint));
        }
        copied
    }

    /// Copies a file or directory of a Sandbox to here. Into a directory that is there it goes by its own name.
    pub async fn copy_out(
        &self,
        sandbox: &Sandbox,
        from: &str,
        to: &Path,
        container: Option<&str>,
    ) -> Result<Copied, Error> {
        let Inside { directory, name } = out_of(from);
        let target = target(to, &name);
        let (near, far) = tokio::io::duplex(BUFFER);
        let base = name.clone();
        let unpacking =
            tokio::task::spawn_blocking(move || unpack::unpack(SyncIoBridge::new(near), &base, &target));
        let wanted = Wanted { container: container.map(str::to_owned), ..Wanted::default() };
        let command = ["tar", "-c", "-f", "-", "-C", &directory, &format!("./{name}")];
        let mut complaint = Vec::new();
        let process = self.exec(sandbox, &command, &wanted).await?;
        let ends = Ends { input: None::<DuplexStream>, output: far, errors: &mut complaint };
        let code = process.pump(ends).await;
        let unpacked = unpacking.await.map_err(|error| transfer("unpack", io::Error::other(error)))?;
        // A refusal here is why the command there could not go on.
        let copied = unpacked.map_err(|source| transfer(&format!("write {}", to.display()), source))?;
        match code.map_err(without_tar)? {
            0 => Ok(copied),
            code => Err(complained("read", code, &complaint)),
        }
    }

    async fn is_directory(
        &self,
        sandbox: &Sandbox,
        path: &str,
        container: Option<&str>,
    ) -> Result<bool, Error> {
        let wanted = Wanted { container: container.map(str::to_owned), ..Wanted::default() };
        let process = self.exec(sandbox, &["test", "-d", path], &wanted).await?;
        let ends = Ends { input: None::<DuplexStream>, output: tokio::io::sink(), errors: tokio::io::sink() };
        // Where there is no `test`, there is no telling.
        Ok(process.pump(ends).await.is_ok_and(|code| code == 0))
    }
}

/// Where it goes here: into a directory that is there, by its own name.
fn target(to: &Path, name: &str) -> PathBuf {
    if to.is_dir() && name != "." { to.join(name) } else { to.to_owned() }
}

fn transfer(doing: &str, source: io::Error) -> Error {
    Error::Transfer { doing: format!("cannot {doing}"), source }
}

fn is_broken_pipe(error: &Error) -> bool {
    matches!(error, Error::Transfer { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
}

fn without_tar(error: Error) -> Error {
    match error {
        Error::NotStarted { message } => Error::NotStarted {
            message: format!("copying needs `tar` in the sandbox, which cannot be started: {message}"),
        },
        other => other,
    }
}

fn complained(doing: &str, code: i32, complaint: &[u8]) -> Error {
    transfer(&format!("{doing} in the sandbox"), io::Error::other(words(code, complaint)))
}

/// What `tar` complained of, on one line.
fn words(code: i32, complaint: &[u8]) -> String {
    let text = String::from_utf8_lossy(&complaint[..complaint.len().min(COMPLAINT)]);
    let text = text.trim().replace('\n', "; ");
    if text.is_empty() { format!("tar ended with {code}") } else { text }
}
