//! The endpoints of a connection: set by the App, known in advance, or discovered.

use url::{Host, Url};
use vestry_domain::provider::{Connection, ConnectionSettings, TokenEndpointAuth};
use vestry_ports::identity_providers::ProviderFault;

use crate::discovery::{self, Discovery};
use crate::issuer::Issuer;
use crate::known::Plain;

/// The endpoints of one provider.
#[derive(Debug)]
pub(crate) struct Endpoints {
    pub(crate) authorization: Url,
    pub(crate) token: Url,
    pub(crate) userinfo: Option<Url>,
    /// `None` for providers without id tokens.
    pub(crate) jwks: Option<Url>,
    /// Whether the client secret is sent in the form of the token request (RFC 6749 2.3.1) rather than in its header.
    pub(crate) secret_in_form: bool,
    /// Whether every callback names the issuer (RFC 9207).
    pub(crate) issuer_in_callback: bool,
}

impl Endpoints {
    /// Returns the endpoints of a provider without discovery.
    pub(crate) fn plain(
        known: &Plain,
        settings: &ConnectionSettings,
    ) -> Result<Self, ProviderFault> {
        let or = |set: &Option<String>, known: &str| url(set.as_deref().unwrap_or(known));
        Ok(Self {
            authorization: page(or(
                &settings.authorization_endpoint,
                known.authorization_endpoint,
            )?)?,
            token: or(&settings.token_endpoint, known.token_endpoint)?,
            userinfo: Some(or(&settings.userinfo_endpoint, known.userinfo_endpoint)?),
            jwks: None,
            secret_in_form: true,
            issuer_in_callback: false,
        })
    }

    /// Returns the endpoints of an issuer. There is no document if the App has set everything that it would contain.
    pub(crate) fn open_id(
        settings: &ConnectionSettings,
        found: Option<&Discovery>,
    ) -> Result<Self, ProviderFault> {
        let or = |set: &Option<String>, of: fn(&Discovery) -> Option<&str>| {
            let text = set.as_deref().or_else(|| found.and_then(of));
            text.ok_or(match found {
                Some(_) => ProviderFault::Invalid(discovery::DOCUMENT.malformed),
                None => UNKNOWN,
            })
            .and_then(url)
        };
        let userinfo = settings.userinfo_endpoint.as_deref();
        let userinfo =
            userinfo.or_else(|| found.and_then(|found| found.userinfo_endpoint.as_deref()));
        Ok(Self {
            authorization: page(or(&settings.authorization_endpoint, |found| {
                found.authorization_endpoint.as_deref()
            })?)?,
            token: or(&settings.token_endpoint, |found| {
                found.token_endpoint.as_deref()
            })?,
            userinfo: userinfo.map(url).transpose()?,
            jwks: Some(or(&settings.jwks_uri, |found| found.jwks_uri.as_deref())?),
            secret_in_form: match settings.token_endpoint_auth_method {
                Some(method) => method == TokenEndpointAuth::ClientSecretPost,
                None => found.is_some_and(Discovery::wants_secret_in_form),
            },
            issuer_in_callback: found
                .is_some_and(|found| found.authorization_response_iss_parameter_supported),
        })
    }

    /// Whether the App has set everything needed to talk to an issuer.
    pub(crate) const fn are_all_set(settings: &ConnectionSettings) -> bool {
        settings.authorization_endpoint.is_some()
            && settings.token_endpoint.is_some()
            && settings.jwks_uri.is_some()
    }
}

/// Returns the issuer of a connection that has one.
pub(crate) fn issuer<'a>(
    connection: &'a Connection,
    known: Option<&'static str>,
) -> Result<Issuer<'a>, ProviderFault> {
    let set = connection.settings.issuer.as_deref();
    set.or(known)
        .map(Issuer)
        .ok_or(ProviderFault::Misconfigured("the issuer is missing"))
}

const UNKNOWN: ProviderFault = ProviderFault::Misconfigured("an endpoint is missing");

fn url(text: &str) -> Result<Url, ProviderFault> {
    Url::parse(text).map_err(|_no_url| ProviderFault::Invalid("one of its endpoints is not a URL"))
}

/// Checks the URL of a page that a browser is sent to. We never call it, so nothing else checks its scheme.
fn page(url: Url) -> Result<Url, ProviderFault> {
    let is_this_machine = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_this_machine => Ok(url),
        _ => Err(ProviderFault::Invalid(
            "its authorization endpoint is not https",
        )),
    }
}
