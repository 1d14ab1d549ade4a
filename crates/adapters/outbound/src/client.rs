//! Calls and their responses.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Method, Response, redirect, retry};
use url::Url;
use vestry_domain::Secret;
use vestry_domain::timestamp::Seconds;

use crate::failure::{BadHeader, NotSetUp, OutboundError};
use crate::reach::Reach;
use crate::resolver::Guarded;
use crate::trust;

/// How long an idle connection is kept; servers usually close theirs after a minute.
const IDLE: Duration = Duration::from_secs(30);
const USER_AGENT: &str = concat!("vestry/", env!("CARGO_PKG_VERSION"));

/// Time and size limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Time limit of the connection, including TLS.
    pub connect: Duration,
    /// Time limit of the whole call, up to the last byte of the response.
    pub whole: Duration,
    /// Maximum size of a response body, in bytes.
    pub body: usize,
}

/// The client.
pub struct Outbound {
    client: Client,
    reach: Reach,
    body: usize,
}

/// A call to make.
pub struct Call<'a> {
    method: Method,
    url: Url,
    headers: HeaderMap,
    credentials: Option<Credentials<'a>>,
    body: Option<Vec<u8>>,
}

/// The content of `Authorization`.
enum Credentials<'a> {
    /// User and password (RFC 7617).
    Login(&'a str, &'a Secret<String>),
    /// A bearer token (RFC 6750).
    Bearer(&'a Secret<String>),
}

impl<'a> Call<'a> {
    /// Creates a GET.
    pub fn get(url: Url) -> Self {
        Self::new(Method::GET, url, HeaderMap::new(), None)
    }

    /// Creates a POST of these bytes with these headers, as prepared by a protocol library.
    pub fn post(url: Url, headers: HeaderMap, body: Vec<u8>) -> Self {
        Self::new(Method::POST, url, headers, Some(body))
    }

    /// Creates a POST of these bytes with these headers, by name and value.
    ///
    /// # Errors
    /// [`BadHeader`] if one of them cannot be sent.
    pub fn post_with<'h>(
        url: Url,
        headers: impl IntoIterator<Item = (&'h str, &'h str)>,
        body: Vec<u8>,
    ) -> Result<Self, BadHeader> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_invalid| BadHeader)?;
            let value = HeaderValue::from_str(value).map_err(|_invalid| BadHeader)?;
            map.append(name, value);
        }
        Ok(Self::post(url, map, body))
    }

    /// Creates a POST of a form.
    pub fn post_form(url: Url, fields: &[(&str, &str)]) -> Self {
        let form = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        let content_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, content_type)]);
        Self::post(url, headers, form.into_bytes())
    }

    const fn new(method: Method, url: Url, headers: HeaderMap, body: Option<Vec<u8>>) -> Self {
        Self {
            method,
            url,
            headers,
            credentials: None,
            body,
        }
    }

    /// Adds user and password (RFC 7617).
    #[must_use]
    pub const fn with_login(mut self, user: &'a str, password: &'a Secret<String>) -> Self {
        self.credentials = Some(Credentials::Login(user, password));
        self
    }

    /// Adds a bearer token (RFC 6750).
    #[must_use]
    pub const fn with_bearer(mut self, token: &'a Secret<String>) -> Self {
        self.credentials = Some(Credentials::Bearer(token));
        self
    }

    /// Accepts only JSON in the response.
    #[must_use]
    pub fn wanting_json(mut self) -> Self {
        let json = HeaderValue::from_static("application/json");
        self.headers.insert(ACCEPT, json);
        self
    }
}

/// The response, whatever its status.
pub struct Answer {
    /// The status, 100 to 999.
    pub status: u16,
    /// `Retry-After`, if it is a number of seconds; a date is ignored.
    pub retry_after: Option<Seconds>,
    /// Whether it came from outside: from a public address that is in none of the operator's networks. Also `false` if the address is
    /// unknown.
    pub from_outside: bool,
    /// The body, or its beginning if read by [`Outbound::call_and_cut`].
    pub body: Vec<u8>,
}

/// Prints only the status; a body can contain anything.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answer({})", self.status)
    }
}

impl Outbound {
    /// Creates a client. Nothing is connected yet.
    ///
    /// # Errors
    /// See [`NotSetUp`].
    pub fn new(reach: Reach, limits: Limits) -> Result<Self, NotSetUp> {
        let client = Client::builder()
            .tls_backend_preconfigured(trust::tls().map_err(NotSetUp::Tls)?)
            .dns_resolver(Guarded(reach.clone()))
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .user_agent(USER_AGENT)
            .connect_timeout(limits.connect)
            .timeout(limits.whole)
            .pool_idle_timeout(IDLE)
            .build()
            .map_err(NotSetUp::Client)?;
        Ok(Self {
            client,
            reach,
            body: limits.body,
        })
    }

    /// Makes the call. Every response is returned, even a redirect or a 500.
    ///
    /// # Errors
    /// See [`OutboundError`].
    pub async fn call(&self, call: Call<'_>) -> Result<Answer, OutboundError> {
        let response = self.response_to(call).await?;
        let mut answer = self.head_of(&response);
        answer.body = self.body_of(response).await?;
        Ok(answer)
    }

    /// The same, for a caller that mainly needs the status. Only the beginning of a larger body is read, and the connection is dropped with
    /// the rest.
    ///
    /// # Errors
    /// See [`OutboundError`]; never [`OutboundError::TooLarge`].
    pub async fn call_and_cut(&self, call: Call<'_>) -> Result<Answer, OutboundError> {
        let response = self.response_to(call).await?;
        let mut answer = self.head_of(&response);
        answer.body = self.beginning_of(response).await?;
        Ok(answer)
    }

    async fn response_to(&self, call: Call<'_>) -> Result<Response, OutboundError> {
        self.reach.check(&call.url)?;
        let mut request = self.client.request(call.method, call.url);
        request = request.headers(call.headers);
        request = match call.credentials {
            Some(Credentials::Login(user, password)) => {
                request.basic_auth(user, Some(password.expose()))
            }
            Some(Credentials::Bearer(token)) => request.bearer_auth(token.expose()),
            None => request,
        };
        if let Some(body) = call.body {
            request = request.body(body);
        }
        Ok(request.send().await?)
    }

    /// Returns the response, without its body for now.
    fn head_of(&self, response: &Response) -> Answer {
        let peer = response.remote_addr().as_ref().map(SocketAddr::ip);
        Answer {
            status: response.status().as_u16(),
            retry_after: retry_after(response),
            from_outside: peer.is_some_and(|address| self.reach.is_outside(address)),
            body: Vec::new(),
        }
    }

    async fn body_of(&self, mut response: Response) -> Result<Vec<u8>, OutboundError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            if body.len() + chunk.len() > self.body {
                return Err(OutboundError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    async fn beginning_of(&self, mut response: Response) -> Result<Vec<u8>, OutboundError> {
        let mut body = Vec::new();
        while body.len() < self.body
            && let Some(chunk) = response.chunk().await?
        {
            body.extend_from_slice(&chunk);
        }
        body.truncate(self.body);
        Ok(body)
    }
}

/// Prints only the type name.
impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outbound")
    }
}

fn retry_after(response: &Response) -> Option<Seconds> {
    let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    let seconds: u32 = text.trim().parse().ok()?;
    Some(Seconds(seconds.into()))
}
