//! Somebody who is sent events: an HTTP server of a few lines that keeps what arrives.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use vestry_contract::rng::Rng;

/// How a receiver takes what it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// It takes everything.
    Sound,
    /// Of ten requests it answers two with 500 and hangs up on one, but takes what it has refused [`MOST_REFUSALS`] times.
    Flaky,
    /// It answers nothing, ever.
    Dead,
    /// It answers with this status.
    Says(u16),
}

/// A request that arrived.
#[derive(Debug, Clone)]
pub(crate) struct Arrived {
    /// By names in lower case; the path as `:path`.
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
    /// Whether it was answered with 2xx.
    pub(crate) was_taken: bool,
}

impl Arrived {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub(crate) fn event(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// A receiver on a free port of this machine.
pub(crate) struct Receiver {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
}

struct State {
    manner: Manner,
    rng: Rng,
    arrived: Vec<Arrived>,
    /// How often an event was refused, by its id.
    refused: HashMap<String, u32>,
}

/// A delivery is given up after ten attempts, and kills cost some of them: of some thousand events one would be, now and then, by chance
/// alone.
const MOST_REFUSALS: u32 = 4;

impl Receiver {
    pub(crate) async fn start(manner: Manner, rng: &mut Rng) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/events", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State {
            manner,
            rng: Rng::from_seed(rng.next()),
            arrived: Vec::new(),
            refused: HashMap::new(),
        }));
        let all = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&all)));
            }
        });
        Self { url, state }
    }

    /// How it takes what it is sent from here on.
    pub(crate) fn be(&self, manner: Manner) {
        self.state.lock().unwrap().manner = manner;
    }

    /// Everything that arrived, in its order.
    pub(crate) fn arrived(&self) -> Vec<Arrived> {
        self.state.lock().unwrap().arrived.clone()
    }
}

impl State {
    /// The status of the answer to a request about this event; `None` where there is none.
    fn decide(&mut self, id: &str) -> Option<u16> {
        match self.manner {
            Manner::Sound => Some(204),
            Manner::Says(status) => Some(status),
            Manner::Dead => None,
            Manner::Flaky => self.decide_by_chance(id),
        }
    }

    fn decide_by_chance(&mut self, id: &str) -> Option<u16> {
        let refused = self.refused.entry(id.to_owned()).or_default();
        let status = match self.rng.below(10) {
            _ if *refused == MOST_REFUSALS => return Some(200),
            0 => None,
            1 | 2 => Some(500),
            _ => return Some(200),
        };
        *refused += 1;
        status
    }
}

/// Requests of one connection, until it ends or one is not answered.
async fn serve(stream: TcpStream, state: Arc<Mutex<State>>) {
    let mut stream = BufReader::new(stream);
    while let Some((headers, body)) = request(&mut stream).await {
        let (status, is_dead) = {
            let mut state = state.lock().unwrap();
            let id = headers.get("webhook-id").map_or("", String::as_str);
            let status = state.decide(id);
            state.arrived.push(Arrived {
                headers,
                body,
                was_taken: status.is_some_and(|status| (200..300).contains(&status)),
            });
            (status, state.manner == Manner::Dead)
        };
        let Some(status) = status else {
            if is_dead {
                std::future::pending::<()>().await;
            }
            return;
        };
        let answer = format!("HTTP/1.1 {status} As told\r\ncontent-length: 0\r\n\r\n");
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn request(stream: &mut BufReader<TcpStream>) -> Option<(HashMap<String, String>, Vec<u8>)> {
    let mut line = String::new();
    if stream.read_line(&mut line).await.ok()? == 0 {
        return None;
    }
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = HashMap::from([(":path".to_owned(), path)]);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length")?.parse().ok()?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some((headers, body))
}
