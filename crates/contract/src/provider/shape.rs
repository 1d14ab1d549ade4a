//! The protocol of each supported provider: paths, documents and responses as documented by the real ones.

use serde_json::{Map, Value, json};

/// The provider that is imitated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A generic OpenID Connect issuer; this includes Google.
    OpenId,
    /// <https://developer.apple.com/documentation/signinwithapplerestapi>
    Apple,
    /// <https://learn.microsoft.com/entra/identity-platform/v2-protocols-oidc>
    Microsoft,
    /// <https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps>
    GitHub,
    /// <https://discord.com/developers/docs/topics/oauth2>
    Discord,
}

/// The paths of the endpoints.
pub(super) struct Paths {
    pub(super) discovery: &'static str,
    pub(super) authorize: &'static str,
    pub(super) token: &'static str,
    pub(super) userinfo: &'static str,
    pub(super) emails: &'static str,
    pub(super) keys: &'static str,
}

/// The path of endpoints that a shape does not have.
const NOWHERE: &str = "/nowhere";

/// A person with an account at the provider.
#[derive(Debug, Clone, PartialEq)]
pub struct Person {
    /// The account id, which is numeric if the provider's are.
    pub subject: String,
    /// The email address, if the provider knows one.
    pub email: Option<String>,
    /// The provider's claim about the address, of any JSON type; `null` for none.
    pub email_verified: Value,
    /// The full name.
    pub name: String,
    /// Microsoft: the tenant.
    pub tenant: String,
    /// Additional claims, such as `xms_edov`.
    pub further: Map<String, Value>,
}

impl Person {
    /// A person with a verified address.
    pub fn new(subject: &str, email: &str) -> Self {
        Self {
            subject: subject.to_owned(),
            email: Some(email.to_owned()),
            email_verified: json!(true),
            name: "Ada Lovelace".to_owned(),
            tenant: "9188040d-6c67-4c5b-b112-36a304b66dad".to_owned(),
            further: Map::new(),
        }
    }

    /// Sets the claim about the address; `null` for none.
    #[must_use]
    pub fn with_verified(mut self, verified: Value) -> Self {
        self.email_verified = verified;
        self
    }

    /// Adds a claim.
    #[must_use]
    pub fn with(mut self, claim: &str, value: Value) -> Self {
        self.further.insert(claim.to_owned(), value);
        self
    }
}

impl Shape {
    pub(super) const fn paths(self) -> Paths {
        match self {
            Self::OpenId => Paths {
                discovery: "/.well-known/openid-configuration",
                authorize: "/authorize",
                token: "/token",
                userinfo: "/userinfo",
                emails: NOWHERE,
                keys: "/jwks",
            },
            Self::Apple => Paths {
                discovery: "/.well-known/openid-configuration",
                authorize: "/auth/authorize",
                token: "/auth/token",
                userinfo: NOWHERE,
                emails: NOWHERE,
                keys: "/auth/keys",
            },
            Self::Microsoft => Paths {
                discovery: "/common/v2.0/.well-known/openid-configuration",
                authorize: "/common/oauth2/v2.0/authorize",
                token: "/common/oauth2/v2.0/token",
                userinfo: "/oidc/userinfo",
                emails: NOWHERE,
                keys: "/common/discovery/v2.0/keys",
            },
            Self::GitHub => Paths {
                discovery: NOWHERE,
                authorize: "/login/oauth/authorize",
                token: "/login/oauth/access_token",
                userinfo: "/user",
                emails: "/user/emails",
                keys: NOWHERE,
            },
            Self::Discord => Paths {
                discovery: NOWHERE,
                authorize: "/oauth2/authorize",
                token: "/api/oauth2/token",
                userinfo: "/api/users/@me",
                emails: NOWHERE,
                keys: NOWHERE,
            },
        }
    }

    /// The issuer of a provider at this URL, as written in its document.
    pub(super) fn issuer(self, url: &str) -> String {
        match self {
            Self::Microsoft => format!("{url}/{{tenantid}}/v2.0"),
            Self::OpenId | Self::Apple | Self::GitHub | Self::Discord => url.to_owned(),
        }
    }

    pub(super) const fn has_id_tokens(self) -> bool {
        matches!(self, Self::OpenId | Self::Apple | Self::Microsoft)
    }

    /// The discovery document.
    pub(super) fn document(self, url: &str) -> Value {
        let paths = self.paths();
        let at = |path: &str| format!("{url}{path}");
        let mut document = json!({
            "issuer": self.issuer(url),
            "authorization_endpoint": at(paths.authorize),
            "token_endpoint": at(paths.token),
            "jwks_uri": at(paths.keys),
            "response_types_supported": ["code"],
            "subject_types_supported": ["pairwise"],
            "id_token_signing_alg_values_supported": ["RS256"],
        });
        let further = match self {
            Self::Apple => json!({
                "revocation_endpoint": at("/auth/revoke"),
                "response_modes_supported": ["query", "fragment", "form_post"],
                "scopes_supported": ["openid", "email", "name"],
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
            }),
            Self::Microsoft => json!({
                "userinfo_endpoint": at(paths.userinfo),
                "token_endpoint_auth_methods_supported":
                    ["client_secret_post", "private_key_jwt", "client_secret_basic", "self_signed_tls_client_auth"],
                "response_modes_supported": ["query", "fragment", "form_post"],
                "tenant_region_scope": null,
            }),
            Self::OpenId | Self::GitHub | Self::Discord => json!({
                "userinfo_endpoint": at(paths.userinfo),
                "authorization_response_iss_parameter_supported": true,
            }),
        };
        if let (Some(document), Value::Object(further)) = (document.as_object_mut(), further) {
            document.extend(further);
        }
        document
    }

    /// Adds the `issuer` member to a key, for providers whose key sets have it.
    pub(super) fn with_issuer_of_keys(self, mut key: Value, url: &str) -> Value {
        if let (Self::Microsoft, Some(key)) = (self, key.as_object_mut()) {
            key.insert("issuer".to_owned(), json!(self.issuer(url)));
            key.remove("alg");
        }
        key
    }

    /// The claims of an id token about a person, without `aud`, `nonce` and the times.
    pub(super) fn claims(self, url: &str, person: &Person) -> Map<String, Value> {
        let mut claims = Map::new();
        let mut say = |name: &str, value: Value| claims.insert(name.to_owned(), value);
        say("sub", json!(person.subject));
        match self {
            Self::Microsoft => {
                say(
                    "iss",
                    json!(self.issuer(url).replace("{tenantid}", &person.tenant)),
                );
                say("tid", json!(person.tenant));
                say("oid", json!("690222be-ff1a-4d56-abd1-7e4f7d38e474"));
                say("ver", json!("2.0"));
                say("preferred_username", json!(person.email));
                say("name", json!(person.name));
            }
            Self::Apple => {
                say("iss", json!(url));
                say("nonce_supported", json!(true));
                say("is_private_email", json!("true"));
                say("at_hash", json!("sOQEniPF5EBkeGjJCjDewA"));
            }
            Self::OpenId | Self::GitHub | Self::Discord => {
                say("iss", json!(url));
                say("name", json!(person.name));
                for (name, part) in ["given_name", "family_name"]
                    .iter()
                    .zip(person.name.split(' '))
                {
                    say(name, json!(part));
                }
            }
        }
        if let Some(email) = &person.email {
            say("email", json!(email));
            if self != Self::Microsoft && !person.email_verified.is_null() {
                say("email_verified", person.email_verified.clone());
            }
        }
        claims.extend(person.further.clone());
        claims
    }

    /// The profile that an access token gives access to.
    pub(super) fn profile(self, url: &str, person: &Person) -> Value {
        let id: Value = serde_json::from_str(&person.subject).unwrap_or_default();
        match self {
            Self::GitHub => json!({
                "login": "octocat", "id": id, "node_id": "MDQ6VXNlcjE=", "avatar_url": "https://github.com/images/x.gif",
                "type": "User", "site_admin": false, "name": person.name, "company": null, "blog": "", "location": null,
                // The public address, verified or not; it proves nothing.
                "email": "shown@example.com",
                "created_at": "2008-01-14T04:33:35Z", "updated_at": "2008-01-14T04:33:35Z",
            }),
            Self::Discord => json!({
                "id": person.subject, "username": "ada", "discriminator": "0", "global_name": person.name, "avatar": null,
                "verified": person.email_verified, "email": person.email, "flags": 64, "banner": null, "mfa_enabled": true,
                "locale": "en-US", "premium_type": 1, "public_flags": 64,
            }),
            Self::OpenId | Self::Apple | Self::Microsoft => Value::Object(self.claims(url, person)),
        }
    }

    /// GitHub's list of addresses.
    pub(super) fn emails(person: &Person) -> Value {
        json!([
            {"email": "secondary@example.com", "primary": false, "verified": true, "visibility": null},
            {"email": person.email, "primary": true, "verified": person.email_verified, "visibility": "private"},
        ])
    }

    /// The members of a token response other than the id token.
    pub(super) fn tokens(self, access_token: &str) -> Map<String, Value> {
        let answer = match self {
            Self::GitHub => json!({
                "access_token": access_token, "scope": "read:user,user:email", "token_type": "bearer",
            }),
            Self::Discord => json!({
                "access_token": access_token, "token_type": "Bearer", "expires_in": 604_800,
                "refresh_token": format!("refresh-{access_token}"), "scope": "identify email",
            }),
            Self::Microsoft => json!({
                "access_token": access_token, "token_type": "Bearer", "expires_in": 3_599, "ext_expires_in": 3_599,
                "scope": "openid profile email", "refresh_token": format!("refresh-{access_token}"),
            }),
            Self::OpenId | Self::Apple => json!({
                "access_token": access_token, "token_type": "Bearer", "expires_in": 3_600,
                "refresh_token": format!("refresh-{access_token}"),
            }),
        };
        match answer {
            Value::Object(answer) => answer,
            _ => Map::new(),
        }
    }

    /// The error response to a token request: status and body.
    pub(super) fn refusal(self, code: &str) -> (u16, Value) {
        match (self, code) {
            (Self::GitHub, code) => {
                let own = match code {
                    "invalid_grant" => "bad_verification_code",
                    "invalid_client" => "incorrect_client_credentials",
                    other => other,
                };
                let uri = "https://docs.github.com/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors";
                (
                    200,
                    json!({"error": own, "error_description": "The code passed is incorrect or expired.", "error_uri": uri}),
                )
            }
            (_, "invalid_client") => (401, json!({"error": code})),
            (Self::Microsoft, _) => (
                400,
                json!({"error": code, "error_description": "AADSTS54005: OAuth2 Authorization code was already redeemed.",
                    "error_codes": [54005], "timestamp": "2025-01-01 00:00:00Z", "trace_id": "255d1aef", "correlation_id": "fb3d2015"}),
            ),
            (_, _) => (400, json!({"error": code})),
        }
    }
}
