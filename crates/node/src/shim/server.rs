//! The loop of a shim: one thread that waits for connections, children and output, and never for any one of them.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, poll};

use super::connection::Connection;
use super::container::Waiter;
use super::pod::{Pod, Token};

pub(super) struct Server {
    pod: Pod,
    listener: UnixListener,
    children: SignalFd,
    connections: BTreeMap<Waiter, Connection>,
    next: Waiter,
}

/// What can become ready.
enum Event {
    Listener,
    Children,
    Connection(Waiter),
    Pod(Token),
}

impl Server {
    pub(super) fn new(pod: Pod, listener: UnixListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGCHLD);
        signals.thread_block()?;
        let children = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        Ok(Self { pod, listener, children, connections: BTreeMap::new(), next: 1 })
    }

    /// Takes a connection that exists already.
    pub(super) fn accept(&mut self, stream: UnixStream) -> io::Result<()> {
        self.connections.insert(self.next, Connection::new(stream)?);
        self.next += 1;
        Ok(())
    }

    /// Serves until it was told to end, or until nothing was ever made and nobody is there to ask for it.
    pub(super) fn run(mut self) -> io::Result<()> {
        loop {
            for event in self.wait()? {
                self.serve(event);
            }
            let finished = self.pod.finish();
            self.deliver();
            if finished || (self.pod.is_empty() && self.connections.is_empty()) {
                return Ok(());
            }
        }
    }

    fn wait(&self) -> io::Result<Vec<Event>> {
        let interests = self.interests();
        let mut polled: Vec<PollFd<'_>> = interests
            .iter()
            .map(|(_, descriptor, flags)| PollFd::from_borrowed_fd(*descriptor, *flags))
            .collect();
        match poll(&mut polled, None) {
            Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            other => other?,
        };
        let ready: Vec<bool> = polled.iter().map(|entry| !entry.revents().is_empty()).collect();
        drop(polled);
        let events = interests.into_iter().zip(ready).filter(|(_, ready)| *ready);
        Ok(events.map(|((event, _, _), _)| event).collect())
    }

    /// Children come last: what they said before they ended is heard first.
    fn interests(&self) -> Vec<(Event, BorrowedFd<'_>, PollFlags)> {
        let mut interests = vec![(Event::Listener, self.listener.as_fd(), PollFlags::IN)];
        for (number, connection) in &self.connections {
            interests.push((Event::Connection(*number), connection.socket(), connection.interest()));
        }
        for (token, descriptor) in self.pod.descriptors() {
            interests.push((Event::Pod(token), descriptor, PollFlags::IN));
        }
        interests.push((Event::Children, self.children.as_fd(), PollFlags::IN));
        interests
    }

    fn serve(&mut self, event: Event) {
        match event {
            Event::Listener => self.accept_all(),
            Event::Connection(number) => self.serve_connection(number),
            Event::Pod(token) => self.pod.ready(&token),
            Event::Children => {
                while let Ok(Some(_)) = self.children.read_signal() {}
                self.pod.reap();
            }
        }
    }

    fn accept_all(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            // One that is refused sees it by the closed connection.
            let _ = self.accept(stream);
        }
    }

    fn serve_connection(&mut self, number: Waiter) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        match connection.progress() {
            Ok(Some(message)) => self.pod.handle(number, message.body, message.descriptors),
            Ok(None) => {}
            Err(_) => self.hang_up(number),
        }
    }

    fn hang_up(&mut self, number: Waiter) {
        self.connections.remove(&number);
        self.pod.forget(number);
    }

    fn deliver(&mut self) {
        for reply in self.pod.take_replies() {
            let Some(connection) = self.connections.get_mut(&reply.to) else { continue };
            if connection.answer(&reply.answer, reply.descriptors).is_err() {
                self.hang_up(reply.to);
            }
        }
    }
}
