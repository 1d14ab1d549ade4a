//! The id of a request, which links a response to its log lines.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use actix_web::http::header::{HeaderMap, HeaderName};

pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Maximum length of an id accepted from a caller.
const MAX_LENGTH: usize = 128;

/// The caller's id if it is well-formed, otherwise a generated one.
#[derive(Debug, Clone)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A shared copy of the id.
    pub fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

/// Generates ids that do not repeat. They are names, not secrets, so they use none of the service's entropy.
#[derive(Default)]
pub(crate) struct RequestIds {
    key: RandomState,
    made: AtomicU64,
}

impl RequestIds {
    /// The id of a request with these headers.
    pub(crate) fn of(&self, headers: &HeaderMap) -> RequestId {
        let mut sent = headers.get_all(&HEADER);
        match (
            sent.next().and_then(|value| value.to_str().ok()),
            sent.next(),
        ) {
            (Some(id), None) if is_well_formed(id) => RequestId(id.into()),
            _ => self.fresh(),
        }
    }

    fn fresh(&self) -> RequestId {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let (high, low) = (
            self.key.hash_one((number, 0)),
            self.key.hash_one((number, 1)),
        );
        RequestId(format!("req_{high:016x}{low:016x}").into())
    }
}

fn is_well_formed(id: &str) -> bool {
    (1..=MAX_LENGTH).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}
