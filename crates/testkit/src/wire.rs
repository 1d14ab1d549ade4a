//! A proxy to Postgres that counts messages.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Executed statements, including those that begin and end transactions.
    pub statements: u32,
    /// Round trips: statements that are sent together count as one.
    pub round_trips: u32,
    /// Transactions committed.
    pub commits: u32,
}

impl Counts {
    /// The difference to earlier counts.
    pub fn since(self, before: Self) -> Self {
        Self {
            statements: self.statements - before.statements,
            round_trips: self.round_trips - before.round_trips,
            commits: self.commits - before.commits,
        }
    }

    /// The minimum of each.
    pub fn min(self, other: Self) -> Self {
        Self {
            statements: self.statements.min(other.statements),
            round_trips: self.round_trips.min(other.round_trips),
            commits: self.commits.min(other.commits),
        }
    }
}

/// A proxy address in front of a Postgres.
pub struct Wire {
    port: u16,
    counts: Arc<Mutex<Counts>>,
    is_slow: Arc<AtomicBool>,
}

impl Wire {
    /// Connects to the server at this address, without TLS.
    pub async fn to(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let counts = Arc::new(Mutex::new(Counts::default()));
        let is_slow = Arc::new(AtomicBool::new(false));
        let (all, slow) = (Arc::clone(&counts), Arc::clone(&is_slow));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.unwrap();
                tokio::spawn(lead(client, server, Arc::clone(&all), Arc::clone(&slow)));
            }
        });
        Self {
            port,
            counts,
            is_slow,
        }
    }

    /// Its port on 127.0.0.1.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Delays responses from now on.
    ///
    /// Statements that are sent together reach the wire one after the other. On a busy machine the response to the first can overtake the
    /// second one, and they count as two round trips.
    pub fn be_slow(&self) {
        self.is_slow.store(true, Ordering::Relaxed);
    }

    /// Counts since the start of the proxy.
    pub fn counts(&self) -> Counts {
        *self.counts.lock().unwrap()
    }
}

/// How long each response takes on a slow wire.
const LATENCY: Duration = Duration::from_millis(2);

/// One connection: its two directions, and its number of open queries.
async fn lead(
    client: TcpStream,
    server: TcpStream,
    counts: Arc<Mutex<Counts>>,
    is_slow: Arc<AtomicBool>,
) {
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let open = Mutex::new(0_u32);
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let asks = Messages::of_client();
    let at_once = AtomicBool::new(false);
    let asked = pass(&at_once, from_client, to_server, asks, |kinds| {
        // The server answers Sync and Query with ReadyForQuery.
        let asks = kinds.iter().filter(|(kind, _)| matches!(kind, b'S' | b'Q'));
        let asks = u32::try_from(asks.count()).unwrap();
        let mut open = open.lock().unwrap();
        if *open == 0 && asks > 0 {
            counts.lock().unwrap().round_trips += 1;
        }
        *open += asks;
    });
    let answers = Messages::of_server();
    let answered = pass(&is_slow, from_server, to_client, answers, |kinds| {
        let mut open = open.lock().unwrap();
        let mut counts = counts.lock().unwrap();
        for (kind, body) in kinds {
            match kind {
                b'Z' => *open = open.saturating_sub(1),
                b'C' => {
                    counts.statements += 1;
                    counts.commits += u32::from(body.starts_with(b"COMMIT"));
                }
                _ => {}
            }
        }
    });
    tokio::select! {
        () = asked => {}
        () = answered => {}
    }
}

/// Forwards one direction, and inspects complete messages first.
async fn pass(
    is_slow: &AtomicBool,
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut messages: Messages,
    seen: impl Fn(&[(u8, Vec<u8>)]),
) {
    let mut piece = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        if is_slow.load(Ordering::Relaxed) {
            let over = tokio::time::timeout(LATENCY, std::future::pending::<()>());
            over.await.unwrap_err();
        }
        seen(&messages.take(&piece[..length]));
        if to.write_all(&piece[..length]).await.is_err() {
            return;
        }
    }
}

/// Splits a stream into messages (protocol 3.0): a type byte, a length of four bytes that includes itself, and the body.
struct Messages {
    rest: Vec<u8>,
    /// The first message of a client has no type byte.
    begins_bare: bool,
}

impl Messages {
    const fn of_client() -> Self {
        Self {
            rest: Vec::new(),
            begins_bare: true,
        }
    }

    const fn of_server() -> Self {
        Self {
            rest: Vec::new(),
            begins_bare: false,
        }
    }

    fn take(&mut self, piece: &[u8]) -> Vec<(u8, Vec<u8>)> {
        self.rest.extend_from_slice(piece);
        let mut whole = Vec::new();
        loop {
            let head = usize::from(!self.begins_bare);
            let Some(length) = self.rest.get(head..head + 4) else {
                return whole;
            };
            let length = u32::from_be_bytes(length.try_into().unwrap());
            let end = head + usize::try_from(length).unwrap();
            if self.rest.len() < end {
                return whole;
            }
            let message: Vec<u8> = self.rest.drain(..end).collect();
            if !std::mem::take(&mut self.begins_bare) {
                whole.push((message[0], message[5..].to_vec()));
            }
        }
    }
}
