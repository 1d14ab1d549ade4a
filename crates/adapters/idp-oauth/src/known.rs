//! What is particular about the providers that have a name. All of it is data: the code knows two protocols.

use vestry_domain::provider::ProviderKind;

/// How to talk to a kind of provider.
pub(crate) struct Known {
    pub(crate) protocol: Protocol,
    /// Scopes that a sign-in needs.
    pub(crate) scopes: &'static [&'static str],
    /// What else the address at the provider must say.
    pub(crate) parameters: &'static [(&'static str, &'static str)],
    /// How the provider is asked for a refresh token, for an App that keeps tokens.
    pub(crate) refresh: Refresh,
    /// What the client secret is.
    pub(crate) secret: ClientSecretKind,
}

/// One of the two protocols.
pub(crate) enum Protocol {
    /// OpenID Connect; everything else is in the issuer's discovery document.
    OpenId {
        /// The issuer, unless the App has one of its own.
        issuer: Option<&'static str>,
    },
    /// OAuth 2.0 (RFC 6749) and an API.
    Plain(Plain),
}

/// Where a provider without id tokens is spoken to.
pub(crate) struct Plain {
    /// What it calls itself where it names itself in callbacks (RFC 9207).
    pub(crate) issuer: &'static str,
    pub(crate) authorization_endpoint: &'static str,
    pub(crate) token_endpoint: &'static str,
    /// Says who somebody is, to whoever has an access token.
    pub(crate) userinfo_endpoint: &'static str,
    /// The member with the whole name.
    pub(crate) name: &'static str,
    pub(crate) email: EmailSource,
}

/// Where the e-mail address of a [`Plain`] provider is.
#[derive(Clone, Copy)]
pub(crate) enum EmailSource {
    /// In `email` beside the name; `verified` says whether it was proved.
    Beside,
    /// In a list of its own below the userinfo endpoint, with `email`, `primary` and `verified` in each.
    ListBelow(&'static str),
}

/// How a provider is asked for a refresh token.
#[derive(Clone, Copy)]
pub(crate) enum Refresh {
    /// It gives one without being asked, or not at all.
    Unasked,
    Scope(&'static str),
    Parameter(&'static str, &'static str),
}

/// What the client secret of a connection is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientSecretKind {
    /// The secret itself.
    Plain,
    /// A private key that signs the secret anew for each use.
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

/// <https://developer.apple.com/documentation/signinwithapplerestapi>: scopes are granted to form posts only.
const APPLE: Known = Known {
    protocol: Protocol::OpenId {
        issuer: Some("https://appleid.apple.com"),
    },
    scopes: &["openid", "email", "name"],
    parameters: &[("response_mode", "form_post")],
    refresh: Refresh::Unasked,
    secret: ClientSecretKind::SigningKey,
};

/// <https://learn.microsoft.com/entra/identity-platform/v2-protocols-oidc>: one issuer for each tenant, and a document for all.
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

/// An issuer of the App's own.
const OIDC: Known = Known {
    protocol: Protocol::OpenId { issuer: None },
    scopes: OPEN_ID_SCOPES,
    parameters: &[],
    refresh: Refresh::Unasked,
    secret: ClientSecretKind::Plain,
};

/// What is known about the kind; nothing about the built-in provider, with which nobody speaks.
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
