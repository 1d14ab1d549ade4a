//! Where events are sent.

use url::Url;

use crate::{Environment, Invalid};

const MAX_LENGTH: usize = 2048;

/// The URL of an endpoint: `https`, without a user and without a fragment; in test worlds `http` as well. Where its host leads is
/// looked at for every attempt, and not here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointUrl(Url);

impl EndpointUrl {
    /// Checks what somebody wants to have events sent to.
    ///
    /// # Errors
    /// Which rule it breaks; names `url`.
    pub fn parse(text: &str, environment: Environment) -> Result<Self, Invalid> {
        let invalid = |message: &'static str| Invalid::value("url", message);
        if text.len() > MAX_LENGTH {
            return Err(invalid("url must have at most 2048 characters"));
        }
        let url = Url::parse(text)
            .map_err(|_error| invalid("url must be a URL such as https://example.com/events"))?;
        match (url.scheme(), environment) {
            ("https", _) | ("http", Environment::Test) => {}
            ("http", Environment::Live) => {
                return Err(invalid(
                    "url must begin with https://; http is for test environments only",
                ));
            }
            _ => return Err(invalid("url must begin with https://")),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid(
                "url must not have a user or a password; check the signature of what arrives",
            ));
        }
        if url.fragment().is_some() {
            return Err(invalid("url must not have a fragment, which is never sent"));
        }
        if url.as_str().len() > MAX_LENGTH {
            return Err(invalid("url must have at most 2048 characters"));
        }
        Ok(Self(url))
    }

    /// As it is stored and shown.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// As a client takes it.
    pub const fn url(&self) -> &Url {
        &self.0
    }
}
