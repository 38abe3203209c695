//! A server in a Sandbox that takes nothing on trust: it notes every byte that does not belong to one well-formed request, and answers
//! each request with its path. Written anew on purpose: a lenient parser would forgive what must not arrive.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Request(Message),
    /// The beginning of one, and then the end of the connection.
    Cut(String),
    /// Something else.
    Malformed(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) method: String,
    pub(crate) path: String,
    /// By their names in lower case.
    pub(crate) headers: HashMap<String, Vec<String>>,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Vec<String>,
}

pub(crate) struct Witness {
    pub(crate) port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<Mutex<usize>>,
    serving: JoinHandle<()>,
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Witness {
    pub(crate) async fn start() -> Self {
        Self::at("127.0.0.1:0").await
    }

    pub(crate) async fn at(address: &str) -> Self {
        let listener = TcpListener::bind(address).await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (seen, connections) = (Arc::<Mutex<Vec<Seen>>>::default(), Arc::<Mutex<usize>>::default());
        let (notes, count) = (Arc::clone(&seen), Arc::clone(&connections));
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                *count.lock().expect("free") += 1;
                tokio::spawn(attend(stream, Arc::clone(&notes)));
            }
        });
        Self { port, seen, connections, serving }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("free").clone()
    }

    /// How often somebody connected.
    pub(crate) fn connections(&self) -> usize {
        *self.connections.lock().expect("free")
    }

    /// The paths of what arrived whole. Fails if anything arrived that is no request.
    pub(crate) fn paths(&self) -> Vec<String> {
        let path = |seen| match seen {
            Seen::Request(message) => Some(message.path),
            Seen::Cut(_) => None,
            Seen::Malformed(bytes) => panic!("this arrived: {bytes}"),
        };
        self.seen().into_iter().filter_map(path).collect()
    }

    /// The one request of this path.
    pub(crate) fn message(&self, path: &str) -> Message {
        let is_it = |seen: &Seen| matches!(seen, Seen::Request(message) if message.path == path);
        let mut found: Vec<Seen> = self.seen().into_iter().filter(is_it).collect();
        assert_eq!(found.len(), 1, "{:?}", self.seen());
        match found.remove(0) {
            Seen::Request(message) => message,
            other => panic!("{other:?}"),
        }
    }
}

async fn attend(stream: TcpStream, notes: Arc<Mutex<Vec<Seen>>>) {
    let mut stream = BufReader::new(stream);
    loop {
        let seen = match receive(&mut stream).await {
            Ok(None) => return,
            Ok(Some(message)) => Seen::Request(message),
            Err(Trouble::Cut(what)) => Seen::Cut(what),
            Err(Trouble::Malformed(what)) => Seen::Malformed(what),
        };
        notes.lock().expect("free").push(seen.clone());
        let Seen::Request(Message { path, method, .. }) = seen else { return };
        let body = if method == "HEAD" { String::new() } else { format!("seen:{path}") };
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

enum Trouble {
    Cut(String),
    Malformed(String),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Cut(error.to_string())
    }
}

type Received<T> = Result<T, Trouble>;

/// Nothing, where the connection ended between requests.
async fn receive(stream: &mut BufReader<TcpStream>) -> Received<Option<Message>> {
    let Some(first) = line(stream, true).await? else { return Ok(None) };
    let words: Vec<&str> = first.split(' ').collect();
    let [method, path, "HTTP/1.1"] = words[..] else { return Err(Trouble::Malformed(first)) };
    let fields = fields(stream).await?;
    let mut headers: HashMap<String, Vec<String>> = HashMap::new();
    for (name, value) in fields {
        headers.entry(name).or_default().push(value);
    }
    let (body, trailers) = body(stream, &headers).await?;
    Ok(Some(Message { method: method.to_owned(), path: path.to_owned(), headers, body, trailers }))
}

async fn body(
    stream: &mut BufReader<TcpStream>,
    headers: &HashMap<String, Vec<String>>,
) -> Received<(Vec<u8>, Vec<String>)> {
    match (headers.get("content-length").map(Vec::as_slice), headers.get("transfer-encoding")) {
        (None, None) => Ok((Vec::new(), Vec::new())),
        (Some([length]), None) => {
            let length = length.parse().map_err(|_| Trouble::Malformed(length.clone()))?;
            Ok((exactly(stream, length).await?, Vec::new()))
        }
        (None, Some(codings)) if codings == &["chunked"] => chunks(stream).await,
        framing => Err(Trouble::Malformed(format!("{framing:?}"))),
    }
}

async fn chunks(stream: &mut BufReader<TcpStream>) -> Received<(Vec<u8>, Vec<String>)> {
    let mut body = Vec::new();
    loop {
        let size = line(stream, false).await?.unwrap_or_default();
        let length = usize::from_str_radix(&size, 16).map_err(|_| Trouble::Malformed(size))?;
        if length == 0 {
            let trailers = fields(stream).await?;
            return Ok((body, trailers.into_iter().map(|(name, _)| name).collect()));
        }
        body.extend(exactly(stream, length).await?);
        match line(stream, false).await? {
            Some(empty) if empty.is_empty() => {}
            other => return Err(Trouble::Malformed(format!("{other:?} after a chunk"))),
        }
    }
}

async fn exactly(stream: &mut BufReader<TcpStream>, length: usize) -> Received<Vec<u8>> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}

async fn fields(stream: &mut BufReader<TcpStream>) -> Received<Vec<(String, String)>> {
    let mut fields = Vec::new();
    loop {
        let line = line(stream, false).await?.unwrap_or_default();
        if line.is_empty() {
            return Ok(fields);
        }
        let (name, value) = line.split_once(": ").ok_or_else(|| Trouble::Malformed(line.clone()))?;
        let is_name =
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
        if !is_name || name.is_empty() {
            return Err(Trouble::Malformed(line));
        }
        fields.push((name.to_ascii_lowercase(), value.to_owned()));
    }
}

/// Up to CRLF, with no other byte in it that could be taken for the end of a line.
async fn line(stream: &mut BufReader<TcpStream>, may_end: bool) -> Received<Option<String>> {
    let mut bytes = Vec::new();
    stream.read_until(b'\n', &mut bytes).await?;
    if bytes.is_empty() && may_end {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if !bytes.ends_with(b"\n") {
        return Err(Trouble::Cut(text));
    }
    let inner = bytes.strip_suffix(b"\r\n").ok_or_else(|| Trouble::Malformed(text.clone()))?;
    if inner.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
        return Err(Trouble::Malformed(text));
    }
    Ok(Some(String::from_utf8_lossy(inner).into_owned()))
}
