//! The particulars of the well-known providers. All of it is data: the code supports two protocols.

use vestry_domain::provider::ProviderKind;

/// How to talk to a kind of provider.
pub(crate) struct Known {
    pub(crate) protocol: Protocol,
    /// Scopes that a sign-in requires.
    pub(crate) scopes: &'static [&'static str],
    /// Additional parameters of the authorization URL.
    pub(crate) parameters: &'static [(&'static str, &'static str)],
    /// How to request a refresh token, for an App that stores tokens.
    pub(crate) refresh: Refresh,
    /// The form of the client secret.
    pub(crate) secret: ClientSecretKind,
}

/// The protocol of a provider.
pub(crate) enum Protocol {
    /// OpenID Connect; everything else is in the issuer's discovery document.
    OpenId {
        /// The issuer, unless the App configures its own.
        issuer: Option<&'static str>,
    },
    /// OAuth 2.0 (RFC 6749) and an API.
    Plain(Plain),
}

/// The endpoints of a provider without id tokens.
pub(crate) struct Plain {
    /// Its issuer, for callbacks that name one (RFC 9207).
    pub(crate) issuer: &'static str,
    pub(crate) authorization_endpoint: &'static str,
    pub(crate) token_endpoint: &'static str,
    /// Returns the profile of the access token's user.
    pub(crate) userinfo_endpoint: &'static str,
    /// The member that contains the full name.
    pub(crate) name: &'static str,
    pub(crate) email: EmailSource,
}

/// Where the e-mail address of a [`Plain`] provider is found.
#[derive(Clone, Copy)]
pub(crate) enum EmailSource {
    /// In `email` next to the name; `verified` says whether it is verified.
    Beside,
    /// In a separate list below the userinfo endpoint, whose entries have `email`, `primary` and `verified`.
    ListBelow(&'static str),
}

/// How a refresh token is requested.
#[derive(Clone, Copy)]
pub(crate) enum Refresh {
    /// It is issued without a request, or not at all.
    Unasked,
    Scope(&'static str),
    Parameter(&'static str, &'static str),
}

/// The form of a connection's client secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientSecretKind {
    /// The secret itself.
    Plain,
    /// A private key that signs a new secret for each use.
    SigningKey,
}

const OPEN_ID_SCOPES: &[&str] = &["openid", "email", "profile"];

/// <https://developers.google.com/identity/openid-connect/openid-connect>
const GOOGLE: Known = Known {
    protocol: Protocol::OpenId {
        issuer: Some("https://accounts.google.com"),
    },
    scopes: OPEN_ID_SCOPES,
    parameters: &[],
    refresh: Refresh::Parameter("access_type", "offline"),
    secret: ClientSecretKind::Plain,
};

/// <https://developer.apple.com/documentation/signinwithapplerestapi>: scopes require a form post response.
const APPLE: Known = Known {
    protocol: Protocol::OpenId {
        issuer: Some("https://appleid.apple.com"),
    },
    scopes: &["openid", "email", "name"],
    parameters: &[("response_mode", "form_post")],
    refresh: Refresh::Unasked,
    secret: ClientSecretKind::SigningKey,
};

/// <https://learn.microsoft.com/entra/identity-platform/v2-protocols-oidc>: one issuer per tenant, and one document for all.
const MICROSOFT: Known = Known {
    protocol: Protocol::OpenId {
        issuer: Some("https://login.microsoftonline.com/{tenantid}/v2.0"),
    },
    scopes: OPEN_ID_SCOPES,
    parameters: &[],
    refresh: Refresh::Scope("offline_access"),
    secret: ClientSecretKind::Plain,
};

/// <https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps>
const GITHUB: Known = Known {
    protocol: Protocol::Plain(Plain {
        issuer: "https://github.com/login/oauth",
        authorization_endpoint: "https://github.com/login/oauth/authorize",
        token_endpoint: "https://github.com/login/oauth/access_token",
        userinfo_endpoint: "https://api.github.com/user",
        name: "name",
        email: EmailSource::ListBelow("emails"),
    }),
    scopes: &["read:user", "user:email"],
    parameters: &[],
    refresh: Refresh::Unasked,
    secret: ClientSecretKind::Plain,
};

/// <https://discord.com/developers/docs/topics/oauth2>
const DISCORD: Known = Known {
    protocol: Protocol::Plain(Plain {
        issuer: "https://discord.com",
        authorization_endpoint: "https://discord.com/oauth2/authorize",
        token_endpoint: "https://discord.com/api/oauth2/token",
        userinfo_endpoint: "https://discord.com/api/users/@me",
        name: "global_name",
        email: EmailSource::Beside,
    }),
    scopes: &["identify", "email"],
    parameters: &[],
    refresh: Refresh::Unasked,
    secret: ClientSecretKind::Plain,
};

/// The App's own issuer.
const OIDC: Known = Known {
    protocol: Protocol::OpenId { issuer: None },
    scopes: OPEN_ID_SCOPES,
    parameters: &[],
    refresh: Refresh::Unasked,
    secret: ClientSecretKind::Plain,
};

/// Returns the particulars of a kind; `None` for the built-in test provider, which is never called.
pub(crate) const fn known(kind: ProviderKind) -> Option<&'static Known> {
    match kind {
        ProviderKind::Google => Some(&GOOGLE),
        ProviderKind::Apple => Some(&APPLE),
        ProviderKind::Microsoft => Some(&MICROSOFT),
        ProviderKind::GitHub => Some(&GITHUB),
        ProviderKind::Discord => Some(&DISCORD),
        ProviderKind::Oidc => Some(&OIDC),
        ProviderKind::Test => None,
    }
}
