//! Identity providers: where a browser is sent, and whom a code stands for.

use std::error::Error;

use vestry_domain::provider::{Connection, ProvenIdentity, ProviderTokens};
use vestry_domain::{Secret, Timestamp};
use vestry_port_macro::port;

/// A connection and its secret, opened.
#[derive(Debug, Clone, Copy)]
pub struct ProviderAccess<'a> {
    /// What the App has set; [`Connection::check`] has passed.
    pub connection: &'a Connection,
    /// The client secret; for Apple the private key that signs one (PKCS#8, PEM).
    pub client_secret: &'a Secret<String>,
}

/// What goes into the address at the provider.
#[derive(Debug, Clone, Copy)]
pub struct AuthorizationRequest<'a> {
    /// Where the browser comes back to, as it is registered at the provider.
    pub redirect_uri: &'a str,
    /// The state.
    pub state: &'a Secret<String>,
    /// What the id token shall carry; providers without id tokens are not told.
    pub nonce: &'a Secret<String>,
    /// PKCE's challenge by the method `S256`, 43 characters.
    pub code_challenge: &'a str,
}

/// What came back, and what it must fit.
#[derive(Debug, Clone, Copy)]
pub struct Grant<'a> {
    /// The authorization code.
    pub code: &'a Secret<String>,
    /// `iss` of the callback (RFC 9207), when there was one.
    pub issuer: Option<&'a str>,
    /// The one of the [`AuthorizationRequest`].
    pub redirect_uri: &'a str,
    /// The verifier of its challenge.
    pub code_verifier: &'a Secret<String>,
    /// Its nonce.
    pub nonce: &'a Secret<String>,
    /// Apple's `user` field of the posted form: JSON with the name, at the first sign-in only. Not signed, so nothing but the
    /// name may be taken from it.
    pub user: Option<&'a str>,
    /// The time of the machine, whatever test clock the App has: providers live in it.
    pub now: Timestamp,
}

/// Whom a code stands for.
#[derive(Debug, Clone)]
pub struct Exchanged {
    /// Who.
    pub identity: ProvenIdentity,
    /// What the provider issued for its own API; callers drop it unless the App wants it (O-12).
    pub tokens: ProviderTokens,
}

/// Why a provider was of no use. No address, code, token or answer of it in any of them.
#[derive(Debug, thiserror::Error)]
pub enum ProviderFault {
    /// It does not accept the code: used, expired, of somebody else, or without its verifier.
    #[error("the identity provider did not accept the code")]
    Refused,
    /// What it answered does not hold; names the check that failed.
    #[error("the identity provider's answer was refused: {0}")]
    Invalid(&'static str),
    /// It cannot be reached, or fails itself.
    #[error("the identity provider is not available")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// It, or the address guard, refuses the connection as it is set: client id, secret, endpoints.
    #[error("the connection to the identity provider is not set up right: {0}")]
    Misconfigured(&'static str),
}

/// Speaks to identity providers. Never asked about [`ProviderKind::Test`](vestry_domain::provider::ProviderKind::Test).
#[port]
pub trait IdentityProviders: Send + Sync {
    /// The address at the provider to which a browser is sent. May fetch the issuer's discovery document.
    ///
    /// # Errors
    /// [`ProviderFault::Unavailable`], [`ProviderFault::Misconfigured`] or [`ProviderFault::Invalid`].
    async fn authorization_url(
        &self,
        access: ProviderAccess<'_>,
        request: AuthorizationRequest<'_>,
    ) -> Result<String, ProviderFault>;

    /// Exchanges a code and checks everything that the protocol asks: the `iss` of the callback, and of an id token
    /// signature, issuer, audience, authorized party, times and nonce (O-3 to O-6).
    ///
    /// # Errors
    /// See [`ProviderFault`].
    async fn exchange(
        &self,
        access: ProviderAccess<'_>,
        grant: Grant<'_>,
    ) -> Result<Exchanged, ProviderFault>;
}
