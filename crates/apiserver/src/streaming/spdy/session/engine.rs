//! The task behind a session: reads frames, writes frames, and waits for whichever can go on.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::time::{Duration, Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::super::super::multiplex::{Budget, Gone, Outgoing, Patience, Ports};
use super::super::{Decoder, Encoder, Frame, Headers, StreamId};
use super::streams::Streams;
use super::{Error, Offer};

/// Above so many bytes waiting to be written, nothing is read that could add to them.
const CROWDED: usize = 256 * 1024;
const READ: usize = 32 * 1024;

/// How long a peer that was told good-bye may take to leave.
const LINGER: Duration = Duration::from_secs(5);

const GOOD_BYE: u32 = 0;
const PROTOCOL_ERROR: u32 = 1;

pub(super) struct Engine<C> {
    reader: ReadHalf<C>,
    writer: WriteHalf<C>,
    decoder: Decoder,
    encoder: Encoder,
    input: BytesMut,
    output: BytesMut,
    unflushed: bool,
    streams: Streams,
    budget: Budget,
    patience: Patience,
    /// Bytes for which there is no room; nothing more is read before they have found some.
    stuck: Option<Stuck>,
    ports: Ports<StreamId>,
    outgoing: mpsc::Receiver<Outgoing<StreamId>>,
    gone: mpsc::UnboundedReceiver<Gone<StreamId>>,
    /// Nothing once the peer said that it will open no more streams.
    offers: Option<mpsc::Sender<Offer>>,
}

struct Stuck {
    stream: StreamId,
    bytes: Bytes,
    fin: bool,
    since: Instant,
}

/// How a session came to its end.
enum End {
    PeerLeft,
    Finished,
}

impl<C: AsyncRead + AsyncWrite> Engine<C> {
    pub(super) async fn run(
        carrier: C,
        patience: Patience,
        offers: mpsc::Sender<Offer>,
        finish: CancellationToken,
    ) {
        if let Err(error) = Self::converse(carrier, patience, offers, finish).await {
            tracing::debug!(error = &error as &dyn std::error::Error, "a SPDY session broke off");
        }
    }

    async fn converse(
        carrier: C,
        patience: Patience,
        offers: mpsc::Sender<Offer>,
        finish: CancellationToken,
    ) -> Result<(), Error> {
        let mut engine = Self::new(carrier, patience, offers)?;
        let ended = engine.work(&finish).await;
        engine.streams.lose();
        engine.offers = None;
        match ended {
            Ok(End::PeerLeft) => {
                let _ = timeout(LINGER, engine.writer.shutdown()).await;
                Ok(())
            }
            Ok(End::Finished) => engine.part(GOOD_BYE).await,
            Err(error @ Error::Frame(_)) => engine.part(PROTOCOL_ERROR).await.and(Err(error)),
            Err(error) => Err(error),
        }
    }

    fn new(carrier: C, patience: Patience, offers: mpsc::Sender<Offer>) -> Result<Self, Error> {
        let (reader, writer) = tokio::io::split(carrier);
        let (ports, outgoing, gone) = Ports::new();
        Ok(Self {
            reader,
            writer,
            decoder: Decoder::default(),
            encoder: Encoder::new()?,
            input: BytesMut::new(),
            output: BytesMut::new(),
            unflushed: false,
            streams: Streams::default(),
            budget: Budget::new(),
            patience,
            stuck: None,
            ports,
            outgoing,
            gone,
            offers: Some(offers),
        })
    }

    async fn work(&mut self, finish: &CancellationToken) -> Result<End, Error> {
        loop {
            let crowded = self.output.len() >= CROWDED;
            self.input.reserve(READ);
            tokio::select! {
                read = self.reader.read_buf(&mut self.input), if self.stuck.is_none() && !crowded => {
                    if read? == 0 {
                        return Ok(End::PeerLeft);
                    }
                    self.digest()?;
                }
                () = make_room(self.stuck.as_ref(), &self.budget, self.patience) => self.go_on()?,
                outgoing = self.outgoing.recv(), if !crowded => match outgoing {
                    Some(outgoing) => self.send_all(outgoing)?,
                    None => return Ok(End::Finished),
                },
                Some(gone) = self.gone.recv() => self.leave(&gone)?,
                wrote = push(&mut self.writer, &mut self.output, &mut self.unflushed) => wrote?,
                () = finish.cancelled(), if !self.outgoing.is_closed() => self.outgoing.close(),
            }
        }
    }

    /// Takes in the frames that have arrived, as far as there is room for them.
    fn digest(&mut self) -> Result<(), Error> {
        while self.stuck.is_none() {
            let Some(frame) = self.decoder.decode(&mut self.input)? else { break };
            self.take(frame)?;
        }
        Ok(())
    }

    fn take(&mut self, frame: Frame) -> Result<(), Error> {
        match frame {
            Frame::SynStream { stream, headers, fin, unidirectional } => {
                self.open(stream, headers, fin, unidirectional)
            }
            Frame::Data { stream, bytes, fin } => {
                self.deliver(stream, bytes, fin);
                Ok(())
            }
            Frame::RstStream { stream, .. } => {
                self.streams.reset(stream);
                Ok(())
            }
            Frame::Ping { id } if id % 2 == 1 => self.send(&Frame::Ping { id }),
            Frame::GoAway { .. } => {
                self.offers = None;
                Ok(())
            }
            Frame::Headers { stream, fin: true, .. } => {
                self.streams.finished(stream);
                Ok(())
            }
            // Answers to what we never ask, and headers that nobody reads.
            Frame::Ping { .. } | Frame::SynReply { .. } | Frame::Headers { .. } => Ok(()),
        }
    }

    fn open(&mut self, id: StreamId, headers: Headers, fin: bool, one_way: bool) -> Result<(), Error> {
        match self.streams.open(id, fin, one_way) {
            Err(reset) => self.send(&Frame::RstStream { stream: id, reset }),
            Ok(inbox) => {
                let offer = Offer { id, headers, stream: self.ports.stream(id, inbox) };
                if let Some(offers) = &self.offers {
                    // An offer that finds no taker is dropped here, which refuses it.
                    let _ = offers.try_send(offer);
                }
                Ok(())
            }
        }
    }

    fn deliver(&mut self, stream: StreamId, bytes: Bytes, fin: bool) {
        let Some(inbox) = self.streams.inbox(stream) else { return };
        match self.budget.try_charge(bytes.len()) {
            Some(room) => {
                inbox.push(bytes, room);
                if fin {
                    self.streams.finished(stream);
                }
            }
            None => self.stuck = Some(Stuck { stream, bytes, fin, since: Instant::now() }),
        }
    }

    /// There is room again, or patience ran out.
    fn go_on(&mut self) -> Result<(), Error> {
        let Some(stuck) = self.stuck.take() else { return Ok(()) };
        if self.budget.try_charge(stuck.bytes.len()).is_none()
            && let Some(reset) = self.streams.evict()
        {
            self.send(&reset)?;
        }
        self.deliver(stuck.stream, stuck.bytes, stuck.fin);
        self.digest()
    }

    fn send_all(&mut self, outgoing: Outgoing<StreamId>) -> Result<(), Error> {
        self.streams.send(outgoing).iter().try_for_each(|frame| self.send(frame))
    }

    fn leave(&mut self, gone: &Gone<StreamId>) -> Result<(), Error> {
        self.streams.gone(gone).map_or(Ok(()), |frame| self.send(&frame))
    }

    fn send(&mut self, frame: &Frame) -> Result<(), Error> {
        Ok(self.encoder.encode(frame, &mut self.output)?)
    }

    /// Says good-bye and waits for the peer to leave: closing a connection while bytes of the peer are unread would
    /// make the kernel throw away what we wrote.
    async fn part(mut self, status: u32) -> Result<(), Error> {
        self.send(&Frame::GoAway { last: self.streams.newest(), status })?;
        while !self.output.is_empty() {
            push(&mut self.writer, &mut self.output, &mut self.unflushed).await?;
        }
        self.writer.shutdown().await?;
        let _ = timeout(LINGER, tokio::io::copy(&mut self.reader, &mut tokio::io::sink())).await;
        Ok(())
    }
}

/// Waits until what is stuck would fit, or has waited long enough. Never ends while nothing is stuck.
async fn make_room(stuck: Option<&Stuck>, budget: &Budget, patience: Patience) {
    let Some(stuck) = stuck else { return std::future::pending().await };
    let room = budget.charge(stuck.bytes.len());
    match patience {
        Patience::Endless => drop(room.await),
        Patience::Limited(limit) => tokio::select! {
            room = room => drop(room),
            () = sleep_until(stuck.since + limit) => {}
        },
    }
}

/// Takes one step of writing what waits. Never ends while nothing waits.
async fn push<W>(writer: &mut W, output: &mut BytesMut, unflushed: &mut bool) -> io::Result<()>
where
    W: AsyncWrite + Unpin,
{
    if !output.is_empty() {
        if writer.write_buf(output).await? == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        *unflushed = true;
    } else if *unflushed {
        writer.flush().await?;
        *unflushed = false;
    } else {
        std::future::pending::<()>().await;
    }
    Ok(())
}
