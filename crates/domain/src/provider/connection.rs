//! How an App is connected to a provider.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::Url;

use super::{ProviderKind, ProviderName};
use crate::ids::OauthCallbackId;
use crate::{Invalid, Timestamp, World};

/// Longest client id, scope, issuer or other text of a connection, in bytes.
const TEXT_MAX: usize = 1024;
/// Most scopes or tenants of a connection.
const LIST_MAX: usize = 50;

/// What an App has set for one provider in one environment; the client secret apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// Names the connection's own callback address: no two providers share one (O-6).
    pub callback_id: OauthCallbackId,
    /// App and environment.
    pub world: World,
    /// Which provider; one connection per name.
    pub name: ProviderName,
    /// The App's id at the provider.
    pub client_id: String,
    /// Everything else.
    pub settings: ConnectionSettings,
    /// When it was first set.
    pub created_at: Timestamp,
    /// When it was last set.
    pub updated_at: Timestamp,
}

/// The optional half of a connection, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConnectionSettings {
    /// The issuer: required where nothing but the issuer says who the provider is, else it takes the place of the known one.
    pub issuer: Option<String>,
    /// Takes the place of the one that is known or discovered. So do the next four.
    pub authorization_endpoint: Option<String>,
    /// Where codes are exchanged.
    pub token_endpoint: Option<String>,
    /// Where a provider without id tokens tells who somebody is (GitHub: `…/user`, its addresses below it at `/emails`).
    pub userinfo_endpoint: Option<String>,
    /// Where the issuer's keys are.
    pub jwks_uri: Option<String>,
    /// How the client secret reaches the token endpoint of an issuer; as the discovery document says when absent, and by HTTP
    /// Basic where there is none. Left out of what is stored when it is absent: the release before does not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_method: Option<TokenEndpointAuth>,
    /// Microsoft: tenants (their ids) whose e-mail addresses the App trusts, because it knows who runs them (O-9b).
    pub tenants: Vec<String>,
    /// An issuer of the App's own: whether its `email_verified` counts (O-9b).
    pub trust_email_verified: bool,
    /// Apple: the client secret is the team's private key (PKCS#8, P-256, PEM), and this says which.
    pub apple: Option<AppleKey>,
    /// Whether `oauth/verify` hands out the provider's own tokens; until then they are kept, sealed (O-12).
    pub store_tokens: bool,
    /// Scopes beyond those that the sign-in needs.
    pub scopes: Vec<String>,
}

/// Where a token request has the client secret (RFC 6749, section 2.3.1; named as in RFC 7591, section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenEndpointAuth {
    /// In the header, by HTTP Basic.
    ClientSecretBasic,
    /// In the form.
    ClientSecretPost,
}

impl TokenEndpointAuth {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::ClientSecretBasic, Self::ClientSecretPost];

    /// The name that it is stored and set under.
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

/// Which of Apple's keys signs client secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppleKey {
    /// The team, `iss` of the client secret.
    pub team_id: String,
    /// The key, `kid` of the client secret.
    pub key_id: String,
}

impl Connection {
    /// How to talk to the provider.
    pub fn kind(&self) -> ProviderKind {
        self.name.kind()
    }

    /// Checks what somebody wants to set. What only the provider can tell (whether the client id exists) is not asked.
    ///
    /// # Errors
    /// The built-in provider, a missing or superfluous setting, an address that is not one; names the setting.
    pub fn check(&self) -> Result<(), Invalid> {
        let kind = self.kind();
        let settings = &self.settings;
        if kind == ProviderKind::Test {
            return Err(Invalid::value(
                "provider",
                "test is built into every test environment and cannot be set",
            ));
        }
        // They stand beside the provider's own object in answers.
        if matches!(self.name.as_str(), "id" | "email") {
            return Err(Invalid::value(
                "provider",
                "a provider is not called id or email",
            ));
        }
        client_id(&self.client_id)?;
        match (&settings.issuer, kind) {
            (None, ProviderKind::Oidc) => return Err(Invalid::missing("issuer")),
            (Some(_), ProviderKind::GitHub | ProviderKind::Discord) => {
                return Err(Invalid::value(
                    "issuer",
                    "this provider is spoken to by OAuth 2.0, which knows no issuer",
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
                "how this provider takes the client secret is known",
            ));
        }
        match (&settings.apple, kind) {
            (None, ProviderKind::Apple) => return Err(Invalid::missing("apple_team_id")),
            (Some(key), ProviderKind::Apple) => {
                plain("apple_team_id", &key.team_id)?;
                plain("apple_key_id", &key.key_id)?;
            }
            (Some(_), _) => return Err(Invalid::value("apple_team_id", "only apple has a team")),
            (None, _) => {}
        }
        if !settings.tenants.is_empty() && kind != ProviderKind::Microsoft {
            return Err(Invalid::value("tenants", "only microsoft has tenants"));
        }
        if settings.trust_email_verified && kind != ProviderKind::Oidc {
            return Err(Invalid::value(
                "trust_email_verified",
                "what a well-known provider says of e-mail addresses is trusted by a rule of its own",
            ));
        }
        list("tenants", &settings.tenants)?;
        list("scopes", &settings.scopes)
    }
}

/// An address of a provider: `https`, or `http` on a loopback host for development; no user, query or fragment. Where it
/// leads is checked when it is called (O-7).
///
/// # Errors
/// Anything else; names `param`.
pub fn check_endpoint(param: &'static str, text: &str) -> Result<(), Invalid> {
    let refuse = |why: &str| Err(Invalid::value(param, format!("{param} {why}")));
    if text.len() > TEXT_MAX || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return refuse("must be at most 1024 bytes without blanks or control characters");
    }
    let Ok(url) = Url::parse(text) else {
        return refuse("must be an absolute URL");
    };
    let loopback = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => return refuse("needs a host"),
    };
    match url.scheme() {
        "https" => {}
        "http" if loopback => {}
        _ => return refuse("must be https; plain http is for localhost only"),
    }
    let is_bare = url.username().is_empty() && url.password().is_none();
    if !is_bare || url.query().is_some() || url.fragment().is_some() {
        return refuse("must not carry user information, a query or a fragment");
    }
    Ok(())
}

fn list(param: &'static str, texts: &[String]) -> Result<(), Invalid> {
    if texts.len() > LIST_MAX {
        return Err(Invalid::value(
            param,
            format!("{param} must have at most {LIST_MAX} entries"),
        ));
    }
    texts.iter().try_for_each(|text| plain(param, text))
}

/// Visible ASCII characters and spaces (RFC 6749, A.1), and not spaces alone.
fn client_id(text: &str) -> Result<(), Invalid> {
    let is_visible = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
    let is_empty = text.trim_matches(' ').is_empty();
    if !is_empty && text.len() <= TEXT_MAX && text.bytes().all(is_visible) {
        return Ok(());
    }
    Err(Invalid::value(
        "client_id",
        format!("client_id must be 1 to {TEXT_MAX} printable ASCII characters"),
    ))
}

/// A word as it stands in a query or a header: printable ASCII without blanks.
fn plain(param: &'static str, text: &str) -> Result<(), Invalid> {
    if (1..=TEXT_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(());
    }
    Err(Invalid::value(
        param,
        format!("{param} must be 1 to {TEXT_MAX} printable ASCII characters without blanks"),
    ))
}
