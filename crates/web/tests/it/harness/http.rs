//! HTTP/1.1 on raw connections: the service reads exactly what a test writes.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A connection to the service.
pub(crate) struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

/// A raw response.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Connection {
    pub(crate) async fn to(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            read: Vec::new(),
        }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// Sends as much of it as the peer accepts, which may respond and close before it has read everything.
    pub(crate) async fn send_while_taken(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(16 * 1024) {
            if self.stream.write_all(part).await.is_err() {
                return;
            }
        }
    }

    /// The next response, or `None` if the peer closed instead.
    pub(crate) async fn receive(&mut self) -> Option<Raw> {
        let (status, headers) = self.receive_head().await?;
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap());
        while self.read.len() < length {
            assert!(self.more().await, "the body ended early");
        }
        let body = self.read.drain(..length).collect();
        Some(Raw {
            status,
            headers,
            body,
        })
    }

    /// The next response to a `HEAD`, which has no body whatever its Content-Length says (RFC 9110, section 9.3.2).
    pub(crate) async fn receive_without_body(&mut self) -> Option<Raw> {
        let (status, headers) = self.receive_head().await?;
        Some(Raw {
            status,
            headers,
            body: Vec::new(),
        })
    }

    async fn receive_head(&mut self) -> Option<(u16, Vec<(String, String)>)> {
        let end = loop {
            if let Some(at) = self.read.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            if !self.more().await {
                assert!(
                    self.read.is_empty(),
                    "half a response: {:?}",
                    String::from_utf8_lossy(&self.read)
                );
                return None;
            }
        };
        let head = String::from_utf8(self.read.drain(..end).collect()).unwrap();
        Some(parse_head(&head))
    }

    /// Whether the peer has closed; waits until it closes or sends something.
    pub(crate) async fn is_closed(&mut self) -> bool {
        self.read.is_empty() && !self.more().await
    }

    async fn more(&mut self) -> bool {
        let mut part = vec![0; 16 * 1024];
        match self.stream.read(&mut part).await {
            Ok(0) | Err(_) => false,
            Ok(count) => {
                self.read.extend_from_slice(&part[..count]);
                true
            }
        }
    }
}

fn parse_head(head: &str) -> (u16, Vec<(String, String)>) {
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1))
        .unwrap();
    let headers = lines.filter(|line| !line.is_empty()).map(|line| {
        let (name, value) = line.split_once(':').unwrap();
        (name.to_lowercase(), value.trim().to_owned())
    });
    (status.parse().unwrap(), headers.collect())
}
