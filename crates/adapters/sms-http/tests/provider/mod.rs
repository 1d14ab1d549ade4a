//! A scripted provider like Twilio, on its own port.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) const SID: &str = "AC0123456789";
pub(crate) const TOKEN: &str = "hunter2-token";

/// What the provider does with a message.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// Accepts it, like the real one.
    Takes,
    /// Returns this status, with additional header lines and this body.
    Says(u16, &'static str, &'static str),
    /// Accepts it after this time.
    TakesLate(Duration),
    /// Reads it and closes the connection.
    HangsUp,
}

/// A request as received.
#[derive(Debug, Clone)]
pub(crate) struct Arrived {
    /// Method, path and version.
    pub(crate) line: String,
    /// Header lines, with names in lower case.
    pub(crate) headers: String,
    pub(crate) body: String,
}

#[derive(Default)]
struct Script {
    /// For the next messages; the other reply applies to the rest.
    next: VecDeque<Reply>,
    others: Option<Reply>,
    arrived: Vec<Arrived>,
}

/// The provider; it stops with the test.
pub(crate) struct Provider {
    pub(crate) url: String,
    script: Arc<Mutex<Script>>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Provider {
    /// Starts a provider that accepts everything until it is scripted otherwise.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let script = Arc::new(Mutex::new(Script::default()));
        let accepting = tokio::spawn({
            let script = Arc::clone(&script);
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(serve(stream, Arc::clone(&script)));
                }
            }
        });
        Self {
            url,
            script,
            accepting,
        }
    }

    /// Sets the replies to the next messages.
    pub(crate) fn then(&self, replies: impl IntoIterator<Item = Reply>) {
        self.script.lock().unwrap().next.extend(replies);
    }

    /// Sets the reply to all messages from here on.
    pub(crate) fn always(&self, reply: Reply) {
        self.script.lock().unwrap().others = Some(reply);
    }

    pub(crate) fn arrived(&self) -> Vec<Arrived> {
        self.script.lock().unwrap().arrived.clone()
    }
}

/// Serves one request per connection.
async fn serve(mut stream: TcpStream, script: Arc<Mutex<Script>>) {
    let Some(request) = read(&mut stream).await else {
        return;
    };
    let is_message = request.line.starts_with("POST ");
    let reply = {
        let mut script = script.lock().unwrap();
        script.arrived.push(request);
        let scripted = script.next.pop_front().or_else(|| script.others.clone());
        if is_message {
            scripted.unwrap_or(Reply::Takes)
        } else {
            scripted.unwrap_or(Reply::Says(
                200,
                "",
                r#"{"sid": "AC0123456789", "status": "active"}"#,
            ))
        }
    };
    let taken =
        r#"{"sid": "SM0123456789", "status": "queued", "error_code": null, "error_message": null}"#;
    let (status, headers, body) = match reply {
        Reply::Takes => (201, "", taken),
        Reply::Says(status, headers, body) => (status, headers, body),
        Reply::TakesLate(wait) => {
            // Unless the caller gives up first, which closes the connection.
            let mut end = [0; 1];
            drop(tokio::time::timeout(wait, stream.read(&mut end)).await);
            (201, "", taken)
        }
        Reply::HangsUp => return,
    };
    let answer = format!(
        "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n{body}",
        body.len()
    );
    // A caller that has given up is not there to read it.
    drop(stream.write_all(answer.as_bytes()).await);
}

async fn read(stream: &mut TcpStream) -> Option<Arrived> {
    let mut bytes = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
        }
        let text = String::from_utf8(bytes.clone()).unwrap();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let (line, headers) = head.split_once("\r\n").unwrap();
        let headers = headers.to_lowercase();
        let length = headers
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().unwrap());
        if body.len() >= length {
            return Some(Arrived {
                line: line.to_owned(),
                // The login is case-sensitive.
                headers: head.to_owned(),
                body: body.to_owned(),
            });
        }
    }
}
