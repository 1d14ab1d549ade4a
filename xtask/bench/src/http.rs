//! A minimal HTTP client for JSON requests over loopback, without a dependency.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use xtask_harness::failure::{Context, Failure};

/// A response of any status.
struct Response {
    head: String,
    body: String,
}

/// A persistent connection.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    address: String,
    key: String,
}

impl Connection {
    pub(crate) fn open(base_url: &str, key: &str) -> Result<Self, Failure> {
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

    /// Sends a body and returns the parsed response. Any status but 200 is a failure.
    pub(crate) fn send(
        &mut self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Value, Failure> {
        self.checked(method, path, &body.to_string())
    }

    /// Sends a GET, like [`Self::send`].
    pub(crate) fn get(&mut self, path: &str) -> Result<Value, Failure> {
        self.checked("GET", path, "")
    }

    /// Sends a body, possibly with an `Idempotency-Key`, and ignores the status of the response.
    pub(crate) fn try_post(
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

    /// Sends a GET and ignores the status of the response.
    pub(crate) fn try_get(&mut self, path: &str) -> Result<(), Failure> {
        self.exchange("GET", path, "").map(drop)
    }

    /// Sends a GET and returns the target of the redirect.
    pub(crate) fn redirected(&mut self, path: &str) -> Result<String, Failure> {
        let Response { head, body } = self.exchange("GET", path, "")?;
        let location = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_location = name.eq_ignore_ascii_case("location");
            is_location.then(|| value.trim().to_owned())
        });
        location.ok_or_else(|| Failure::new(format!("{path} did not redirect: {body}")))
    }

    fn checked(&mut self, method: &str, path: &str, body: &str) -> Result<Value, Failure> {
        let Response { head, body } = self.exchange(method, path, body)?;
        if !head.starts_with("HTTP/1.1 200") {
            return Err(Failure::new(format!("{path} returned {body}")));
        }
        serde_json::from_str(&body).context("a response is not JSON")
    }

    fn exchange(&mut self, method: &str, path: &str, body: &str) -> Result<Response, Failure> {
        self.exchange_with(method, path, "", body)
    }

    fn exchange_with(
        &mut self,
        method: &str,
        path: &str,
        header: &str,
        body: &str,
    ) -> Result<Response, Failure> {
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
                length = value.context("a response has an invalid Content-Length")?;
            }
            head.push_str(&line);
            head.push('\n');
        }
        let mut body = vec![0; length];
        self.stream
            .read_exact(&mut body)
            .context("cannot read a response")?;
        let body = String::from_utf8(body).context("a response is not UTF-8")?;
        Ok(Response { head, body })
    }

    fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        self.stream
            .read_line(&mut line)
            .context("cannot read a response")?;
        Ok(line.trim_end().to_owned())
    }
}
