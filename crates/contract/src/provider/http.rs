//! The subset of HTTP that a test provider needs: one request per connection.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The size limit of a request, in bytes.
const MAX_REQUEST: usize = 64 * 1024;

/// A received request.
#[derive(Debug, Clone)]
pub struct Request {
    /// `GET` or `POST`.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The query, without the question mark.
    pub query: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Request {
    /// The first header of this name, which must be in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// A response.
#[derive(Debug, Clone)]
pub enum Reply {
    /// A status, further header lines that each end with CRLF, and a body.
    Says(u16, String, String),
    /// Sends the head of a response, then stalls for this long.
    Stalls(Duration),
    /// A success with this many bytes, sent in chunks as long as the client reads.
    Huge(usize),
    /// Closes the connection.
    HangsUp,
}

impl Reply {
    /// A JSON response.
    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        let head = "Content-Type: application/json\r\n".to_owned();
        Self::Says(status, head, body.to_string())
    }

    /// A redirect.
    pub fn redirect(status: u16, to: &str) -> Self {
        Self::Says(status, format!("Location: {to}\r\n"), String::new())
    }
}

/// Reads one request; `None` if it is truncated or malformed.
pub(super) async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let count = stream.read(&mut chunk).await.ok()?;
        if count == 0 || bytes.len() > MAX_REQUEST {
            return None;
        }
        bytes.extend(chunk.iter().take(count));
        if let Some(request) = whole(&bytes) {
            return Some(request);
        }
    }
}

/// The request, once it is complete.
fn whole(bytes: &[u8]) -> Option<Request> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let (line, headers) = head.split_once("\r\n")?;
    let headers: Vec<(String, String)> = headers
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let mut words = line.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers,
        body: body.to_owned(),
    };
    let length = request.header("content-length").unwrap_or("0");
    (length.parse() == Ok(body.len())).then_some(request)
}

/// Sends the reply, ignoring clients that have disconnected.
pub(super) async fn write(stream: &mut TcpStream, reply: Reply) {
    match reply {
        Reply::Says(status, headers, body) => {
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} Status\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n"
            );
            drop(stream.write_all(head.as_bytes()).await);
            drop(stream.write_all(body.as_bytes()).await);
        }
        Reply::Stalls(wait) => {
            let head =
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n";
            drop(stream.write_all(head).await);
            // Waits until the client gives up and closes the connection.
            let mut end = [0; 1];
            drop(tokio::time::timeout(wait, stream.read(&mut end)).await);
        }
        Reply::Huge(size) => {
            let head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
            drop(stream.write_all(head).await);
            let chunk = vec![b' '; 64 * 1024];
            for _ in 0..size.div_ceil(chunk.len()) {
                if stream.write_all(&chunk).await.is_err() {
                    return;
                }
            }
        }
        Reply::HangsUp => {}
    }
}
