//! URLs of webhook endpoints.

use url::Url;

use crate::{Environment, Invalid};

const MAX_LENGTH: usize = 2048;

/// The URL of an endpoint: `https`, without user information or a fragment. Test worlds also allow `http`. The address that its host
/// resolves to is checked on every attempt, not here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointUrl(Url);

impl EndpointUrl {
    /// Checks the URL of an endpoint.
    ///
    /// # Errors
    /// The violated rule; names `url`.
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
                    "url must start with https://; http is only allowed in test environments",
                ));
            }
            _ => return Err(invalid("url must start with https://")),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid(
                "url must not contain a user or password; verify the signature of requests instead",
            ));
        }
        if url.fragment().is_some() {
            return Err(invalid(
                "url must not contain a fragment; fragments are never sent",
            ));
        }
        if url.as_str().len() > MAX_LENGTH {
            return Err(invalid("url must have at most 2048 characters"));
        }
        Ok(Self(url))
    }

    /// The URL as stored and shown.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The parsed URL, for HTTP clients.
    pub const fn url(&self) -> &Url {
        &self.0
    }
}
