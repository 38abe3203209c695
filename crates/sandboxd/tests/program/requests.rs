//! HTTP/1.1 by hand, so that what is sent is exactly what the test says.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use super::service::Service;

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// A status and JSON together, for comparing.
    pub(crate) fn pair(&self) -> (u16, Value) {
        (self.status, self.json())
    }
}

impl Service {
    pub(crate) fn connect(&self) -> TcpStream {
        connect(self.port)
    }

    /// Sends the head and leaves the connection to whoever reads from it.
    pub(crate) fn open(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> TcpStream {
        open(self.port, method, path, headers)
    }

    pub(crate) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let length = body.len().to_string();
        let fixed = [("Connection", "close"), ("Content-Length", length.as_str())];
        let mut stream = self.open(method, path, &[&fixed[..], headers].concat());
        // A refusal may come before the body is read.
        let _ = stream.write_all(body);
        read(&mut BufReader::new(stream), method)
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.request("GET", path, &[], b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        let json = [("Content-Type", "application/json")];
        self.request("POST", path, &json, body.to_string().as_bytes())
    }

    pub(crate) fn put(&self, path: &str, body: &[u8]) -> Reply {
        self.request("PUT", path, &[], body)
    }

    pub(crate) fn delete(&self, path: &str) -> Reply {
        self.request("DELETE", path, &[], b"")
    }
}

pub(crate) fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

pub(crate) fn open(port: u16, method: &str, path: &str, headers: &[(&str, &str)]) -> TcpStream {
    let mut stream = connect(port);
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: x\r\n");
    for (name, value) in headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    stream.write_all((head + "\r\n").as_bytes()).unwrap();
    stream
}

pub(crate) fn read(stream: &mut impl BufRead, method: &str) -> Reply {
    let (status, headers) = head(stream);
    let has_body = method != "HEAD" && status != 204 && status != 304;
    let body = if has_body { body(stream, &headers) } else { Vec::new() };
    Reply { status, headers, body }
}

pub(crate) fn head(stream: &mut impl BufRead) -> (u16, HashMap<String, String>) {
    let status = line(stream);
    let status = status.split(' ').nth(1).unwrap_or_else(|| panic!("{status:?}")).parse().unwrap();
    let mut headers = HashMap::new();
    loop {
        let line = line(stream);
        let Some((name, value)) = line.split_once(": ") else { return (status, headers) };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
}

fn body(stream: &mut impl BufRead, headers: &HashMap<String, String>) -> Vec<u8> {
    let mut body = Vec::new();
    if headers.get("transfer-encoding").is_some_and(|encoding| encoding == "chunked") {
        while let Some(chunk) = chunk(stream) {
            body.extend(chunk);
        }
    } else if let Some(length) = headers.get("content-length") {
        body = vec![0; length.parse().unwrap()];
        stream.read_exact(&mut body).unwrap();
    } else {
        stream.read_to_end(&mut body).unwrap();
    }
    body
}

/// One piece of a body that comes as it is made; nothing at its end.
pub(crate) fn chunk(stream: &mut impl BufRead) -> Option<Vec<u8>> {
    let length = usize::from_str_radix(&line(stream), 16).ok()?;
    let mut chunk = vec![0; length + 2];
    stream.read_exact(&mut chunk).ok()?;
    chunk.truncate(length);
    (length > 0).then_some(chunk)
}

fn line(stream: &mut impl BufRead) -> String {
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

/// The lines of JSON in a body that has ended.
pub(crate) fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A form with one file.
pub(crate) fn form(name: &str, content: &[u8]) -> (Vec<u8>, [(&'static str, &'static str); 1]) {
    let head =
        format!("--bound\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n");
    let body = [head.as_bytes(), content, b"\r\n--bound--\r\n"].concat();
    (body, [("Content-Type", "multipart/form-data; boundary=bound")])
}
