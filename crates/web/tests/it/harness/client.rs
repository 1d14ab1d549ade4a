//! A client that rejects responses the API description does not allow.

use serde_json::Value;

use super::http::Raw;
use super::{Api, Connection, Listening, Response, contract};

/// Headers, and where to send them.
#[derive(Clone)]
pub(crate) struct Client<'a> {
    listening: &'a Listening,
    headers: Vec<(String, String)>,
    is_limited: bool,
}

impl<'a> Client<'a> {
    pub(super) const fn new(api: &'a Api) -> Self {
        Self {
            listening: &api.listening,
            headers: Vec::new(),
            is_limited: true,
        }
    }

    /// The same at another listener.
    pub(crate) const fn at(mut self, listening: &'a Listening) -> Self {
        self.listening = listening;
        self
    }

    /// The same for uncounted requests, whose responses have no rate limit headers.
    pub(crate) fn unlimited(mut self) -> Self {
        self.is_limited = false;
        self
    }

    /// The same with one header more.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same without a header.
    pub(crate) fn without(&self, name: &str) -> Self {
        let mut client = self.clone();
        client.headers.retain(|(known, _)| known != name);
        client
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.send("GET", path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Response {
        self.send("POST", path, Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str, body: Option<Value>) -> Response {
        self.send("DELETE", path, body).await
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: Option<Value>) -> Response {
        match body {
            Some(body) => {
                let json = self.clone().header("Content-Type", "application/json");
                json.send_bytes(method, path, body.to_string().as_bytes())
                    .await
            }
            None => self.send_bytes(method, path, b"").await,
        }
    }

    /// Sends raw bytes with the headers of this client and no others.
    pub(crate) async fn send_bytes(&self, method: &str, path: &str, body: &[u8]) -> Response {
        let mut connection = Connection::to(self.listening.port()).await;
        connection
            .send(self.head(method, path, body.len()).as_bytes())
            .await;
        connection.send_while_taken(body).await;
        let response = if method == "HEAD" {
            connection.receive_without_body().await
        } else {
            connection.receive().await
        };
        let response = response.expect("a response");
        self.checked(method, path, response)
    }

    /// The head of a request with a body of this length.
    pub(crate) fn head(&self, method: &str, path: &str, length: usize) -> String {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: id.example.com\r\n");
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if length > 0 {
            head.push_str(&format!("Content-Length: {length}\r\n"));
        }
        head.push_str("\r\n");
        head
    }

    /// The response to a request, after checking that the description allows it.
    pub(crate) fn checked(&self, method: &str, path: &str, raw: Raw) -> Response {
        let response = Response::of(raw);
        contract::check(method, path, &response, self.is_limited);
        response
    }
}
