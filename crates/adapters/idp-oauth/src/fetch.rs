//! Requests to providers, and classification of their failures.

use std::pin::Pin;

use oauth2::http::{Response, StatusCode};
use oauth2::{AsyncHttpClient, HttpRequest, HttpResponse};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;
use vestry_domain::Secret;
use vestry_outbound::{Answer, Call, Outbound, OutboundError};
use vestry_ports::identity_providers::ProviderFault;

/// Why there is no usable response. Never contains any part of a response body.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    /// An unexpected status.
    #[error("the provider returned status {0}")]
    Status(u16),
    /// A body that is not the expected JSON.
    #[error("the provider's response has an unexpected format")]
    Form,
    /// No response at all.
    #[error("the provider did not respond")]
    Call(#[from] OutboundError),
}

/// Error texts for a document that is expected at an address.
pub(crate) struct Document {
    /// If the address is wrong, or this client is not allowed to read it.
    pub(crate) refused: &'static str,
    /// If it is something else.
    pub(crate) malformed: &'static str,
}

impl NoAnswer {
    /// Classifies the failure, given the expected document.
    pub(crate) fn fault(self, document: &Document) -> ProviderFault {
        match self {
            Self::Form => ProviderFault::Invalid(document.malformed),
            Self::Status(300..=399) => ProviderFault::Invalid("unexpected redirect"),
            Self::Status(status) if !is_outage(status) => {
                ProviderFault::Misconfigured(document.refused)
            }
            Self::Call(error) => of_call(error),
            Self::Status(_) => ProviderFault::Unavailable(Box::new(self)),
        }
    }
}

/// Classifies a failed call.
fn of_call(error: OutboundError) -> ProviderFault {
    match error {
        OutboundError::NotPublic => {
            ProviderFault::Misconfigured("an endpoint resolves to a network that is not allowed")
        }
        OutboundError::InClear | OutboundError::NotHttp => {
            ProviderFault::Misconfigured("an endpoint is not https")
        }
        OutboundError::TooLarge => ProviderFault::Invalid("its response is too large"),
        OutboundError::Late | OutboundError::Unreachable(_) | OutboundError::Broken(_) => {
            ProviderFault::Unavailable(Box::new(error))
        }
    }
}

/// Whether a status means that the provider is down or busy, not that the request is wrong.
const fn is_outage(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..)
}

/// The shared HTTP client, as used by this crate and by the OAuth 2.0 library.
pub(crate) struct Fetcher(pub(crate) Outbound);

impl Fetcher {
    /// Fetches the JSON at an address, with an access token if given.
    pub(crate) async fn json<T: DeserializeOwned>(
        &self,
        url: Url,
        token: Option<&Secret<String>>,
    ) -> Result<T, NoAnswer> {
        let mut call = Call::get(url).wanting_json();
        if let Some(token) = token {
            call = call.with_bearer(token);
        }
        let answer = self.0.call(call).await?;
        if answer.status != 200 {
            return Err(NoAnswer::Status(answer.status));
        }
        serde_json::from_slice(&answer.body).map_err(|_form| NoAnswer::Form)
    }

    /// Fetches the public JSON object at an address. It is parsed as a map first, so that an array of the members in order is not accepted
    /// as an object.
    pub(crate) async fn object<T: DeserializeOwned>(&self, url: Url) -> Result<T, NoAnswer> {
        let members: Map<String, Value> = self.json(url, None).await?;
        T::deserialize(Value::Object(members)).map_err(|_form| NoAnswer::Form)
    }

    /// Calls the page that browsers are sent to. It refuses an unknown client id or redirect URI without a redirect (RFC 6749 4.1.2.1).
    /// Providers that sign the user in first do so only afterwards.
    pub(crate) async fn sign_in_page(&self, url: Url) -> Result<(), ProviderFault> {
        const PAGE: Document = Document {
            refused: "its sign-in page refused the client id or the callback URL",
            malformed: "its sign-in page is malformed",
        };
        let answer = self.0.call_and_cut(Call::get(url)).await.map_err(of_call)?;
        match answer.status {
            200..=399 => Ok(()),
            status => Err(NoAnswer::Status(status).fault(&PAGE)),
        }
    }

    async fn post(&self, request: HttpRequest) -> Result<HttpResponse, NoAnswer> {
        let (parts, body) = request.into_parts();
        let url = Url::parse(&parts.uri.to_string()).map_err(|_no_url| NoAnswer::Form)?;
        let answer = self.0.call(Call::post(url, parts.headers, body)).await?;
        if is_outage(answer.status) || (300..400).contains(&answer.status) {
            return Err(NoAnswer::Status(answer.status));
        }
        // The library reads the first value and ignores anything after it.
        serde_json::from_slice::<IgnoredAny>(&answer.body).map_err(|_form| NoAnswer::Form)?;
        let answer = Answer {
            body: needed(&answer.body)?,
            ..answer
        };
        response(answer).ok_or(NoAnswer::Form)
    }
}

/// The members in use of a token response or an error response (RFC 6749 5.1 and 5.2, OpenID Connect Core 3.1.3.3).
#[derive(Deserialize, Serialize)]
struct Needed {
    #[serde(skip_serializing_if = "Option::is_none")]
    access_token: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_type: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_token: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

/// Strips unused members from a response of the token endpoint. Some providers use their own formats: `expires_in` as text or with a
/// fraction, `scope` as a list. The library would refuse the whole response because of them.
fn needed(body: &[u8]) -> Result<Vec<u8>, NoAnswer> {
    // The derived deserializer would accept an array of the members in order as an object.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(NoAnswer::Form);
    }
    let mut needed: Needed = serde_json::from_slice(body).map_err(|_form| NoAnswer::Form)?;
    for optional in [&mut needed.refresh_token, &mut needed.id_token] {
        *optional = optional.take().filter(Value::is_string);
    }
    serde_json::to_vec(&needed).map_err(|_form| NoAnswer::Form)
}

/// Converts the response for the library. It reads only the status, the body, and the content type, which we always set to JSON.
fn response(answer: Answer) -> Option<HttpResponse> {
    let mut response = Response::new(answer.body);
    *response.status_mut() = StatusCode::from_u16(answer.status).ok()?;
    Some(response)
}

impl<'c> AsyncHttpClient<'c> for Fetcher {
    type Error = NoAnswer;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, NoAnswer>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.post(request))
    }
}
