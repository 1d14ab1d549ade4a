//! An App's connection to a provider.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::Url;

use super::{ProviderKind, ProviderName};
use crate::ids::OauthCallbackId;
use crate::{Invalid, Secret, Timestamp, World};

/// Maximum length of a client id, scope, issuer or other text of a connection, in bytes.
const MAX_TEXT: usize = 1024;
/// Maximum number of scopes or tenants of a connection.
const MAX_LIST: usize = 50;

/// An App's configuration of one provider in one environment, without the client secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// Identifies the connection's own callback URL: no two providers share one (O-6).
    pub callback_id: OauthCallbackId,
    /// App and environment.
    pub world: World,
    /// The provider's name; there is one connection per name.
    pub name: ProviderName,
    /// The App's id at the provider.
    pub client_id: String,
    /// The optional settings.
    pub settings: ConnectionSettings,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The visible part of a client secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSecretHint {
    /// Its last four characters; `None` if the rest would be too short, or if it is a key in several lines.
    pub last_four: Option<String>,
    /// When it was set.
    pub updated_at: Timestamp,
}

impl ClientSecretHint {
    /// Minimum length of a secret whose last characters are shown.
    const MIN_SHOWN: usize = 16;

    /// Describes a secret that was set at this time.
    pub fn of(secret: &Secret<String>, updated_at: Timestamp) -> Self {
        let secret = secret.expose().trim();
        let hidden = secret.chars().count().saturating_sub(4);
        let is_shown =
            hidden.saturating_add(4) >= Self::MIN_SHOWN && !secret.contains(char::is_whitespace);
        Self {
            last_four: is_shown.then(|| secret.chars().skip(hidden).collect()),
            updated_at,
        }
    }
}

/// The optional settings of a connection, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConnectionSettings {
    /// The issuer. Required for custom OpenID Connect providers; for others it overrides the known one.
    pub issuer: Option<String>,
    /// Overrides the known or discovered authorization endpoint; so do the next four fields for theirs.
    pub authorization_endpoint: Option<String>,
    /// The endpoint where codes are exchanged.
    pub token_endpoint: Option<String>,
    /// The endpoint that returns the user's identity if the provider has no id tokens (GitHub: `…/user`, with addresses at `/emails` below
    /// it).
    pub userinfo_endpoint: Option<String>,
    /// The URL of the issuer's keys.
    pub jwks_uri: Option<String>,
    /// How the client secret is sent to an issuer's token endpoint. If absent, as the discovery document says, or with HTTP Basic if there
    /// is none. Omitted from the stored form when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_method: Option<TokenEndpointAuth>,
    /// Microsoft: ids of tenants whose e-mail addresses the App trusts, because it knows who runs them (O-9b).
    pub tenants: Vec<String>,
    /// Custom OpenID Connect issuers: whether `email_verified` is trusted (O-9b).
    pub trust_email_verified: bool,
    /// Apple: which key signs client secrets. The configured client secret is the team's private key (PKCS#8, P-256, PEM).
    pub apple: Option<AppleKey>,
    /// Whether `oauth/verify` returns the provider's own tokens; until then they are stored encrypted (O-12).
    pub store_tokens: bool,
    /// Scopes in addition to those that the sign-in needs.
    pub scopes: Vec<String>,
}

/// Where a token request carries the client secret (RFC 6749, section 2.3.1; named as in RFC 7591, section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenEndpointAuth {
    /// In the header, by HTTP Basic.
    ClientSecretBasic,
    /// In the form.
    ClientSecretPost,
}

impl TokenEndpointAuth {
    /// Both methods.
    pub const ALL: [Self; 2] = [Self::ClientSecretBasic, Self::ClientSecretPost];

    /// The name in storage and in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
        }
    }
}

impl FromStr for TokenEndpointAuth {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let known = Self::ALL.into_iter().find(|method| method.as_str() == text);
        known.ok_or_else(|| {
            Invalid::value(
                "token_endpoint_auth_method",
                "token_endpoint_auth_method must be client_secret_basic or client_secret_post",
            )
        })
    }
}

/// The Apple key that signs client secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppleKey {
    /// The team, `iss` of the client secret.
    pub team_id: String,
    /// The key, `kid` of the client secret.
    pub key_id: String,
}

impl Connection {
    /// The kind of provider.
    pub fn kind(&self) -> ProviderKind {
        self.name.kind()
    }

    /// Checks new settings. Facts that only the provider knows, such as whether the client id exists, are not checked.
    ///
    /// # Errors
    /// If it is the built-in provider, a setting is missing or not supported, or a URL is invalid; names the setting.
    pub fn check(&self) -> Result<(), Invalid> {
        let kind = self.kind();
        let settings = &self.settings;
        if kind == ProviderKind::Test {
            return Err(Invalid::value(
                "provider",
                "the test provider is built in and cannot be configured",
            ));
        }
        // In responses, these keys are siblings of the provider's own object.
        if matches!(self.name.as_str(), "id" | "email") {
            return Err(Invalid::value(
                "provider",
                "provider name must not be \"id\" or \"email\"",
            ));
        }
        client_id(&self.client_id)?;
        match (&settings.issuer, kind) {
            (None, ProviderKind::Oidc) => return Err(Invalid::missing("issuer")),
            (Some(_), ProviderKind::GitHub | ProviderKind::Discord) => {
                return Err(Invalid::value(
                    "issuer",
                    "issuer is not supported for this provider (plain OAuth 2.0)",
                ));
            }
            (Some(issuer), _) => check_endpoint("issuer", issuer)?,
            (None, _) => {}
        }
        for (param, endpoint) in [
            ("authorization_endpoint", &settings.authorization_endpoint),
            ("token_endpoint", &settings.token_endpoint),
            ("userinfo_endpoint", &settings.userinfo_endpoint),
            ("jwks_uri", &settings.jwks_uri),
        ] {
            endpoint
                .as_deref()
                .map_or(Ok(()), |url| check_endpoint(param, url))?;
        }
        let is_plain = matches!(kind, ProviderKind::GitHub | ProviderKind::Discord);
        if settings.token_endpoint_auth_method.is_some() && is_plain {
            return Err(Invalid::value(
                "token_endpoint_auth_method",
                "token_endpoint_auth_method is fixed for this provider",
            ));
        }
        match (&settings.apple, kind) {
            (None, ProviderKind::Apple) => return Err(Invalid::missing("apple_team_id")),
            (Some(key), ProviderKind::Apple) => {
                plain("apple_team_id", &key.team_id)?;
                plain("apple_key_id", &key.key_id)?;
            }
            (Some(_), _) => {
                return Err(Invalid::value(
                    "apple_team_id",
                    "apple_team_id is only supported for apple",
                ));
            }
            (None, _) => {}
        }
        if !settings.tenants.is_empty() && kind != ProviderKind::Microsoft {
            return Err(Invalid::value(
                "tenants",
                "tenants is only supported for microsoft",
            ));
        }
        if settings.trust_email_verified && kind != ProviderKind::Oidc {
            return Err(Invalid::value(
                "trust_email_verified",
                "trust_email_verified applies only to custom OpenID Connect issuers",
            ));
        }
        list("tenants", &settings.tenants)?;
        list("scopes", &settings.scopes)
    }
}

/// Checks a provider's URL: `https`, or `http` on a loopback host for development; no user, query or fragment.
///
/// The address that it resolves to is checked at the time of the request (O-7).
///
/// # Errors
/// If it is anything else; names `param`.
pub fn check_endpoint(param: &'static str, text: &str) -> Result<(), Invalid> {
    let refuse = |why: &str| Err(Invalid::value(param, format!("{param} {why}")));
    if text.len() > MAX_TEXT || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return refuse("must have at most 1024 bytes, no spaces and no control characters");
    }
    let Ok(url) = Url::parse(text) else {
        return refuse("must be an absolute URL");
    };
    let loopback = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => return refuse("must have a host"),
    };
    match url.scheme() {
        "https" => {}
        "http" if loopback => {}
        _ => return refuse("must use https; plain http is only allowed for localhost"),
    }
    let is_bare = url.username().is_empty() && url.password().is_none();
    if !is_bare || url.query().is_some() || url.fragment().is_some() {
        return refuse("must not contain user information, a query or a fragment");
    }
    Ok(())
}

fn list(param: &'static str, texts: &[String]) -> Result<(), Invalid> {
    if texts.len() > MAX_LIST {
        return Err(Invalid::value(
            param,
            format!("{param} must have at most {MAX_LIST} entries"),
        ));
    }
    texts.iter().try_for_each(|text| plain(param, text))
}

/// Checks a client id: visible ASCII characters and spaces (RFC 6749, A.1), but not only spaces.
fn client_id(text: &str) -> Result<(), Invalid> {
    let is_visible = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
    let is_empty = text.trim_matches(' ').is_empty();
    if !is_empty && text.len() <= MAX_TEXT && text.bytes().all(is_visible) {
        return Ok(());
    }
    Err(Invalid::value(
        "client_id",
        format!("client_id must be 1 to {MAX_TEXT} printable ASCII characters"),
    ))
}

/// Checks a word for a query or header: printable ASCII, no spaces.
fn plain(param: &'static str, text: &str) -> Result<(), Invalid> {
    if (1..=MAX_TEXT).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(());
    }
    Err(Invalid::value(
        param,
        format!("{param} must be 1 to {MAX_TEXT} printable ASCII characters, no spaces"),
    ))
}
