//! How `asb image` gets at the images: through the daemon that has them open, or by itself.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use asb_node::images::Images;
use serde_json::Value;
use tokio::sync::mpsc;

use super::text;
use super::work::{self, Step, Task};
use crate::control::{Connection, Request};
use crate::daemon;
use crate::output::progress::Line;
use crate::place::Place;

/// Has it done, and shows how it goes on a terminal.
pub(super) async fn ask(data_dir: &Path, doing: &str, task: Task) -> Result<Value> {
    let mut line = Line::default();
    line.show(&format!("{doing} …"));
    let tell = |step: Step| line.show(&text::progress(doing, step));
    match Connection::open(data_dir).await? {
        Some(connection) => connection.ask(&Request::Image(task), tell).await,
        None => directly(data_dir, task, tell).await,
    }
}

async fn directly(data_dir: &Path, task: Task, mut tell: impl FnMut(Step)) -> Result<Value> {
    if !rustix::process::geteuid().is_root() {
        bail!(
            "no daemon serves {}, and without one only root can do this: files of images belong to many users",
            data_dir.display()
        );
    }
    let folder = daemon::node_root(data_dir).join("images");
    let images =
        tokio::task::spawn_blocking(move || Images::open(&folder, asb_node::images::Settings::default()));
    let images = images.await.context("the images were left alone")?.context("cannot open the images")?;
    let (steps, mut told) = mpsc::channel(1);
    let mut work = Box::pin(work::perform(&images, task, steps));
    loop {
        tokio::select! {
            done = &mut work => return done,
            Some(step) = told.recv() => tell(step),
        }
    }
}

/// Standard input as a file, for as long as this value lives.
pub(super) struct Spooled(PathBuf);

impl Spooled {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Spooled {
    fn drop(&mut self) {
        // Nothing else is left to do about it, and it is in nobody's way.
        let _ = fs::remove_file(&self.0);
    }
}

/// In the data directory: images are larger than what fits where temporary files go.
pub(super) fn spool(place: &Place) -> Result<Spooled> {
    let data_dir = place.directory()?;
    asb_apiserver::server::prepare(&data_dir).context("cannot use the data directory")?;
    let path = data_dir.join(format!("load-{}.tar", uuid::Uuid::new_v4()));
    let copied = || -> io::Result<Spooled> {
        let mut file = File::options().create_new(true).write(true).mode(0o600).open(&path)?;
        let spooled = Spooled(path.clone());
        io::copy(&mut io::stdin().lock(), &mut file)?;
        Ok(spooled)
    };
    copied().with_context(|| format!("cannot keep standard input in {}", path.display()))
}
