//! `GET /v1/processes/{id}/attach`: a WebSocket with a process's output and input. Output goes out as binary messages with their
//! offsets, at the client's pace; what it is too slow for it is told of. Input is taken at the process's pace: while that does not
//! read, the client cannot send more than a little. Nobody waits for anybody else.

use std::rc::Rc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;

use super::Answer;
use super::output::line;
use crate::http::frames::{Decoder, Message, Violation, encode, encode_binary};
use crate::http::query::Query;
use crate::http::websocket::{self, Input, Output};
use crate::processes::process::{Follower, Process};
use crate::processes::reader::{Next, Reader, Taking};
use crate::processes::signals;
use crate::server::Server;
use crate::wire::processes::{Order, stream_byte};

const CHUNK: usize = 16 * 1024;
/// How often a client is asked whether it is still there.
const PING: Duration = Duration::from_secs(30);
/// After how long without a word it is taken for gone.
const SILENCE: Duration = Duration::from_mins(5);
const GOODBYE: Duration = Duration::from_secs(5);
const NORMAL: u16 = 1000;

pub(super) fn attach(server: &Rc<Server>, mut request: Request<Incoming>, query: &Query, id: u32) -> Answer {
    let process = server.processes.find(id)?;
    let from = query.number("from")?.unwrap_or(0);
    let (reply, upgrade) = websocket::accept(&mut request)?;
    let follower = process.follow();
    tokio::task::spawn_local(session(process, from, upgrade, follower));
    Ok(reply)
}

async fn session(process: Rc<Process>, from: u64, upgrade: OnUpgrade, _follower: Follower) {
    let Some((input, output)) = websocket::halves(upgrade).await else { return };
    let (replies, answers) = mpsc::channel(4);
    // Whichever ends first ends both: the output, when the process has ended, or the input, when the client has.
    tokio::select! {
        () = send(Reader::from(process.clone(), from, Taking::Sent), output, answers) => {}
        () = receive(&process, input, replies) => {}
    }
}

/// All that is written goes through here, one message after the other.
async fn send(mut reader: Reader, mut output: Output, mut answers: mpsc::Receiver<Message>) {
    let mut ping = tokio::time::interval(PING);
    ping.reset();
    loop {
        let bytes = tokio::select! {
            biased;
            Some(answer) = answers.recv() => match answer {
                Message::Close(_) => return close(output, &answer).await,
                answer => encode(&answer),
            },
            _ = ping.tick() => encode(&Message::Ping(Vec::new())),
            next = reader.next(CHUNK) => match next {
                Next::End(_) => return finish(output, next).await,
                next => written(next),
            },
        };
        if output.write_all(&bytes).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

fn written(next: Next) -> Vec<u8> {
    match next {
        Next::Data { offset, stream, bytes } => {
            let mut head = [0; 9];
            head[0] = stream_byte(stream);
            head[1..].copy_from_slice(&offset.to_be_bytes());
            encode_binary(&head, &bytes)
        }
        other => text(other),
    }
}

fn text(next: Next) -> Vec<u8> {
    encode(&Message::Text(serde_json::to_string(&line(next)).expect("a line is JSON")))
}

async fn finish(mut output: Output, end: Next) {
    // The client may be gone already.
    let _ = output.write_all(&text(end)).await;
    close(output, &Message::Close(Some(NORMAL))).await;
}

async fn close(mut output: Output, message: &Message) {
    let _ = output.write_all(&encode(message)).await;
    let _ = output.shutdown().await;
}

async fn receive(process: &Process, mut input: Input, replies: mpsc::Sender<Message>) {
    let mut decoder = Decoder::default();
    let mut buffer = vec![0; CHUNK];
    loop {
        let read = tokio::time::timeout(SILENCE, input.read(&mut buffer)).await;
        let Ok(Ok(length @ 1..)) = read else { return };
        decoder.push(&buffer[..length]);
        loop {
            let message = match decoder.next() {
                Ok(None) => break,
                Ok(Some(message)) => message,
                Err(violation) => return say_goodbye(&replies, Violation::code(violation)).await,
            };
            if !obey(process, message, &replies).await {
                return say_goodbye(&replies, NORMAL).await;
            }
        }
    }
}

/// The other half ends the session when it has sent this; a client that does not read is not waited for.
async fn say_goodbye(replies: &mpsc::Sender<Message>, code: u16) {
    let said = async {
        let _ = replies.send(Message::Close(Some(code))).await;
        replies.closed().await;
    };
    let _ = tokio::time::timeout(GOODBYE, said).await;
}

/// Whether the conversation goes on.
async fn obey(process: &Process, message: Message, replies: &mpsc::Sender<Message>) -> bool {
    let done = match message {
        Message::Close(_) => return false,
        Message::Ping(bytes) => return replies.send(Message::Pong(bytes)).await.is_ok(),
        Message::Pong(_) => return true,
        Message::Binary(bytes) => process.write(&bytes).await,
        Message::Text(text) => match serde_json::from_str(&text) {
            Err(error) => Err(crate::failure::Failure::invalid(format!("the message: {error}"))),
            Ok(Order::Resize(size)) => process.resize(size),
            Ok(Order::CloseStdin {}) => process.close_input().await,
            Ok(Order::Signal(name)) => match signals::find(&name) {
                Some(signal) => process.signal(signal),
                None => Err(crate::failure::Failure::invalid("there is no such signal")),
            },
        },
    };
    match done {
        Ok(()) => true,
        Err(failure) => {
            let complaint =
                serde_json::json!({"error": {"code": failure.code.name(), "message": failure.message}});
            replies.send(Message::Text(complaint.to_string())).await.is_ok()
        }
    }
}
