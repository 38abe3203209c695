//! Kubernetes' own multiplexing over a WebSocket: the first byte of a message is the number of its channel. Which
//! channel means what is the business of `remote_command` and `port_forward`.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use bytes::{Buf, Bytes};
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::multiplex::{Budget, Inbox, Item, Outgoing, Patience, Ports, Stream, heaviest};

/// The channel on which v5 says that another channel is finished.
const CLOSE: u8 = 255;

/// How long a client that was told good-bye may take to leave.
const LINGER: Duration = Duration::from_secs(5);

/// A channel, to be read and written.
pub(super) type Channel = Stream<u8>;

/// The task that owns the WebSocket. Dropping this ends it.
pub(super) struct Channels {
    finish: CancellationToken,
    lost: CancellationToken,
    task: AbortOnDropHandle<()>,
}

/// Whether the client can finish a channel while the connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HalfClose {
    /// Until v4.
    Never,
    /// From v5 on.
    BySignal,
}

impl Channels {
    /// As many channels as asked for, numbered from zero.
    pub(super) fn serve(
        socket: WebSocket,
        count: u8,
        half_close: HalfClose,
        patience: Patience,
    ) -> (Self, Vec<Channel>) {
        let (ports, outgoing, _) = Ports::new();
        let inboxes: Vec<_> = (0..count).map(|_| Arc::new(Inbox::default())).collect();
        let channels =
            (0..count).zip(&inboxes).map(|(id, inbox)| ports.stream(id, Arc::clone(inbox))).collect();
        let (finish, lost) = (CancellationToken::new(), CancellationToken::new());
        let (sink, stream) = socket.split();
        let reader = Reader { stream, inboxes, half_close, budget: Budget::new(), patience };
        let task = converse(reader, Writer { sink, outgoing }, finish.clone(), lost.clone());
        let task = AbortOnDropHandle::new(tokio::spawn(task));
        (Self { finish, lost, task }, channels)
    }

    /// Ends when the client has left.
    pub(super) async fn lost(&self) {
        self.lost.cancelled().await;
    }

    /// Sends what the channels wrote until now, says good-bye and waits a moment for the client to leave first.
    pub(super) async fn finish(self) {
        self.finish.cancel();
        // The task ends in an error only when it panicked, which the runtime has reported.
        let _ = self.task.await;
    }
}

async fn converse(
    mut reader: Reader,
    mut writer: Writer,
    finish: CancellationToken,
    lost: CancellationToken,
) {
    let ended = tokio::select! {
        () = reader.run() => Ok(End::ClientLeft),
        parted = writer.run(&finish) => parted.map(|()| End::Finished),
    };
    reader.inboxes.iter().for_each(|inbox| inbox.lose());
    lost.cancel();
    match ended {
        // A client that says good-bye waits for an answer, which reading has prepared.
        Ok(End::ClientLeft) => drop(timeout(LINGER, writer.sink.flush()).await),
        Ok(End::Finished) => drop(timeout(LINGER, reader.discard()).await),
        Err(error) => tracing::debug!(%error, "a WebSocket broke off"),
    }
}

/// How a session came to its end.
enum End {
    ClientLeft,
    Finished,
}

struct Reader {
    stream: SplitStream<WebSocket>,
    inboxes: Vec<Arc<Inbox>>,
    half_close: HalfClose,
    budget: Budget,
    patience: Patience,
}

impl Reader {
    /// Until the client closes the connection or loses it. The two are the same here: what ends in good order says so
    /// on its channel.
    async fn run(&mut self) {
        while let Some(Ok(message)) = self.stream.next().await {
            match message {
                Message::Binary(bytes) => self.take(bytes).await,
                // Python's client sends text as text.
                Message::Text(text) => self.take(text.into()).await,
                Message::Ping(_) | Message::Pong(_) => {}
                Message::Close(_) => return,
            }
        }
    }

    async fn take(&mut self, mut bytes: Bytes) {
        let Some(channel) = bytes.try_get_u8().ok() else { return };
        if channel == CLOSE && self.half_close == HalfClose::BySignal {
            bytes.iter().filter_map(|id| self.inboxes.get(usize::from(*id))).for_each(|inbox| inbox.finish());
        } else if let Some(inbox) = self.inboxes.get(usize::from(channel)).map(Arc::clone) {
            let room = self.room(bytes.len()).await;
            inbox.push(bytes, room);
        }
    }

    async fn room(&self, length: usize) -> tokio::sync::OwnedSemaphorePermit {
        let Patience::Limited(limit) = self.patience else { return self.budget.charge(length).await };
        loop {
            if let Ok(room) = timeout(limit, self.budget.charge(length)).await {
                return room;
            }
            if let Some((_, inbox)) = heaviest(self.inboxes.iter().cloned().enumerate()) {
                inbox.reset();
            }
        }
    }

    async fn discard(&mut self) {
        while let Some(Ok(_)) = self.stream.next().await {}
    }
}

struct Writer {
    sink: SplitSink<WebSocket, Message>,
    outgoing: mpsc::Receiver<Outgoing<u8>>,
}

impl Writer {
    /// Until everything has been sent that was written before `finish`.
    async fn run(&mut self, finish: &CancellationToken) -> Result<(), axum::Error> {
        loop {
            tokio::select! {
                outgoing = self.outgoing.recv() => match outgoing {
                    Some(outgoing) => self.send(outgoing).await?,
                    None => return self.part().await,
                },
                () = finish.cancelled(), if !self.outgoing.is_closed() => self.outgoing.close(),
            }
        }
    }

    /// No version of the protocol lets the server finish a channel before the connection.
    async fn send(&mut self, outgoing: Outgoing<u8>) -> Result<(), axum::Error> {
        let Item::Data(bytes) = outgoing.item else { return Ok(()) };
        let message = [&[outgoing.stream], &bytes[..]].concat();
        self.sink.send(Message::Binary(message.into())).await
    }

    async fn part(&mut self) -> Result<(), axum::Error> {
        let farewell = CloseFrame { code: close_code::NORMAL, reason: "".into() };
        self.sink.send(Message::Close(Some(farewell))).await
    }
}
