//! `process.v1.ProcessService` over HTTP/2 without TLS, and reflection.

use std::collections::HashMap;
use std::time::Duration;

use asb_sandboxd::wire::grpc::{
    ExecuteRequest, ExecuteResponse, ProcessConfig, Pty, ReflectionAnswer, ReflectionQuestion,
    ReflectionRequest, ReflectionResponse, ResizeTtyRequest, SendSignalRequest, StartEvent, StartRequest,
    StartResponse, StdinPayload, WriteStdinRequest,
};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};

use super::service::{Service, runs};
use super::wait::until;

const OK: u16 = 0;
const INVALID_ARGUMENT: u16 = 3;
const DEADLINE_EXCEEDED: u16 = 4;
const NOT_FOUND: u16 = 5;
const PERMISSION_DENIED: u16 = 7;
const FAILED_PRECONDITION: u16 = 9;
const UNIMPLEMENTED: u16 = 12;

/// A status and what was said with it.
type Status = (u16, String);

pub(crate) struct Client {
    runtime: Runtime,
    sender: SendRequest<Full<Bytes>>,
    port: u16,
    pub(crate) token: Option<String>,
    timeout: Option<&'static str>,
}

/// The answer to a call, message by message.
struct Answers {
    body: Incoming,
    held: Vec<u8>,
    status: Option<Status>,
}

impl Client {
    pub(crate) fn connect(service: &Service) -> Self {
        Self::connect_to(service.port)
    }

    pub(crate) fn connect_to(port: u16) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let sender = runtime.block_on(async {
            let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
            tokio::spawn(connection);
            sender
        });
        Self { runtime, sender, port, token: None, timeout: None }
    }

    fn call(&mut self, method: &str, message: &impl Message) -> Answers {
        let mut body = vec![0];
        body.extend(u32::try_from(message.encoded_len()).unwrap().to_be_bytes());
        body.extend(message.encode_to_vec());
        self.send(method, body)
    }

    /// How a call ends whose body is this, whatever that is.
    pub(crate) fn status(&mut self, method: &str, body: &[u8]) -> u16 {
        let mut answers = self.send(method, body.to_vec());
        loop {
            if let Err((status, _)) = self.next::<()>(&mut answers) {
                return status;
            }
        }
    }

    fn send(&mut self, method: &str, body: Vec<u8>) -> Answers {
        let mut request = http::Request::post(format!("http://127.0.0.1:{}/{method}", self.port))
            .header("content-type", "application/grpc")
            .header("te", "trailers");
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if let Some(timeout) = self.timeout {
            request = request.header("grpc-timeout", timeout);
        }
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        let sender = &mut self.sender;
        let response = self.runtime.block_on(async {
            sender.ready().await.unwrap();
            sender.send_request(request).await.unwrap()
        });
        assert_eq!(response.status(), 200);
        let status = status(response.headers());
        Answers { body: response.into_body(), held: Vec::new(), status }
    }

    fn next<M: Message + Default>(&self, answers: &mut Answers) -> Result<M, Status> {
        self.runtime
            .block_on(async { tokio::time::timeout(Duration::from_secs(20), answers.next()).await.unwrap() })
    }

    /// One message and a good end.
    fn unary<M: Message + Default>(&mut self, method: &str, message: &impl Message) -> Result<M, Status> {
        let mut answers = self.call(&format!("process.v1.ProcessService/{method}"), message);
        let answer = self.next(&mut answers)?;
        assert_eq!(self.next::<M>(&mut answers).err(), Some((OK, String::new())));
        Ok(answer)
    }

    pub(crate) fn execute(&mut self, command: &[&str]) -> Result<ExecuteResponse, Status> {
        self.unary("Execute", &ExecuteRequest { config: Some(config(command)) })
    }

    fn start(&mut self, command: &[&str], pty: Option<Pty>) -> (i32, Answers) {
        let request = StartRequest { config: Some(config(command)), pty };
        let mut answers = self.call("process.v1.ProcessService/Start", &request);
        let first: StartResponse = self.next(&mut answers).unwrap();
        let Some(StartEvent::Init(init)) = first.event else { panic!("{first:?}") };
        (init.process_id, answers)
    }

    /// All that follows the first event: output, errors, the code and the status.
    fn rest(&mut self, answers: &mut Answers) -> (String, String, Option<i32>, u16) {
        let (mut stdout, mut stderr, mut code) = (Vec::new(), Vec::new(), None);
        loop {
            match self.next::<StartResponse>(answers).map(|response| response.event) {
                Ok(Some(StartEvent::Stdout(bytes))) => {
                    assert!(bytes.len() <= 4096);
                    stdout.extend(bytes);
                }
                Ok(Some(StartEvent::Stderr(bytes))) => stderr.extend(bytes),
                Ok(Some(StartEvent::Exit(exit))) => code = Some(exit.exit_code),
                Ok(other) => panic!("{other:?}"),
                Err((status, _)) => {
                    let text = |bytes| String::from_utf8(bytes).unwrap();
                    return (text(stdout), text(stderr), code, status);
                }
            }
        }
    }
}

impl Answers {
    async fn next<M: Message + Default>(&mut self) -> Result<M, Status> {
        loop {
            if let Some(([0, length @ ..], rest)) = self.held.split_first_chunk::<5>() {
                let length = u32::from_be_bytes(*length) as usize;
                if rest.len() >= length {
                    let message = M::decode(&rest[..length]).unwrap();
                    self.held.drain(..5 + length);
                    return Ok(message);
                }
            }
            match self.body.frame().await {
                None => return Err(self.status.clone().expect("a call ends with a status")),
                Some(frame) => match frame.unwrap().into_data() {
                    Ok(bytes) => self.held.extend_from_slice(&bytes),
                    Err(frame) => self.status = status(&frame.into_trailers().unwrap()),
                },
            }
        }
    }
}

fn status(headers: &http::HeaderMap) -> Option<Status> {
    let status = headers.get("grpc-status")?.to_str().unwrap().parse().unwrap();
    let message = headers.get("grpc-message").map_or("", |message| message.to_str().unwrap());
    Some((status, message.to_owned()))
}

fn config(command: &[&str]) -> ProcessConfig {
    ProcessConfig {
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        ..ProcessConfig::default()
    }
}

fn input(process_id: i32, bytes: &[u8]) -> WriteStdinRequest {
    WriteStdinRequest { process_id, payload: Some(StdinPayload::Input(bytes.to_vec())) }
}

#[test]
fn a_command_is_executed() {
    let service = Service::start();
    let mut client = Client::connect(&service);
    let done = client.execute(&["/bin/sh", "-c", "echo out; echo err >&2; exit 3"]).unwrap();
    assert_eq!((done.exit_code, &done.stdout[..], &done.stderr[..]), (3, &b"out\n"[..], &b"err\n"[..]));
    let env_vars = HashMap::from([("A".to_owned(), "b".to_owned())]);
    let asked =
        ProcessConfig { env_vars, cwd: Some("dir".to_owned()), ..config(&["sh", "-c", "echo $A; pwd"]) };
    std::fs::create_dir(service.root().join("dir")).unwrap();
    let done: ExecuteResponse = client.unary("Execute", &ExecuteRequest { config: Some(asked) }).unwrap();
    let dir = std::fs::canonicalize(service.root().join("dir")).unwrap();
    assert_eq!(String::from_utf8(done.stdout).unwrap(), format!("b\n{}\n", dir.display()));
}

#[test]
fn a_large_output_is_whole() {
    let service = Service::start();
    let mut client = Client::connect(&service);
    let done = client.execute(&["head", "-c", "3000000", "/dev/zero"]).unwrap();
    assert_eq!(done.stdout.len(), 3_000_000);
    let (_, mut answers) = client.start(&["sh", "-c", "head -c 5000000 /dev/zero | tr '\\0' x"], None);
    let (stdout, _, code, status) = client.rest(&mut answers);
    assert_eq!((stdout.len(), code, status), (5_000_000, Some(0), OK));
}

#[test]
fn what_a_signal_ended_has_the_code_that_was_asked_for() {
    for (flags, expected) in [(&[][..], -1), (&["--signal-exit-codes"][..], 137)] {
        let service = Service::with(flags);
        let done = Client::connect(&service).execute(&["sh", "-c", "kill -9 $$"]).unwrap();
        assert_eq!(done.exit_code, expected);
    }
}

#[test]
fn cases_are_told_apart_by_status() {
    let service = Service::start();
    std::os::unix::fs::symlink("/etc", service.root().join("out")).unwrap();
    std::fs::write(service.root().join("plain"), "").unwrap();
    let mut client = Client::connect(&service);
    assert_eq!(client.execute(&[]).unwrap_err().0, INVALID_ARGUMENT);
    assert_eq!(client.execute(&["/no/such"]).unwrap_err().0, NOT_FOUND);
    assert_eq!(client.execute(&["./plain"]).unwrap_err().0, PERMISSION_DENIED);
    for (cwd, expected) in [("none", NOT_FOUND), ("out", PERMISSION_DENIED), ("../..", PERMISSION_DENIED)] {
        let asked = ProcessConfig { cwd: Some(cwd.to_owned()), ..config(&["true"]) };
        let refused = client.unary::<ExecuteResponse>("Execute", &ExecuteRequest { config: Some(asked) });
        assert_eq!(refused.unwrap_err().0, expected, "{cwd}");
    }
    assert_eq!(client.unary::<()>("WriteStdin", &input(99, b"x")).unwrap_err().0, NOT_FOUND);
    let signal = SendSignalRequest { process_id: 99, signal: 15 };
    assert_eq!(client.unary::<()>("SendSignal", &signal).unwrap_err().0, NOT_FOUND);
    assert_eq!(client.unary::<()>("Dance", &signal).unwrap_err().0, UNIMPLEMENTED);
}

#[test]
fn a_process_is_started_written_to_and_signalled() {
    let service = Service::start();
    let mut client = Client::connect(&service);
    let (id, mut answers) = client.start(&["cat"], None);
    assert_eq!(id, 1);
    client.unary::<()>("WriteStdin", &input(id, b"hello")).unwrap();
    let echoed: StartResponse = client.next(&mut answers).unwrap();
    assert_eq!(echoed.event, Some(StartEvent::Stdout(b"hello".to_vec())));
    let resize = ResizeTtyRequest { process_id: id, cols: 1, rows: 1 };
    assert_eq!(client.unary::<()>("ResizeTTY", &resize).unwrap_err().0, FAILED_PRECONDITION);
    let signal = SendSignalRequest { process_id: id, signal: 1 };
    assert_eq!(client.unary::<()>("SendSignal", &signal).unwrap_err().0, INVALID_ARGUMENT);
    let eof = WriteStdinRequest { process_id: id, payload: Some(StdinPayload::Eof(())) };
    client.unary::<()>("WriteStdin", &eof).unwrap();
    assert_eq!(client.rest(&mut answers), (String::new(), String::new(), Some(0), OK));
    assert_eq!(client.unary::<()>("WriteStdin", &input(id, b"x")).unwrap_err().0, NOT_FOUND);
    let (id, mut answers) = client.start(&["sleep", "1000"], None);
    client.unary::<()>("SendSignal", &SendSignalRequest { process_id: id, signal: 15 }).unwrap();
    assert_eq!(client.rest(&mut answers).2, Some(-1));
}

#[test]
fn a_terminal_is_resized() {
    let service = Service::start();
    let mut client = Client::connect(&service);
    let (id, mut answers) =
        client.start(&["sh", "-c", "read x; stty size"], Some(Pty { cols: 80, rows: 24 }));
    client.unary::<()>("ResizeTTY", &ResizeTtyRequest { process_id: id, cols: 44, rows: 22 }).unwrap();
    client.unary::<()>("WriteStdin", &input(id, b"\n")).unwrap();
    let (stdout, _, code, _) = client.rest(&mut answers);
    assert!(stdout.contains("22 44") && code == Some(0), "{stdout}");
}

#[test]
fn a_deadline_ends_the_call_and_the_process() {
    let service = Service::start();
    let mut client = Client::connect(&service);
    client.timeout = Some("300m");
    let marker = service.root().join("pid");
    let refused = client.execute(&["sh", "-c", "echo $$ > pid; exec sleep 1000"]).unwrap_err();
    assert_eq!(refused.0, DEADLINE_EXCEEDED);
    let pid: i64 = std::fs::read_to_string(marker).unwrap().trim().parse().unwrap();
    until("it is killed", || (!runs(pid)).then_some(()));
    let (_, mut answers) = client.start(&["sleep", "1000"], None);
    assert_eq!(client.rest(&mut answers).3, DEADLINE_EXCEEDED);
}

#[test]
fn whoever_hangs_up_ends_the_process() {
    let service = Service::start();
    let mut client = Client::connect(&service);
    let (_, answers) = client.start(&["sleep", "1000"], None);
    let pid = service.get("/v1/processes").json()["processes"][0]["pid"].as_i64().unwrap();
    assert!(runs(pid));
    drop(answers);
    // The connection must be looked after for the call to be given up.
    until("it is killed", || {
        client.runtime.block_on(tokio::task::yield_now());
        (!runs(pid)).then_some(())
    });
    assert_eq!(service.get("/v1/processes").json()["processes"].as_array().unwrap().len(), 0);
}

#[test]
fn reflection_describes_the_service() {
    let service = Service::start();
    let mut client = Client::connect(&service);
    for version in ["v1", "v1alpha"] {
        let question = ReflectionQuestion::FileContainingSymbol("process.v1.ProcessService".to_owned());
        let request = ReflectionRequest { host: String::new(), question: Some(question) };
        let method = format!("grpc.reflection.{version}.ServerReflection/ServerReflectionInfo");
        let mut answers = client.call(&method, &request);
        let answer: ReflectionResponse = client.next(&mut answers).unwrap();
        let Some(ReflectionAnswer::Files(found)) = answer.answer else { panic!("{answer:?}") };
        assert_eq!(found.files.len(), 2);
        assert_eq!(client.next::<()>(&mut answers).unwrap_err().0, OK);
    }
}
