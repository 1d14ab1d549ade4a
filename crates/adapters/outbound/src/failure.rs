//! Why a call failed.

use std::error::Error;

/// Why the client cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum NotSetUp {
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
    /// The client cannot be built.
    #[error("the HTTP client cannot be built")]
    Client(#[source] reqwest::Error),
}

/// A name or a value that is not allowed in a header. Does not repeat it.
#[derive(Debug, thiserror::Error)]
#[error("a header has an invalid name or value")]
pub struct BadHeader;

/// Why a call failed. Contains no URL, no header and no body.
#[derive(Debug, thiserror::Error)]
pub enum OutboundError {
    /// The host is, or resolves to, a forbidden address.
    #[error("the host leads to an address that may not be connected to")]
    NotPublic,
    /// `http` to another machine.
    #[error("plain HTTP is allowed only within this machine")]
    InClear,
    /// Neither `http` nor `https`, or without a host.
    #[error("the URL is not an HTTP URL")]
    NotHttp,
    /// The call timed out.
    #[error("no answer in time")]
    Late,
    /// No connection: the name, the address, or TLS.
    #[error("no connection")]
    Unreachable(#[source] reqwest::Error),
    /// The connection was lost, or the response is not HTTP.
    #[error("the connection was lost during the call")]
    Broken(#[source] reqwest::Error),
    /// The response body exceeds the limit.
    #[error("the response is too large")]
    TooLarge,
}

/// All addresses of a name are forbidden. The resolver reports it through the library, which returns it inside an error of its own.
#[derive(Debug, thiserror::Error)]
#[error("the name resolves only to forbidden addresses")]
pub(crate) struct LeadsInwards;

impl From<reqwest::Error> for OutboundError {
    fn from(error: reqwest::Error) -> Self {
        // The URL can contain an account or a token.
        let error = error.without_url();
        if leads_inwards(&error) {
            Self::NotPublic
        } else if error.is_timeout() {
            Self::Late
        } else if error.is_connect() {
            Self::Unreachable(error)
        } else {
            Self::Broken(error)
        }
    }
}

fn leads_inwards(error: &reqwest::Error) -> bool {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if inner.is::<LeadsInwards>() {
            return true;
        }
        cause = inner.source();
    }
    false
}
