//! Options for `navigator.credentials`, in the JSON form that browsers read with `parseCreationOptionsFromJSON` and
//! `parseRequestOptionsFromJSON` (WebAuthn Level 3, sections 5.1.9 and 5.1.10).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use utoipa::ToSchema;
use vestry_app::identity::passkeys::{AuthenticationOptions, RegistrationOptions};
use vestry_domain::passkey::{CHALLENGE_LIFETIME, Passkey};

/// Argument of `navigator.credentials.create()`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreationOptions {
    public_key: Creation,
}

/// `PublicKeyCredentialCreationOptionsJSON`. Byte strings are base64url without padding.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = PublicKeyCredentialCreationOptions)]
struct Creation {
    rp: RelyingParty,
    user: UserEntity,
    /// Challenge of 32 random bytes. Single-use; expires after five minutes.
    #[schema(pattern = "^[0-9A-Za-z_-]{43}$")]
    challenge: String,
    /// Supported algorithms, the preferred one first.
    #[schema(min_items = 1)]
    pub_key_cred_params: Vec<Parameters>,
    /// Timeout, in milliseconds.
    #[schema(minimum = 1, maximum = 300_000)]
    timeout: i64,
    /// The user's existing passkeys on this domain.
    exclude_credentials: Vec<Descriptor>,
    authenticator_selection: Selection,
    /// Always `none`: no attestation of the authenticator is requested.
    #[schema(pattern = "^none$")]
    attestation: &'static str,
}

/// The relying party: the domain, and the App's name.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PublicKeyCredentialRpEntity)]
struct RelyingParty {
    /// Relying party id: the domain.
    #[schema(min_length = 1)]
    id: String,
    /// Name of the App.
    #[schema(min_length = 1)]
    name: String,
}

/// The user, as shown to authenticators and people.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = PublicKeyCredentialUserEntity)]
struct UserEntity {
    /// User handle: 32 random bytes, constant for the user.
    #[schema(pattern = "^[0-9A-Za-z_-]{43}$")]
    id: String,
    /// Account name, to tell accounts apart.
    #[schema(min_length = 1)]
    name: String,
    /// Display name of the user.
    #[schema(min_length = 1)]
    display_name: String,
}

/// A supported algorithm, by its COSE number.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PublicKeyCredentialParameters)]
struct Parameters {
    /// Always `public-key`.
    #[serde(rename = "type")]
    #[schema(pattern = "^public-key$")]
    kind: &'static str,
    /// COSE algorithm number.
    #[schema(examples(-7))]
    alg: i64,
}

/// Requirements for the authenticator.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = AuthenticatorSelection)]
struct Selection {
    /// Kind of authenticator: `platform` or `cross-platform`.
    #[schema(pattern = "^(platform|cross-platform)$")]
    authenticator_attachment: &'static str,
    /// `preferred`: allows sign-in without a user name if the authenticator supports it.
    #[schema(pattern = "^preferred$")]
    resident_key: &'static str,
    /// Always false; see `residentKey`.
    require_resident_key: bool,
    /// Whether the authenticator must verify the user: `preferred`, `required` or `discouraged`.
    #[schema(pattern = "^(preferred|required|discouraged)$")]
    user_verification: &'static str,
}

/// An existing passkey.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PublicKeyCredentialDescriptor)]
struct Descriptor {
    /// Always `public-key`.
    #[serde(rename = "type")]
    #[schema(pattern = "^public-key$")]
    kind: &'static str,
    /// Credential id, in base64url.
    #[schema(pattern = "^[0-9A-Za-z_-]+$")]
    id: String,
    /// Transports over which the authenticator can be reached.
    transports: Vec<String>,
}

/// Argument of `navigator.credentials.get()`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestOptions {
    public_key: Request,
}

/// `PublicKeyCredentialRequestOptionsJSON`. Byte strings are base64url without padding.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = PublicKeyCredentialRequestOptions)]
struct Request {
    /// Challenge of 32 random bytes. Single-use; expires after five minutes.
    #[schema(pattern = "^[0-9A-Za-z_-]{43}$")]
    challenge: String,
    /// Timeout, in milliseconds.
    #[schema(minimum = 1, maximum = 300_000)]
    timeout: i64,
    /// Relying party id: the domain.
    #[schema(min_length = 1)]
    rp_id: String,
    /// The named user's passkeys on this domain; empty if no user was named.
    allow_credentials: Vec<Descriptor>,
    /// Whether the authenticator must verify the user: `preferred`, `required` or `discouraged`.
    #[schema(pattern = "^(preferred|required|discouraged)$")]
    user_verification: &'static str,
}

const KIND: &str = "public-key";
const TIMEOUT: i64 = CHALLENGE_LIFETIME.0 * 1000;

impl From<&Passkey> for Descriptor {
    fn from(passkey: &Passkey) -> Self {
        Self {
            kind: KIND,
            id: URL_SAFE_NO_PAD.encode(&passkey.credential_id),
            transports: passkey.transports.clone(),
        }
    }
}

impl From<RegistrationOptions> for CreationOptions {
    fn from(options: RegistrationOptions) -> Self {
        let parameters = options.algorithms.iter();
        let public_key = Creation {
            rp: RelyingParty {
                id: options.domain.to_string(),
                name: options.app_name,
            },
            user: UserEntity {
                id: URL_SAFE_NO_PAD.encode(options.handle.0),
                name: options.user_name,
                display_name: options.display_name,
            },
            challenge: options.challenge,
            pub_key_cred_params: parameters
                .map(|alg| Parameters {
                    kind: KIND,
                    alg: *alg,
                })
                .collect(),
            timeout: TIMEOUT,
            exclude_credentials: options.known.iter().map(Descriptor::from).collect(),
            authenticator_selection: Selection {
                authenticator_attachment: options.authenticator_type.as_str(),
                resident_key: "preferred",
                require_resident_key: false,
                user_verification: options.user_verification.as_str(),
            },
            attestation: "none",
        };
        Self { public_key }
    }
}

impl From<AuthenticationOptions> for RequestOptions {
    fn from(options: AuthenticationOptions) -> Self {
        let public_key = Request {
            challenge: options.challenge,
            timeout: TIMEOUT,
            rp_id: options.domain.to_string(),
            allow_credentials: options.allowed.iter().map(Descriptor::from).collect(),
            user_verification: options.user_verification.as_str(),
        };
        Self { public_key }
    }
}
