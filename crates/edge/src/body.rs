//! Request bodies: size limit, deadline, content type, then deserialization into the handler's type.

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

/// Maximum size of a request body, in bytes (256 KiB).
pub(crate) const MAX_SIZE: usize = 256 * 1024;

/// A required JSON body.
pub struct Body<T>(pub T);

/// A required JSON body together with its text, for fields whose numbers a [`serde_json::Value`] would round.
pub struct BodyAndText<T>(pub T, pub BytesMut);

/// An optional JSON body.
pub struct OptionalBody<T>(pub Option<T>);

type Extraction<T> = Pin<Box<dyn Future<Output = Result<T, Problem>>>>;

impl<T: DeserializeOwned + 'static> FromRequest for Body<T> {
    type Error = Problem;
    type Future = Extraction<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let text = json_text(request, payload);
        Box::pin(async move { Ok(Self(json::from_body(&text.await?.ok_or_else(missing)?)?)) })
    }
}

impl<T: DeserializeOwned + 'static> FromRequest for BodyAndText<T> {
    type Error = Problem;
    type Future = Extraction<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let text = json_text(request, payload);
        Box::pin(async move {
            let text = text.await?.ok_or_else(missing)?;
            Ok(Self(json::from_body(&text)?, text))
        })
    }
}

impl<T: DeserializeOwned + 'static> FromRequest for OptionalBody<T> {
    type Error = Problem;
    type Future = Extraction<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let text = json_text(request, payload);
        Box::pin(async move {
            let text = text.await?;
            Ok(Self(text.map(|text| json::from_body(&text)).transpose()?))
        })
    }
}

fn missing() -> Problem {
    Problem::request("this call requires a JSON object as its body")
}

/// The text of a body that is declared as JSON; `None` if the body is empty.
fn json_text(request: &HttpRequest, payload: &mut Payload) -> Extraction<Option<BytesMut>> {
    let (request, payload) = (request.clone(), payload.take());
    Box::pin(async move {
        let bytes = read(&request, payload).await?;
        if bytes.is_empty() {
            return Ok(None);
        }
        if !is_json(request.headers()) {
            return Err(Problem::new(Code::UnsupportedMediaType));
        }
        Ok(Some(bytes))
    })
}

/// Reads the whole body within its size limit and deadline. The framework limits the time for a request's head, but not for its body.
pub async fn read(request: &HttpRequest, mut payload: Payload) -> Result<BytesMut, Problem> {
    if announced(request.headers()).is_some_and(|length| length > MAX_SIZE) {
        return Err(Problem::new(Code::BodyTooLarge).close_connection());
    }
    let state = request
        .app_data::<Data<State>>()
        .ok_or_else(|| Problem::internal("no State in the application data"))?;
    let whole = async {
        let mut bytes = BytesMut::new();
        while let Some(chunk) = payload.next().await {
            let chunk = chunk.map_err(|_broken| {
                Problem::request("the body was truncated or could not be read").close_connection()
            })?;
            if bytes.len() + chunk.len() > MAX_SIZE {
                return Err(Problem::new(Code::BodyTooLarge).close_connection());
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    };
    match tokio::time::timeout(state.settings.read_deadline, whole).await {
        Ok(body) => body,
        // The error table has no 408, because it invites clients to repeat the request unchanged.
        Err(_elapsed) => {
            Err(Problem::request("the body did not arrive in time").close_connection())
        }
    }
}

/// The value of `Content-Length`, if present. The framework has already rejected malformed and repeated ones.
fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Whether the content type is `application/json`, in UTF-8 if a charset is given, without compression.
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
