//! A session against a peer that is played frame by frame.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::super::super::multiplex::Patience;
use super::super::{Decoder, Encoder, Frame, Headers, Reset, StreamId};
use super::*;

/// The client's end of a session.
struct Peer {
    wire: DuplexStream,
    encoder: Encoder,
    decoder: Decoder,
    input: BytesMut,
}

impl Peer {
    async fn send(&mut self, frame: Frame) {
        let mut output = BytesMut::new();
        self.encoder.encode(&frame, &mut output).unwrap();
        self.wire.write_all(&output).await.unwrap();
    }

    /// The next frame, or nothing when the session has closed the connection.
    async fn receive(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.decoder.decode(&mut self.input).unwrap() {
                return Some(frame);
            }
            if self.wire.read_buf(&mut self.input).await.unwrap() == 0 {
                return None;
            }
        }
    }

    async fn open(&mut self, number: u32) {
        let headers = Headers::from_iter([("streamType", "data")]);
        self.send(Frame::SynStream { stream: id(number), headers, fin: false, unidirectional: false }).await;
    }

    async fn data(&mut self, number: u32, bytes: impl Into<Bytes>, fin: bool) {
        self.send(Frame::Data { stream: id(number), bytes: bytes.into(), fin }).await;
    }
}

fn id(number: u32) -> StreamId {
    StreamId::new(number).unwrap()
}

fn session(patience: Patience) -> (Session, Peer) {
    let (near, wire) = duplex(64 * 1024);
    let peer =
        Peer { wire, encoder: Encoder::new().unwrap(), decoder: Decoder::default(), input: BytesMut::new() };
    (Session::serve(near, patience), peer)
}

/// A session with stream 1 accepted on both sides.
async fn conversation(patience: Patience) -> (Session, Peer, Stream) {
    let (mut session, mut peer) = session(patience);
    peer.open(1).await;
    let stream = session.next().await.unwrap().accept().await.unwrap();
    assert!(matches!(peer.receive().await, Some(Frame::SynReply { .. })));
    (session, peer, stream)
}

fn text(stream: u32, text: &'static str, fin: bool) -> Frame {
    Frame::Data { stream: id(stream), bytes: Bytes::from_static(text.as_bytes()), fin }
}

fn reset(stream: u32, reset: Reset) -> Frame {
    Frame::RstStream { stream: id(stream), reset }
}

#[tokio::test]
async fn each_side_can_go_on_after_the_other_has_half_closed() {
    let (_session, mut peer, mut stream) = conversation(Patience::Endless).await;
    peer.data(1, "question", true).await;
    let mut question = String::new();
    stream.read_to_string(&mut question).await.unwrap();
    stream.write_all(b"answer").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(question, "question");
    assert_eq!(peer.receive().await, Some(text(1, "answer", false)));
    assert_eq!(peer.receive().await, Some(text(1, "", true)));
}

#[tokio::test]
async fn a_stream_that_nobody_wants_is_refused() {
    let (mut session, mut peer) = session(Patience::Endless);
    peer.open(1).await;
    drop(session.next().await.unwrap());
    assert_eq!(peer.receive().await, Some(reset(1, Reset::REFUSED)));
}

#[tokio::test]
async fn pings_of_the_peer_are_answered() {
    let (_session, mut peer) = session(Patience::Endless);
    peer.send(Frame::Ping { id: 5 }).await;
    assert_eq!(peer.receive().await, Some(Frame::Ping { id: 5 }));
}

#[tokio::test]
async fn a_reset_by_the_peer_fails_reads_and_writes() {
    let (_session, mut peer, mut stream) = conversation(Patience::Endless).await;
    peer.send(Frame::RstStream { stream: id(1), reset: Reset::CANCEL }).await;
    assert_eq!(stream.read_u8().await.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(stream.write_all(b"x").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn a_lost_connection_is_an_error_and_no_end_of_file() {
    let (mut session, mut peer, mut stream) = conversation(Patience::Endless).await;
    peer.data(1, "half", false).await;
    drop(peer);
    let mut read = Vec::new();
    let error = stream.read_to_end(&mut read).await.unwrap_err();
    assert_eq!((read.as_slice(), error.kind()), (b"half".as_slice(), io::ErrorKind::ConnectionReset));
    assert!(session.next().await.is_none());
}

#[tokio::test]
async fn after_its_good_bye_a_peer_opens_no_streams_and_finishes_those_it_has() {
    let (mut session, mut peer, mut stream) = conversation(Patience::Endless).await;
    peer.send(Frame::GoAway { last: 0, status: 0 }).await;
    assert!(session.next().await.is_none());
    peer.data(1, "x", true).await;
    assert_eq!(stream.read_u8().await.unwrap(), b'x');
}

#[tokio::test]
async fn finishing_sends_everything_before_the_good_bye() {
    let (session, mut peer, mut stream) = conversation(Patience::Endless).await;
    stream.write_all(&vec![7; 300_000]).await.unwrap();
    drop(stream);
    let finished = tokio::spawn(session.finish());
    let mut received = 0;
    let end = loop {
        match peer.receive().await {
            Some(Frame::Data { bytes, .. }) => received += bytes.len(),
            other => break other,
        }
    };
    assert_eq!((received, end), (300_000, Some(reset(1, Reset::CANCEL))));
    assert_eq!(peer.receive().await, Some(Frame::GoAway { last: 1, status: 0 }));
    drop(peer);
    finished.await.unwrap();
}

#[tokio::test]
async fn bytes_that_are_no_frames_end_the_session_with_a_word() {
    let (mut session, mut peer) = session(Patience::Endless);
    peer.wire.write_all(b"\x80\x02GET / HTTP/1.1").await.unwrap();
    assert_eq!(peer.receive().await, Some(Frame::GoAway { last: 0, status: 1 }));
    assert!(session.next().await.is_none());
}

#[tokio::test]
async fn a_slow_writer_waits_for_the_peer_and_loses_nothing() {
    let (_session, mut peer, mut stream) = conversation(Patience::Endless).await;
    let writing = tokio::spawn(async move { stream.write_all(&vec![1; 4 << 20]).await });
    let mut received = 0;
    while received < 4 << 20 {
        let Some(Frame::Data { bytes, .. }) = peer.receive().await else { panic!("data is due") };
        received += bytes.len();
    }
    writing.await.unwrap().unwrap();
}

/// Fills the session with bytes for stream 1, which nobody reads, until the connection takes no more.
async fn flood(peer: &mut Peer) {
    let piece = vec![0; 32 * 1024];
    while tokio::time::timeout(Duration::from_secs(1), peer.data(1, piece.clone(), false)).await.is_ok() {}
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_nobody_reads_is_reset_when_it_holds_up_the_others() {
    let (mut session, mut peer, stream) = conversation(Patience::SHARED).await;
    let written = tokio::spawn(async move {
        let piece = vec![0; 32 * 1024];
        for _ in 0..1024 {
            peer.data(1, piece.clone(), false).await;
        }
        peer.open(3).await;
        peer
    });
    session.next().await.unwrap().accept().await.unwrap();
    let mut peer = written.await.unwrap();
    assert_eq!(peer.receive().await, Some(reset(1, Reset::FLOW_CONTROL)));
    assert!(matches!(peer.receive().await, Some(Frame::SynReply { .. })));
    drop(stream);
}

#[tokio::test(start_paused = true)]
async fn where_streams_belong_together_a_slow_reader_is_waited_for() {
    let (_session, mut peer, mut stream) = conversation(Patience::Endless).await;
    flood(&mut peer).await;
    tokio::time::advance(Duration::from_hours(1)).await;
    let mut piece = vec![1; 32 * 1024];
    stream.read_exact(&mut piece).await.unwrap();
    assert!(piece.iter().all(|byte| *byte == 0));
}
