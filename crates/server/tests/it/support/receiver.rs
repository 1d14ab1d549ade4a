//! A webhook receiver: a minimal HTTP server that stores its requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use vestry_contract::rng::Rng;

/// The behaviour of a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// It accepts everything.
    Sound,
    /// Of ten requests it answers two with 500 and hangs up on one, but accepts events that it has refused [`MAX_REFUSALS`] times.
    Flaky,
    /// It never responds.
    Dead,
    /// It responds with this status.
    Says(u16),
}

/// A request that arrived.
#[derive(Debug, Clone)]
pub(crate) struct Arrived {
    /// Keys are in lower case; the path is `:path`.
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
    /// Tells of each arrival.
    arrivals: watch::Sender<()>,
}

struct State {
    manner: Manner,
    rng: Rng,
    arrived: Vec<Arrived>,
    /// The number of refusals by event ID.
    refused: HashMap<String, u32>,
}

/// A delivery is given up after ten attempts, and kills use up some of them. Without this limit, one event in some thousand would be given
/// up by chance.
const MAX_REFUSALS: u32 = 4;

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
        let arrivals = watch::Sender::new(());
        let (all, telling) = (Arc::clone(&state), arrivals.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&all), telling.clone()));
            }
        });
        Self {
            url,
            state,
            arrivals,
        }
    }

    /// Changes its behaviour.
    pub(crate) fn be(&self, manner: Manner) {
        self.state.lock().unwrap().manner = manner;
    }

    /// All requests, in order.
    pub(crate) fn arrived(&self) -> Vec<Arrived> {
        self.state.lock().unwrap().arrived.clone()
    }

    /// Returns when a request with this property has arrived.
    pub(crate) async fn until(&self, is_it: impl Fn(&Arrived) -> bool) {
        let mut arrivals = self.arrivals.subscribe();
        let is_there = || self.state.lock().unwrap().arrived.iter().rev().any(&is_it);
        while !is_there() {
            arrivals.changed().await.unwrap();
        }
    }
}

impl State {
    /// The status for a request about this event; `None` for no response.
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
            _ if *refused == MAX_REFUSALS => return Some(200),
            0 => None,
            1 | 2 => Some(500),
            _ => return Some(200),
        };
        *refused += 1;
        status
    }
}

/// Serves a connection until it ends or a request gets no response.
async fn serve(stream: TcpStream, state: Arc<Mutex<State>>, arrivals: watch::Sender<()>) {
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
        arrivals.send_replace(());
        let Some(status) = status else {
            if is_dead {
                std::future::pending::<()>().await;
            }
            return;
        };
        let answer = format!("HTTP/1.1 {status} As configured\r\ncontent-length: 0\r\n\r\n");
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
