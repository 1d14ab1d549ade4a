//! Asking providers, and what it means when they do not answer.

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

/// Why there is no answer to work with. Nothing of an answer's body.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    /// A status other than the one that was due.
    #[error("the provider answered {0}")]
    Status(u16),
    /// A body that is not the JSON that was due.
    #[error("the provider's answer has another form")]
    Form,
    /// No answer at all.
    #[error("the provider gave no answer")]
    Call(#[from] OutboundError),
}

/// What failures mean for a document that is due at an address.
pub(crate) struct Document {
    /// The address is wrong, or this client may not read it.
    pub(crate) refused: &'static str,
    /// It is something else.
    pub(crate) malformed: &'static str,
}

impl NoAnswer {
    /// What it means where this document was due.
    pub(crate) fn fault(self, document: &Document) -> ProviderFault {
        match self {
            Self::Form => ProviderFault::Invalid(document.malformed),
            Self::Status(300..=399) => {
                ProviderFault::Invalid("it redirects where it should answer")
            }
            Self::Status(status) if !is_outage(status) => {
                ProviderFault::Misconfigured(document.refused)
            }
            Self::Call(error) => of_call(error),
            Self::Status(_) => ProviderFault::Unavailable(Box::new(self)),
        }
    }
}

/// What it means that a call came to nothing.
fn of_call(error: OutboundError) -> ProviderFault {
    match error {
        OutboundError::NotPublic => ProviderFault::Misconfigured(
            "an endpoint leads to a network that this service does not call",
        ),
        OutboundError::InClear | OutboundError::NotHttp => {
            ProviderFault::Misconfigured("an endpoint is not https")
        }
        OutboundError::TooLarge => ProviderFault::Invalid("its answer is too large"),
        OutboundError::Late | OutboundError::Unreachable(_) | OutboundError::Broken(_) => {
            ProviderFault::Unavailable(Box::new(error))
        }
    }
}

/// Whether a status says that the provider is unwell or busy, rather than something about the request.
const fn is_outage(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..)
}

/// The one client, as this crate and the library of OAuth 2.0 use it.
pub(crate) struct Fetcher(pub(crate) Outbound);

impl Fetcher {
    /// The JSON at an address; with an access token when there is one.
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

    /// The JSON object at an address, which anybody may read. By way of a map, so that an array of the members in their order is
    /// not an object.
    pub(crate) async fn object<T: DeserializeOwned>(&self, url: Url) -> Result<T, NoAnswer> {
        let members: Map<String, Value> = self.json(url, None).await?;
        T::deserialize(Value::Object(members)).map_err(|_form| NoAnswer::Form)
    }

    async fn post(&self, request: HttpRequest) -> Result<HttpResponse, NoAnswer> {
        let (parts, body) = request.into_parts();
        let url = Url::parse(&parts.uri.to_string()).map_err(|_no_url| NoAnswer::Form)?;
        let answer = self.0.call(Call::post(url, parts.headers, body)).await?;
        if is_outage(answer.status) || (300..400).contains(&answer.status) {
            return Err(NoAnswer::Status(answer.status));
        }
        // The library reads the first value and passes over what comes behind it.
        serde_json::from_slice::<IgnoredAny>(&answer.body).map_err(|_form| NoAnswer::Form)?;
        let answer = Answer {
            body: needed(&answer.body)?,
            ..answer
        };
        response(answer).ok_or(NoAnswer::Form)
    }
}

/// The members of a token response or an error response that are used (RFC 6749 5.1 and 5.2, OpenID Connect Core 3.1.3.3).
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

/// A body of the token endpoint without the members that are not used. Providers write them in forms of their own: `expires_in`
/// as text or with a fraction, `scope` as a list. The library would refuse the whole response for them.
fn needed(body: &[u8]) -> Result<Vec<u8>, NoAnswer> {
    // The derived reader would take an array of the members in their order for an object.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(NoAnswer::Form);
    }
    let mut needed: Needed = serde_json::from_slice(body).map_err(|_form| NoAnswer::Form)?;
    for optional in [&mut needed.refresh_token, &mut needed.id_token] {
        *optional = optional.take().filter(Value::is_string);
    }
    serde_json::to_vec(&needed).map_err(|_form| NoAnswer::Form)
}

/// As the library wants it. It reads nothing but status and body, and of the headers the type of the body, which we have it take
/// for JSON.
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
