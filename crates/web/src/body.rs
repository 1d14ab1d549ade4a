//! Request bodies: how large, how long, of what kind, and then the type that a handler asks for.

use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use actix_web::web::{BytesMut, Data};
use actix_web::{FromRequest, HttpRequest};
use futures_util::StreamExt;
use serde::de::DeserializeOwned;

use crate::json;
use crate::problem::{Code, Problem};
use crate::state::State;

/// Most bytes of a request body (256 KiB).
pub(crate) const MOST: usize = 256 * 1024;

/// A JSON body that must be there.
pub(crate) struct Body<T>(pub(crate) T);

/// A JSON body that must be there, and its text. For fields whose numbers a [`serde_json::Value`] would round.
pub(crate) struct BodyAndText<T>(pub(crate) T, pub(crate) BytesMut);

/// A JSON body, or none.
pub(crate) struct OptionalBody<T>(pub(crate) Option<T>);

type Extraction<T> = Pin<Box<dyn Future<Output = Result<T, Problem>>>>;

impl<T: DeserializeOwned + 'static> FromRequest for Body<T> {
    type Error = Problem;
    type Future = Extraction<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let body = OptionalBody::from_request(request, payload);
        Box::pin(async move {
            let OptionalBody(body) = body.await?;
            body.map(Self).ok_or_else(missing)
        })
    }
}

impl<T: DeserializeOwned + 'static> FromRequest for BodyAndText<T> {
    type Error = Problem;
    type Future = Extraction<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let text = read_json(&request, payload).await?.ok_or_else(missing)?;
            Ok(Self(json::from_body(&text)?, text))
        })
    }
}

impl<T: DeserializeOwned + 'static> FromRequest for OptionalBody<T> {
    type Error = Problem;
    type Future = Extraction<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let text = read_json(&request, payload).await?;
            Ok(Self(text.map(|text| json::from_body(&text)).transpose()?))
        })
    }
}

fn missing() -> Problem {
    Problem::request("this call needs a JSON object as its body")
}

/// The text of a body that says that it is JSON. None for an empty body.
async fn read_json(request: &HttpRequest, payload: Payload) -> Result<Option<BytesMut>, Problem> {
    let bytes = read(request, payload).await?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if !is_json(request.headers()) {
        return Err(Problem::new(Code::UnsupportedMediaType));
    }
    Ok(Some(bytes))
}

/// Reads all of the body, within its size and its time. The framework limits how long a head may take, not a body.
pub(crate) async fn read(request: &HttpRequest, mut payload: Payload) -> Result<BytesMut, Problem> {
    if announced(request.headers()).is_some_and(|length| length > MOST) {
        return Err(Problem::new(Code::BodyTooLarge).closing());
    }
    let state = request
        .app_data::<Data<State>>()
        .ok_or_else(|| Problem::internal("the edge has no state"))?;
    let whole = async {
        let mut bytes = BytesMut::new();
        while let Some(chunk) = payload.next().await {
            let chunk = chunk.map_err(|_broken| {
                Problem::request("the body ended early or cannot be read").closing()
            })?;
            if bytes.len() + chunk.len() > MOST {
                return Err(Problem::new(Code::BodyTooLarge).closing());
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    };
    match tokio::time::timeout(state.settings.read_deadline, whole).await {
        Ok(body) => body,
        // The table has no 408: it invites clients to repeat the request as it was.
        Err(_elapsed) => Err(Problem::request("the body did not arrive in time").closing()),
    }
}

/// `Content-Length`, where there is one; the framework has refused malformed and double ones.
fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// `application/json`, in UTF-8 if it says anything about that, and not compressed.
fn is_json(headers: &HeaderMap) -> bool {
    let plain = headers
        .get(CONTENT_ENCODING)
        .is_none_or(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"));
    let mut sent = headers.get_all(CONTENT_TYPE);
    let (Some(kind), None) = (sent.next(), sent.next()) else {
        return false;
    };
    plain && kind.to_str().is_ok_and(is_json_type)
}

fn is_json_type(kind: &str) -> bool {
    let mut parts = kind.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    let charset_fits = |part: &str| match part.split_once('=') {
        Some((name, charset)) if name.trim().eq_ignore_ascii_case("charset") => charset
            .trim()
            .trim_matches('"')
            .eq_ignore_ascii_case("utf-8"),
        _ => true,
    };
    essence.eq_ignore_ascii_case("application/json") && parts.all(charset_fits)
}

#[cfg(test)]
mod tests;
