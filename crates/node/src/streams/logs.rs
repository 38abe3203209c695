//! What a container wrote, from the files in which its shim put it. They outlive the shim and the Pod's directory, and are
//! read without asking anybody; only who follows a log waits for the container's end.

mod attempts;
mod filter;
mod follow;
mod reader;
mod record;
mod rotation;
mod tail;

use std::io;
use std::path::PathBuf;
use std::pin::Pin;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};

use super::error::Error;
use super::place::{Place, is_scheduled};
use super::{Streams, Target};
use crate::shim::protocol::Attempt;
use attempts::{Wanted, choose, on_disk};
use filter::Filter;
use follow::Following;
use reader::Reader;

/// Which part of a log is wanted, and in what form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// Goes on until the container has ended.
    pub follow: bool,
    /// Of the attempt before the last restart.
    pub previous: bool,
    pub timestamps: bool,
    /// Both may be given; the later one counts.
    pub since_seconds: Option<u64>,
    pub since_time: Option<Timestamp>,
    pub tail_lines: Option<u64>,
    pub limit_bytes: Option<u64>,
    pub stream: LogStream,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogStream {
    #[default]
    All,
    Stdout,
    Stderr,
}

/// Whole lines, some at a time.
pub type Log = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

impl LogOptions {
    fn since(&self, now: Timestamp) -> Option<Timestamp> {
        let seconds = self.since_seconds.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX));
        let ago = seconds.map(|seconds| now.saturating_sub(SignedDuration::from_secs(seconds)));
        // Only a span of calendar units cannot be subtracted.
        ago.and_then(Result::ok).max(self.since_time)
    }
}

impl Streams {
    pub async fn logs(&self, target: &Target, options: &LogOptions) -> Result<Log, Error> {
        let place = self.place(target)?;
        if !is_scheduled(&place.pod) {
            // It has written nothing, and Kubernetes says so by an empty answer.
            return Ok(futures::stream::empty().boxed());
        }
        let folder = self.log_folder(&place);
        let attempts = on_disk(&place.directory, &folder, &place.container)?;
        let wanted = if options.previous { Wanted::Previous } else { Wanted::Newest };
        let number = choose(&place, status(&place.pod, &place.container), &attempts, wanted)?;
        let attempt = Attempt { container: place.container.clone(), number };
        let plan = place.directory.container(&attempt)?;
        let planned = plan.and_then(|plan| plan.log).map(|log| log.path);
        let path = planned.unwrap_or_else(|| folder.join(format!("{number}.log")));
        let filter = Filter::new(options, options.since(Timestamp::now()));
        let (tail, stream) = (options.tail_lines, options.stream);
        let open = move || Reader::open(&path, tail, stream, filter).map(|reader| (reader, path));
        let opened = tokio::task::spawn_blocking(open).await.map_err(io::Error::other).flatten();
        let (reader, path) = opened.map_err(|error| Error::Step("open the log", error))?;
        if options.follow {
            return Ok(Following::new(reader, path, place.directory, attempt).stream());
        }
        Ok(follow::all(reader))
    }

    /// Of one container; where its logs are also when nothing else of it is.
    fn log_folder(&self, place: &Place) -> PathBuf {
        let metadata = &place.pod.metadata;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (namespace, name, uid) = (text(&metadata.namespace), text(&metadata.name), text(&metadata.uid));
        self.root.join("logs").join(format!("{namespace}_{name}_{uid}")).join(&place.container)
    }
}

fn status<'a>(pod: &'a Pod, container: &str) -> Option<&'a ContainerStatus> {
    let status = pod.status.as_ref()?;
    let main = status.container_statuses.iter().flatten();
    let init = status.init_container_statuses.iter().flatten();
    let ephemeral = status.ephemeral_container_statuses.iter().flatten();
    main.chain(init).chain(ephemeral).find(|status| status.name == container)
}
