//! Webhook receivers on loopback that record arrival times.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use serde_json::Value;

use xtask_harness::failure::{Context, Failure};

/// The arrivals at one receiver.
#[derive(Default)]
struct Arrived {
    requests: usize,
    last: Option<Instant>,
    /// The first arrival of an event about a user.
    users: HashMap<String, Instant>,
}

/// A receiver, which listens until this process ends.
pub(crate) struct Hook {
    pub(crate) url: String,
    arrived: Arc<Mutex<Arrived>>,
}

impl Hook {
    /// A receiver that accepts everything.
    pub(crate) fn working() -> Result<Self, Failure> {
        Self::listen(|stream, arrived| {
            // Fails when the service closes the connection.
            drop(take(stream, &arrived));
        })
    }

    /// A receiver that rejects everything.
    pub(crate) fn refusing() -> Result<Self, Failure> {
        Self::listen(|mut stream, _| {
            // The service may have closed the connection.
            drop(
                stream.write_all(
                    b"HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                ),
            );
        })
    }

    /// A receiver that accepts connections and never responds.
    pub(crate) fn dead() -> Result<Self, Failure> {
        Self::listen(|mut stream, _| {
            let mut all = Vec::new();
            drop(stream.read_to_end(&mut all));
        })
    }

    fn listen(
        serve: impl Fn(TcpStream, Arc<Mutex<Arrived>>) + Copy + Send + 'static,
    ) -> Result<Self, Failure> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let listener = listener.context("cannot bind a loopback port")?;
        let address = listener
            .local_addr()
            .context("cannot read the bound port")?;
        let arrived = Arc::<Mutex<Arrived>>::default();
        let shared = Arc::clone(&arrived);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let arrived = Arc::clone(&shared);
                thread::spawn(move || serve(stream, arrived));
            }
        });
        Ok(Self {
            url: format!("http://{address}/events"),
            arrived,
        })
    }

    /// The number of requests, and the time of the last one.
    pub(crate) fn count(&self) -> (usize, Option<Instant>) {
        let arrived = self.arrived.lock().unwrap_or_else(PoisonError::into_inner);
        (arrived.requests, arrived.last)
    }

    /// The time of the first event about a user.
    pub(crate) fn received(&self, user: &str) -> Option<Instant> {
        let arrived = self.arrived.lock().unwrap_or_else(PoisonError::into_inner);
        arrived.users.get(user).copied()
    }
}

/// Responds to the requests of a connection with 200 until it is closed.
fn take(stream: TcpStream, arrived: &Mutex<Arrived>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        note(&body, arrived);
        reader
            .get_mut()
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
    }
}

fn note(body: &[u8], arrived: &Mutex<Arrived>) {
    let now = Instant::now();
    let event: Value = serde_json::from_slice(body).unwrap_or_default();
    let user = event.pointer("/data/user_id").and_then(Value::as_str);
    let mut arrived = arrived.lock().unwrap_or_else(PoisonError::into_inner);
    arrived.requests += 1;
    arrived.last = Some(now);
    if let Some(user) = user {
        arrived.users.entry(user.to_owned()).or_insert(now);
    }
}
