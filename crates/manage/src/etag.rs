//! `ETag` and `If-Match` (RFC 9110, sections 8.8.3 and 13.1.1): a change is made only to the state that its author has seen.

use std::future::{Ready, ready};
use std::sync::{Arc, Mutex, PoisonError};

use actix_web::dev::Payload;
use actix_web::http::header::{ETAG, IF_MATCH};
use actix_web::{FromRequest, HttpRequest, HttpResponse, HttpResponseBuilder};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use vestry_app::Refusal;
use vestry_edge::{Code, Problem};

/// Bytes of the hash in an `ETag`.
const LENGTH: usize = 16;
/// Fields that differ although the object has not changed: those about its use, and secrets that are shown once. Whether a webhook endpoint
/// is disabled is in `disabled_reason` too.
const NOT_HASHED: [&str; 7] = [
    "last_used_at",
    "last_uses",
    "last_success_at",
    "failing_since",
    "state",
    "key",
    "secret",
];

/// The strong `ETag` of an object: the first 128 bits of SHA-256 over it as returned, without [`NOT_HASHED`].
fn etag(object: &Value) -> String {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|name, _| !NOT_HASHED.contains(&name.as_str()));
    }
    let digest = Sha256::digest(object.to_string());
    format!(
        "\"{}\"",
        hex::encode(digest.get(..LENGTH).unwrap_or_default())
    )
}

/// Responds with an object and its `ETag`.
pub(crate) fn object(view: &impl Serialize) -> Result<HttpResponse, Problem> {
    respond(HttpResponse::Ok(), view)
}

/// The same for an object that was just created.
pub(crate) fn created(view: &impl Serialize) -> Result<HttpResponse, Problem> {
    respond(HttpResponse::Created(), view)
}

/// Responds with something about an object, and the `ETag` of the object.
pub(crate) fn object_of(
    view: &impl Serialize,
    object: &impl Serialize,
) -> Result<HttpResponse, Problem> {
    let tag = etag(&value(object)?);
    Ok(HttpResponse::Ok()
        .insert_header((ETAG, tag))
        .json(value(view)?))
}

fn respond(
    mut response: HttpResponseBuilder,
    view: &impl Serialize,
) -> Result<HttpResponse, Problem> {
    let object = value(view)?;
    Ok(response.insert_header((ETAG, etag(&object))).json(object))
}

/// Responds with a list, whose name is that of its only field.
pub(crate) fn list(name: &str, views: &impl Serialize) -> Result<HttpResponse, Problem> {
    let mut body = serde_json::Map::new();
    body.insert(name.to_owned(), value(views)?);
    Ok(HttpResponse::Ok().json(Value::Object(body)))
}

fn value(view: &impl Serialize) -> Result<Value, Problem> {
    serde_json::to_value(view).map_err(Problem::internal)
}

/// The `If-Match` of a request. The use case compares it after it has checked the rights of the key, under the lock of the object.
pub(crate) struct IfMatch {
    /// The `ETag` that was sent. A list, a weak one or `*` is kept as it is and matches nothing.
    sent: Option<String>,
    /// The `ETag` that it was compared with.
    current: Mutex<Option<String>>,
}

impl FromRequest for IfMatch {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _payload: &mut Payload) -> Self::Future {
        let mut sent = request.headers().get_all(IF_MATCH);
        let sent = match (sent.next(), sent.next()) {
            (None, _) => None,
            (Some(etag), None) => Some(etag.to_str().unwrap_or_default().to_owned()),
            (Some(_), Some(_)) => Some(String::new()),
        };
        ready(Ok(Self {
            sent,
            current: Mutex::default(),
        }))
    }
}

impl IfMatch {
    /// Shares it with a use case.
    pub(crate) fn shared(self) -> Arc<Self> {
        Arc::new(self)
    }

    /// Whether the object is in the state that the caller has seen.
    pub(crate) fn holds_for(&self, view: &impl Serialize) -> bool {
        let current = value(view).ok().map(|object| etag(&object));
        let holds = current.is_some() && current == self.sent;
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = current;
        holds
    }

    /// Whether none was sent, as for an object that is to be created.
    pub(crate) const fn is_absent(&self) -> bool {
        self.sent.is_none()
    }

    /// The error of a refused change: 428 without an `If-Match`, 412 with another one than the current `ETag`, which the response has.
    pub(crate) fn refused(&self, refusal: Refusal) -> Problem {
        match refusal {
            Refusal::PreconditionFailed if self.is_absent() => {
                Problem::new(Code::PreconditionRequired)
            }
            Refusal::PreconditionFailed => {
                let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
                Problem::precondition_failed(current.clone())
            }
            refusal => refusal.into(),
        }
    }
}
