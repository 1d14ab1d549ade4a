//! An API client, like that of an App's backend.

use std::sync::Once;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};

use super::poll::until;
use super::process::PATIENCE;

/// The API with one key.
#[derive(Clone)]
pub(crate) struct Api {
    http: Client,
    base_url: String,
    key: String,
    idempotency_key: Option<String>,
    session: Option<String>,
}

/// A response.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) body: Value,
}

impl Answer {
    /// The body of a response that must be successful.
    #[track_caller]
    pub(crate) fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        self.body
    }

    /// The code of a response that must be an error.
    #[track_caller]
    pub(crate) fn error(&self, status: u16) -> &str {
        assert_eq!(self.status, status, "{}", self.body);
        self.body["error"]["code"]
            .as_str()
            .expect("an error has a code")
    }
}

/// A client without a base URL that trusts only the PEM certificates in `roots`.
pub(crate) fn http(roots: &[&str]) -> Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        rustls::crypto::aws_lc_rs::default_provider()
            .install_default()
            .unwrap();
    });
    let roots = roots
        .iter()
        .map(|pem| reqwest::Certificate::from_pem(pem.as_bytes()).unwrap());
    Client::builder()
        .timeout(PATIENCE)
        // Shorter than `http.keep_alive`: a request that is sent while the server closes its connection is lost.
        .pool_idle_timeout(Duration::from_secs(60))
        .tls_certs_only(roots)
        // A redirect is a response like any other.
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap()
}

impl Api {
    pub(crate) fn new(base_url: &str, key: &str) -> Self {
        Self::over(http(&[]), base_url, key)
    }

    pub(crate) fn over(http: Client, base_url: &str, key: &str) -> Self {
        Self {
            http,
            base_url: base_url.to_owned(),
            key: key.to_owned(),
            idempotency_key: None,
            session: None,
        }
    }

    /// The same with this `Vestry-Session` on every request.
    pub(crate) fn presenting(&self, session: &str) -> Self {
        Self {
            session: Some(session.to_owned()),
            ..self.clone()
        }
    }

    /// The same with an `Idempotency-Key` on every request.
    pub(crate) fn keyed(&self, key: &str) -> Self {
        Self {
            idempotency_key: Some(key.to_owned()),
            ..self.clone()
        }
    }

    /// The same service with another key.
    pub(crate) fn with_key(&self, key: &str) -> Self {
        Self::over(self.http.clone(), &self.base_url, key)
    }

    /// The same key at another address.
    pub(crate) fn at(&self, base_url: &str) -> Self {
        Self::over(self.http.clone(), base_url, &self.key)
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self
            .http
            .request(method, format!("{}{path}", self.base_url))
            .bearer_auth(&self.key);
        let request = match &self.session {
            Some(session) => request.header("Vestry-Session", session),
            None => request,
        };
        match &self.idempotency_key {
            Some(key) => request.header("Idempotency-Key", key),
            None => request,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        read(self.request(Method::GET, path)).await.unwrap()
    }

    /// Polls until the service is ready. Its readiness check takes at most half a second, which is short on a machine that runs other tests
    /// too.
    pub(crate) async fn until_ready(&self) {
        let ready = until(async || self.get("/readyz").await.status == 200);
        tokio::time::timeout(PATIENCE, ready).await.unwrap();
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.try_post(path, body).await.unwrap()
    }

    /// A POST that may get no response.
    pub(crate) async fn try_post(&self, path: &str, body: &Value) -> reqwest::Result<Answer> {
        read(self.request(Method::POST, path).json(body)).await
    }

    pub(crate) async fn try_get(&self, path: &str) -> reqwest::Result<Answer> {
        read(self.request(Method::GET, path)).await
    }

    /// A PUT. If the server closed an idle connection, there is no response and the same PUT is sent again.
    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        let request = || self.request(Method::PUT, path).json(body);
        let first = read(request()).await;
        let answer = match first {
            Err(error) if error.is_request() && !error.is_timeout() => read(request()).await,
            outcome => outcome,
        };
        answer.unwrap()
    }

    /// A PUT of what still has this `ETag`, which may get no response.
    pub(crate) async fn try_replace(
        &self,
        path: &str,
        etag: &str,
        body: &Value,
    ) -> reqwest::Result<Answer> {
        let request = self.request(Method::PUT, path).json(body);
        read(request.header("If-Match", etag)).await
    }

    pub(crate) async fn delete(&self, path: &str, body: &Value) -> Answer {
        self.try_delete(path, body).await.unwrap()
    }

    pub(crate) async fn try_delete(&self, path: &str, body: &Value) -> reqwest::Result<Answer> {
        read(self.request(Method::DELETE, path).json(body)).await
    }
}

async fn read(request: RequestBuilder) -> reqwest::Result<Answer> {
    let response = request.send().await?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await?;
    let body = serde_json::from_str(&text).unwrap_or(json!(text));
    Ok(Answer {
        status,
        headers,
        text,
        body,
    })
}
