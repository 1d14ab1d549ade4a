//! An API client like an App's backend.

use std::time::Duration;

use reqwest::{Client, Method, Response};
use serde_json::Value;

use crate::Failure;

/// How long an idle connection is reused. The service closes it after five seconds, and a request sent at that moment gets no response.
const IDLE: Duration = Duration::from_secs(2);

/// How often a call with a key is made before a 503 counts as a failure, and the pause between attempts.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(500);

/// The API with one key; connections are kept open.
#[derive(Clone)]
pub(crate) struct Api {
    http: Client,
    base_url: String,
    key: String,
}

/// A call that can be made at any time.
#[derive(Clone)]
pub(crate) struct Call {
    method: Method,
    path: String,
    body: Option<Value>,
    /// Sent as `Idempotency-Key`.
    key: Option<String>,
}

impl Call {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path, None)
    }

    pub(crate) fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path, None)
    }

    pub(crate) fn post(path: impl Into<String>, body: Value) -> Self {
        Self::new(Method::POST, path, Some(body))
    }

    pub(crate) fn put(path: impl Into<String>, body: Value) -> Self {
        Self::new(Method::PUT, path, Some(body))
    }

    pub(crate) fn delete_with(path: impl Into<String>, body: Value) -> Self {
        Self::new(Method::DELETE, path, Some(body))
    }

    fn new(method: Method, path: impl Into<String>, body: Option<Value>) -> Self {
        Self {
            method,
            path: path.into(),
            body,
            key: None,
        }
    }

    /// Makes the call idempotent: with its own key, it can be repeated if a busy service rejects it.
    pub(crate) fn once(self, key: String) -> Self {
        Self {
            key: Some(key),
            ..self
        }
    }
}

impl Api {
    pub(crate) fn new(base_url: &str, key: &str) -> Result<Self, Failure> {
        Ok(Self {
            http: Client::builder()
                .tls_certs_only([])
                .pool_idle_timeout(IDLE)
                .build()?,
            base_url: base_url.to_owned(),
            key: key.to_owned(),
        })
    }

    /// The service's URL and the key.
    pub(crate) fn place(&self) -> (&str, &str) {
        (&self.base_url, &self.key)
    }

    /// The body of the response, or `null` if it is not JSON.
    ///
    /// Any status but 200 is a failure. A 503 is retried if the call has a key.
    pub(crate) async fn make(&self, call: Call) -> Result<Value, Failure> {
        let path = call.path.clone();
        let mut tries = 1;
        let (status, text) = loop {
            let answer = self.send(call.clone()).await?;
            let (status, text) = (answer.status(), answer.text().await?);
            if status != 503 || call.key.is_none() || tries == TRIES {
                break (status, text);
            }
            tries += 1;
            tokio::time::sleep(PAUSE).await;
        };
        if status != 200 {
            return Err(format!("{path} returned {status}: {text}").into());
        }
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    /// The status of the response, whatever it is.
    pub(crate) async fn status(&self, call: Call) -> Result<u16, Failure> {
        let answer = self.send(call).await?;
        let status = answer.status().as_u16();
        // Read completely, so that the connection can be reused.
        answer.bytes().await?;
        Ok(status)
    }

    async fn send(&self, call: Call) -> Result<Response, Failure> {
        let url = format!("{}{}", self.base_url, call.path);
        let mut request = self.http.request(call.method, url).bearer_auth(&self.key);
        if let Some(key) = &call.key {
            request = request.header("Idempotency-Key", key);
        }
        if let Some(body) = &call.body {
            request = request.json(body);
        }
        Ok(request.send().await?)
    }
}

/// The text at a JSON pointer.
pub(crate) fn text(value: &Value, pointer: &str) -> Result<String, Failure> {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found
        .map(str::to_owned)
        .ok_or_else(|| format!("the response has no text at {pointer}").into())
}
