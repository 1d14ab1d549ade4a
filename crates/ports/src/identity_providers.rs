//! Identity providers: authorization URLs, and the exchange of codes for identities.

use std::error::Error;

use vestry_domain::provider::{Connection, EmailStanding, ProvenIdentity, ProviderTokens};
use vestry_domain::{Secret, Timestamp};
use vestry_port_macro::port;

/// A connection and its decrypted secret.
#[derive(Debug, Clone, Copy)]
pub struct ProviderAccess<'a> {
    /// The App's connection; [`Connection::check`] has passed.
    pub connection: &'a Connection,
    /// The client secret; for Apple the private key that signs one (PKCS#8, PEM).
    pub client_secret: &'a Secret<String>,
}

/// The parameters of the authorization URL.
#[derive(Debug, Clone, Copy)]
pub struct AuthorizationRequest<'a> {
    /// The URI that the browser returns to, as registered at the provider.
    pub redirect_uri: &'a str,
    /// The state.
    pub state: &'a Secret<String>,
    /// The nonce that the id token must contain; not sent to providers without id tokens.
    pub nonce: &'a Secret<String>,
    /// PKCE's challenge by the method `S256`, 43 characters.
    pub code_challenge: &'a str,
}

/// The result of the redirect, and the values that it must match.
#[derive(Debug, Clone, Copy)]
pub struct Grant<'a> {
    /// The authorization code.
    pub code: &'a Secret<String>,
    /// `iss` of the callback (RFC 9207), if present.
    pub issuer: Option<&'a str>,
    /// The redirect URI of the [`AuthorizationRequest`].
    pub redirect_uri: &'a str,
    /// The verifier of its challenge.
    pub code_verifier: &'a Secret<String>,
    /// Its nonce.
    pub nonce: &'a Secret<String>,
    /// Apple's `user` field of the posted form: JSON with the name, only at the first sign-in. It is not signed, so only the name may be
    /// used.
    pub user: Option<&'a str>,
    /// The machine's time, regardless of the App's test clock: providers use real time.
    pub now: Timestamp,
}

/// The result of exchanging a code.
#[derive(Debug, Clone)]
pub struct Exchanged {
    /// The identity.
    pub identity: ProvenIdentity,
    /// The tokens that the provider issued for its own API; callers discard them unless the App wants them (O-12).
    pub tokens: ProviderTokens,
    /// The basis of the identity.
    pub evidence: Evidence,
}

/// The basis of an identity, shown to operators who try a connection out.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// The names of the provider's claims about the person.
    pub claims: Vec<String>,
    /// Why the address counts as verified, or does not.
    pub email: EmailStanding,
}

/// The reason that a provider call failed. No variant contains an address, code, token or response of the provider.
#[derive(Debug, thiserror::Error)]
pub enum ProviderFault {
    /// It rejected the code: used, expired, of another sign-in, or without its verifier.
    #[error("the identity provider rejected the code")]
    Refused,
    /// Its response failed validation; names the failed check.
    #[error("invalid response from the identity provider: {0}")]
    Invalid(&'static str),
    /// It cannot be reached, or reports a failure of its own.
    #[error("the identity provider is unavailable")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// The provider or our address filter rejects the connection's configuration: client id, secret, endpoints.
    #[error("the identity provider connection is misconfigured: {0}")]
    Misconfigured(&'static str),
}

/// A part of a provider that sign-ins need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderPart {
    /// The issuer's discovery document.
    Discovery,
    /// The issuer's keys.
    KeySet,
    /// The page that browsers are sent to, which refuses unknown callback URLs.
    SignInPage,
}

/// A part of a provider that was called, and its fault.
#[derive(Debug)]
pub struct CheckedPart {
    /// The part.
    pub part: ProviderPart,
    /// The fault, if it has one.
    pub outcome: Result<(), ProviderFault>,
}

/// Client for identity providers. Never called for [`ProviderKind::Test`](vestry_domain::provider::ProviderKind::Test).
#[port]
pub trait IdentityProviders: Send + Sync {
    /// The provider URL to redirect the browser to. May fetch the issuer's discovery document.
    ///
    /// # Errors
    /// [`ProviderFault::Unavailable`], [`ProviderFault::Misconfigured`] or [`ProviderFault::Invalid`].
    async fn authorization_url(
        &self,
        access: ProviderAccess<'_>,
        request: AuthorizationRequest<'_>,
    ) -> Result<String, ProviderFault>;

    /// Calls what sign-ins need from the provider, and nothing from a cache. Parts that it does not have are left out, as are those that
    /// cannot be found because of an earlier fault. The client secret is not sent.
    async fn check(
        &self,
        connection: &Connection,
        request: AuthorizationRequest<'_>,
    ) -> Vec<CheckedPart>;

    /// Exchanges a code and performs all checks of the protocol (O-3 to O-6).
    ///
    /// They cover the `iss` of the callback, and the signature, issuer, audience, authorized party, times and nonce of an id token.
    ///
    /// # Errors
    /// See [`ProviderFault`].
    async fn exchange(
        &self,
        access: ProviderAccess<'_>,
        grant: Grant<'_>,
    ) -> Result<Exchanged, ProviderFault>;
}
