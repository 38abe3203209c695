//! One connection of a client: HTTP/1.1 as plain as can be, one request at a time. It understands answers that say how long they
//! are, and no others.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

const ROOM: usize = 256 * 1024;
static ZEROS: [u8; ROOM] = [0; ROOM];

/// What certificates for tests name.
const HOST: &str = "localhost";

/// Whoever is to be called may be about to start.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

pub(crate) struct Line {
    stream: Box<dyn Stream>,
    heard: Vec<u8>,
}

/// What is sent each time: this, and so many zeros behind it.
pub(crate) struct Script {
    pub(crate) opening: Vec<u8>,
    pub(crate) zeros: u64,
}

/// What was answered.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The beginning of its body.
    pub(crate) beginning: Vec<u8>,
}

impl Line {
    pub(crate) async fn open(address: &str, tls: Option<&TlsConnector>) -> Result<Self> {
        let stream = connect(address).await.with_context(|| format!("connecting to {address}"))?;
        stream.set_nodelay(true)?;
        let stream: Box<dyn Stream> = match tls {
            None => Box::new(stream),
            Some(tls) => Box::new(tls.connect(ServerName::try_from(HOST)?, stream).await.context("TLS")?),
        };
        Ok(Self { stream, heard: vec![0; ROOM] })
    }

    /// Says something and hears the whole answer.
    pub(crate) async fn exchange(&mut self, script: &Script) -> Result<(Head, usize)> {
        self.stream.write_all(&script.opening).await.context("sending")?;
        let mut left = script.zeros;
        while left > 0 {
            let size = usize::try_from(left).unwrap_or(ROOM).min(ROOM);
            self.stream.write_all(&ZEROS[..size]).await.context("sending")?;
            left -= size as u64;
        }
        self.stream.flush().await.context("sending")?;
        self.hear().await
    }

    /// The same, with what was said at the beginning of the answer.
    pub(crate) async fn read(&mut self, script: &Script) -> Result<Answer> {
        let (head, from) = self.exchange(script).await?;
        let room = usize::try_from(head.length).unwrap_or(ROOM).min(ROOM - from);
        let beginning = self.heard[from..from + room].to_vec();
        Ok(Answer { status: head.status, beginning })
    }

    /// Sends so many bytes on a connection that was upgraded, and hears as many.
    pub(crate) async fn echo(&mut self, size: usize) -> Result<()> {
        self.stream.write_all(&ZEROS[..size]).await.context("sending")?;
        self.stream.flush().await.context("sending")?;
        self.stream.read_exact(&mut self.heard[..size]).await.context("the echo")?;
        Ok(())
    }

    /// The head of an answer, and where its body begins in what was heard. Of a long body the end overwrites what came before.
    async fn hear(&mut self) -> Result<(Head, usize)> {
        let mut filled = 0;
        let from = loop {
            let read = self.stream.read(&mut self.heard[filled..]).await.context("hearing")?;
            ensure!(read > 0, "the connection ended within an answer");
            filled += read;
            if let Some(end) = self.heard[..filled].windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
        };
        let head = Head::parse(&self.heard[..from])?;
        let mut left = head.length.saturating_sub((filled - from) as u64);
        while left > 0 {
            let start = if filled < ROOM { filled } else { from };
            let read = self.stream.read(&mut self.heard[start..]).await.context("hearing")?;
            ensure!(read > 0, "the connection ended within an answer");
            left = left.saturating_sub(read as u64);
            filled = start + read;
        }
        Ok((head, from))
    }
}

async fn connect(address: &str) -> Result<TcpStream> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) if Instant::now() > deadline => bail!(error),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Trusts this certificate and no other.
pub(crate) fn trusting(certificate: &Path) -> Result<TlsConnector> {
    let certificate = CertificateDer::from_pem_file(certificate).context("reading the certificate")?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(TlsConnector::from(Arc::new(config.with_root_certificates(roots).with_no_client_auth())))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) length: u64,
}

impl Head {
    fn parse(bytes: &[u8]) -> Result<Self> {
        let text = str::from_utf8(bytes).context("a head that is no text")?;
        let mut lines = text.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let status = status.with_context(|| format!("no answer of HTTP: {text:?}"))?;
        let mut headers = lines.filter_map(|line| line.split_once(':'));
        let length = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        match (length, status) {
            (Some((_, length)), _) => Ok(Self { status, length: length.trim().parse()? }),
            (None, 101 | 204 | 304) => Ok(Self { status, length: 0 }),
            (None, _) => bail!("an answer that does not say how long it is: {text:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<(u16, u64)> {
        Head::parse(text.as_bytes()).ok().map(|head| (head.status, head.length))
    }

    #[test]
    fn a_head_says_how_it_went_and_how_much_follows() {
        let text = "HTTP/1.1 200 OK\r\nServer: x\r\ncontent-LENGTH: 12\r\n\r\n";
        assert_eq!(parsed(text), Some((200, 12)));
        assert_eq!(parsed("HTTP/1.1 204 No Content\r\n\r\n"), Some((204, 0)));
    }

    #[test]
    fn what_does_not_say_its_length_is_not_guessed_at() {
        assert_eq!(parsed("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"), None);
        assert_eq!(parsed("SSH-2.0\r\n\r\n"), None);
    }

    #[tokio::test]
    async fn answers_are_heard_to_their_end_and_no_further() {
        let (near, mut far) = tokio::io::duplex(1 << 20);
        let mut line = Line { stream: Box::new(near), heard: vec![0; ROOM] };
        let script = Script { opening: b"ask".to_vec(), zeros: 3 };
        for size in [2, 3 * ROOM] {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {size}\r\n\r\n");
            let long = [head.as_bytes(), &vec![7; size]];
            far.write_all(&long.concat()).await.expect("room");
            let answer = line.read(&script).await.expect("an answer");
            assert_eq!(answer.status, 200);
            assert!(answer.beginning.iter().all(|byte| *byte == 7) && !answer.beginning.is_empty());
        }
        let mut asked = [1; 12];
        far.read_exact(&mut asked).await.expect("two requests");
        assert_eq!(&asked, b"ask\0\0\0ask\0\0\0");
    }
}
