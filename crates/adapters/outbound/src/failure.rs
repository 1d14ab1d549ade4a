//! Why a call came to nothing.

use std::error::Error;

/// The client cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum NotSetUp {
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
    /// The client cannot be built.
    #[error("the HTTP client cannot be built")]
    Client(#[source] reqwest::Error),
}

/// A name or a value that cannot stand in a header. Does not repeat it.
#[derive(Debug, thiserror::Error)]
#[error("a header has a name or a value that cannot be sent")]
pub struct BadHeader;

/// Why a call came to nothing. No URL, no header, no body in any of it.
#[derive(Debug, thiserror::Error)]
pub enum OutboundError {
    /// The host is, or leads to, an address that may not be connected to.
    #[error("the host leads to an address that may not be connected to")]
    NotPublic,
    /// `http` to another machine.
    #[error("plain HTTP is spoken within this machine only")]
    InClear,
    /// Neither `http` nor `https`, or without a host.
    #[error("the URL is not one of HTTP")]
    NotHttp,
    /// The whole call took too long.
    #[error("no answer in time")]
    Late,
    /// No connection: the name, the address, or TLS.
    #[error("no connection")]
    Unreachable(#[source] reqwest::Error),
    /// The connection broke, or what came back is not HTTP.
    #[error("the call broke off")]
    Broken(#[source] reqwest::Error),
    /// The body of the answer is larger than it may be.
    #[error("the answer is too large")]
    TooLarge,
}

/// A name leads only where nothing may be connected to. The resolver says it through the library, which hands it back inside an
/// error of its own.
#[derive(Debug, thiserror::Error)]
#[error("the name leads to addresses that may not be connected to")]
pub(crate) struct LeadsInwards;

impl From<reqwest::Error> for OutboundError {
    fn from(error: reqwest::Error) -> Self {
        // The URL can hold an account or a token.
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
