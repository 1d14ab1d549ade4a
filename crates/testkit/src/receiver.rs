//! A scripted receiver on its own port, which accepts one connection.

use std::io::ErrorKind;
use std::net::TcpListener as StdListener;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What the receiver does with a request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Responds with these bytes, head and body, and closes.
    Says(Vec<u8>),
    /// Responds with these bytes, then neither continues nor closes.
    Stalls(Vec<u8>),
    /// Responds with the first bytes, then repeats the second ones this many times.
    Repeats(Vec<u8>, Vec<u8>, usize),
    /// Closes before it has read anything.
    HangsUp,
    /// Keeps the connection open to the end of the test and reads nothing; the request never arrives.
    Ignores,
}

/// The request, and how the connection ended.
#[derive(Debug)]
pub struct Arrived {
    /// The head of the request without the empty line.
    pub head: String,
    /// The body of the request.
    pub body: Vec<u8>,
    /// Whether the client read the whole response, as far as the receiver could see.
    pub was_taken: bool,
}

impl Arrived {
    /// Returns names and values of the headers, in order.
    pub fn headers(&self) -> Vec<(&str, &str)> {
        let lines = self.head.lines().skip(1);
        lines.map(|line| line.split_once(": ").unwrap()).collect()
    }
}

/// The receiver.
pub struct Receiver {
    /// `127.0.0.1` and the port.
    pub authority: String,
    serving: JoinHandle<Arrived>,
}

impl Receiver {
    /// Starts a receiver that replies in this way.
    pub async fn start(reply: Reply) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let authority = listener.local_addr().unwrap().to_string();
        let serving = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            serve(stream, reply).await
        });
        Self { authority, serving }
    }

    /// Returns a URL of the receiver with this path and query.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.authority)
    }

    /// Returns the request once the connection has ended; a client that keeps it open fails the test.
    pub async fn arrived(self) -> Arrived {
        let ended = tokio::time::timeout(Duration::from_secs(30), self.serving).await;
        ended.unwrap().unwrap()
    }
}

async fn serve(mut stream: TcpStream, reply: Reply) -> Arrived {
    let mut arrived = Arrived {
        head: String::new(),
        body: Vec::new(),
        was_taken: true,
    };
    if matches!(reply, Reply::HangsUp) {
        return arrived;
    }
    if matches!(reply, Reply::Ignores) {
        // Without reading, the client's disconnection goes unnoticed.
        return std::future::pending().await;
    }
    (arrived.head, arrived.body) = read(&mut stream).await;
    match reply {
        Reply::Says(bytes) => arrived.was_taken = stream.write_all(&bytes).await.is_ok(),
        Reply::Stalls(bytes) => {
            stream.write_all(&bytes).await.unwrap();
            // Waits until the client gives up; how the connection ends does not matter.
            drop(stream.read(&mut [0; 1]).await);
        }
        Reply::Repeats(first, again, times) => {
            arrived.was_taken = stream.write_all(&first).await.is_ok();
            for _ in 0..times {
                if !arrived.was_taken {
                    break;
                }
                arrived.was_taken = stream.write_all(&again).await.is_ok();
            }
        }
        Reply::HangsUp | Reply::Ignores => {}
    }
    arrived
}

async fn read(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut bytes = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).await.unwrap();
        assert_ne!(count, 0, "half a request");
        bytes.extend_from_slice(&chunk[..count]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().unwrap());
        let body = &bytes[end + 4..];
        if body.len() >= length {
            return (head, body.to_vec());
        }
    }
}

/// A port that must not be connected to.
pub struct Untouched(StdListener);

impl Untouched {
    /// Opens the port.
    pub fn start() -> Self {
        let listener = StdListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Self(listener)
    }

    /// Returns its number.
    pub fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }

    /// Asserts that there was no connection: on one machine it is queued here as soon as the client considers it established.
    pub fn was_not_touched(self) {
        let accepted = self.0.accept().map(drop);
        let none = matches!(&accepted, Err(error) if error.kind() == ErrorKind::WouldBlock);
        assert!(none, "unexpected connection: {accepted:?}");
    }
}
