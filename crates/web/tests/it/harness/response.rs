//! The response of a call.

/// Compares status and body of a response with an inline snapshot, once for each database that a test runs on.
macro_rules! assert_response_snapshot {
    ($response:expr, @$snapshot:literal) => {
        insta::allow_duplicates! { insta::assert_json_snapshot!($response.shown(), @$snapshot) }
    };
}
pub(crate) use assert_response_snapshot;

use serde_json::{Value, json};

use super::http::Raw;
use super::mask;

/// A response that conforms to the API description.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) text: String,
    /// The body, if it is JSON.
    pub(crate) body: Value,
}

impl Response {
    pub(crate) fn of(raw: Raw) -> Self {
        let text = String::from_utf8(raw.body).unwrap();
        let body = serde_json::from_str(&text).unwrap_or_default();
        Self {
            status: raw.status,
            headers: raw.headers,
            text,
            body,
        }
    }

    /// The value of a header that occurs at most once.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(known, _)| known == name);
        let value = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "two headers {name}");
        value
    }

    /// Whether a header or the body contains these words.
    pub(crate) fn contains(&self, words: &str) -> bool {
        let mut values = self.headers.iter().map(|(_, value)| value);
        self.text.contains(words) || values.any(|value| value.contains(words))
    }

    /// The same response, which must be a success.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.status, 200, "{}", self.text);
        self
    }

    /// A string in the body.
    #[track_caller]
    pub(crate) fn text_at(&self, pointer: &str) -> String {
        let found = self.body.pointer(pointer).and_then(Value::as_str);
        found
            .unwrap_or_else(|| panic!("no string at {pointer}: {}", self.text))
            .to_owned()
    }

    /// Asserts that the refusal is this one, for this field or resource.
    #[track_caller]
    pub(crate) fn refuses(&self, status: u16, code: &str, param: Option<&str>) {
        let found = (self.status, self.code(), self.param());
        assert_eq!(found, (status, code, param), "{}", self.text);
    }

    pub(crate) fn code(&self) -> &str {
        self.body
            .pointer("/error/code")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    pub(crate) fn param(&self) -> Option<&str> {
        self.body.pointer("/error/param").and_then(Value::as_str)
    }

    /// Status and body for a snapshot, with random values replaced by their form.
    pub(crate) fn shown(&self) -> Value {
        json!({ "body": mask::masked(&self.body), "status": self.status })
    }
}
