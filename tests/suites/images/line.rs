//! A bad line to a registry: it breaks after so many bytes, so many times, and counts what came through.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub(crate) struct Line {
    pub(crate) address: String,
    counters: Arc<Counters>,
    task: JoinHandle<()>,
}

struct Counters {
    /// A connection breaks after so many bytes, as long as there are cuts left.
    length: u64,
    cuts: AtomicUsize,
    passed: AtomicU64,
}

impl Line {
    pub(crate) async fn to(server: &str, cuts: usize, length: u64) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let counters = Arc::new(Counters { length, cuts: AtomicUsize::new(cuts), passed: AtomicU64::new(0) });
        let (server, shared) = (server.to_owned(), Arc::clone(&counters));
        let task = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (server, counters) = (server.clone(), Arc::clone(&shared));
                tokio::spawn(async move { carry(near, &server, &counters).await });
            }
        });
        Ok(Self { address, counters, task })
    }

    /// From the registry to us.
    pub(crate) fn passed(&self) -> u64 {
        self.counters.passed.load(Ordering::SeqCst)
    }

    pub(crate) fn cuts_left(&self) -> usize {
        self.counters.cuts.load(Ordering::SeqCst)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn carry(near: TcpStream, server: &str, counters: &Counters) -> std::io::Result<()> {
    let far = TcpStream::connect(server).await?;
    let (mut near_read, mut near_write) = near.into_split();
    let (mut far_read, mut far_write) = far.into_split();
    let there = tokio::spawn(async move { copy(&mut near_read, &mut far_write).await });
    let mut buffer = vec![0; 16 << 10];
    let mut carried = 0;
    loop {
        let count = far_read.read(&mut buffer).await?;
        carried += count as u64;
        let cut = carried > counters.length && take_cut(counters);
        if count == 0 || cut {
            there.abort();
            return Ok(());
        }
        near_write.write_all(&buffer[..count]).await?;
        counters.passed.fetch_add(count as u64, Ordering::SeqCst);
    }
}

fn take_cut(counters: &Counters) -> bool {
    let fewer = |cuts: usize| cuts.checked_sub(1);
    counters.cuts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer).is_ok()
}
