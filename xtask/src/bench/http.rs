//! JSON requests over loopback: enough to seed and to ask, and no dependency.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::failure::{Context, Failure};

/// Posts a body and returns the parsed answer; anything but 200 is a failure.
pub(super) fn post(base_url: &str, path: &str, key: &str, body: &Value) -> Result<Value, Failure> {
    let address = base_url.trim_start_matches("http://");
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).context("cannot connect to the service")?;
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream
        .write_all(request.as_bytes())
        .context("cannot send a request")?;
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .context("cannot read an answer")?;
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .ok_or_else(|| Failure::new("an answer has no body"))?;
    if !head.starts_with("HTTP/1.1 200") {
        return Err(Failure::new(format!("{path} answered {body}")));
    }
    serde_json::from_str(body).context("an answer is not JSON")
}

/// An answer of any status.
struct Answer {
    head: String,
    body: String,
}

/// A connection that is used again and again.
pub(super) struct Connection {
    stream: BufReader<TcpStream>,
    address: String,
    key: String,
}

impl Connection {
    pub(super) fn open(base_url: &str, key: &str) -> Result<Self, Failure> {
        let address = base_url.trim_start_matches("http://").to_owned();
        let stream = TcpStream::connect(&address).context("cannot connect to the service")?;
        stream
            .set_nodelay(true)
            .context("cannot set up a connection")?;
        Ok(Self {
            stream: BufReader::new(stream),
            address,
            key: key.to_owned(),
        })
    }

    /// Sends a body and returns the parsed answer; anything but 200 is a failure.
    pub(super) fn send(
        &mut self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Value, Failure> {
        self.answered(method, path, &body.to_string())
    }

    /// The same without a body.
    pub(super) fn get(&mut self, path: &str) -> Result<Value, Failure> {
        self.answered("GET", path, "")
    }

    /// Sends a body under an `Idempotency-Key`, or without one, whatever the answer is.
    pub(super) fn try_post(
        &mut self,
        path: &str,
        body: &Value,
        idempotency_key: Option<&str>,
    ) -> Result<(), Failure> {
        let header = idempotency_key.map(|key| format!("Idempotency-Key: {key}\r\n"));
        let header = header.unwrap_or_default();
        self.exchange_with("POST", path, &header, &body.to_string())
            .map(drop)
    }

    /// Asks, whatever the answer is.
    pub(super) fn try_get(&mut self, path: &str) -> Result<(), Failure> {
        self.exchange("GET", path, "").map(drop)
    }

    /// Where a GET sends a browser.
    pub(super) fn redirected(&mut self, path: &str) -> Result<String, Failure> {
        let Answer { head, body } = self.exchange("GET", path, "")?;
        let location = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_it = name.eq_ignore_ascii_case("location");
            is_it.then(|| value.trim().to_owned())
        });
        location.ok_or_else(|| Failure::new(format!("{path} did not redirect: {body}")))
    }

    fn answered(&mut self, method: &str, path: &str, body: &str) -> Result<Value, Failure> {
        let Answer { head, body } = self.exchange(method, path, body)?;
        if !head.starts_with("HTTP/1.1 200") {
            return Err(Failure::new(format!("{path} answered {body}")));
        }
        serde_json::from_str(&body).context("an answer is not JSON")
    }

    fn exchange(&mut self, method: &str, path: &str, body: &str) -> Result<Answer, Failure> {
        self.exchange_with(method, path, "", body)
    }

    fn exchange_with(
        &mut self,
        method: &str,
        path: &str,
        header: &str,
        body: &str,
    ) -> Result<Answer, Failure> {
        let (address, key) = (&self.address, &self.key);
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\n{header}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let stream = self.stream.get_mut();
        stream
            .write_all(request.as_bytes())
            .context("cannot send a request")?;
        let mut head = String::new();
        let mut length = 0;
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                let value = value.trim().parse();
                length = value.context("an answer does not say how long it is")?;
            }
            head.push_str(&line);
            head.push('\n');
        }
        let mut body = vec![0; length];
        self.stream
            .read_exact(&mut body)
            .context("cannot read an answer")?;
        let body = String::from_utf8(body).context("an answer is not text")?;
        Ok(Answer { head, body })
    }

    fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        self.stream
            .read_line(&mut line)
            .context("cannot read an answer")?;
        Ok(line.trim_end().to_owned())
    }
}
