//! Sessions, and the three fields by which calls name and answer them.

use utoipa::ToSchema;
use vestry_app::sessions::{IssuedSession, SessionNamed, SessionObject};
use vestry_domain::Secret;

/// A signed-in user on one device. Inside a session JWT the same object is the claim `session`.
///
/// Only described here: the object itself is made by the use cases, once for answers and for JWTs.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes an object that the use cases make")]
pub(crate) struct Session {
    #[schema(pattern = "^sess_[0-9A-Za-z]{27}$")]
    id: String,
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// When it began, in Unix seconds; never moves.
    started_at: i64,
    /// When it ends, in Unix seconds. May be earlier than asked for: the App's own limit holds too.
    expires_at: i64,
    /// When it was last verified, to the minute, in Unix seconds.
    last_active_at: i64,
    /// Unix seconds.
    created_at: i64,
    /// Unix seconds.
    updated_at: i64,
    /// What the session rests on.
    factors: Vec<Factor>,
    device_fingerprint: DeviceFingerprint,
    /// Strings that the App attached.
    permissions: Vec<String>,
    /// Whether it was ended before its time.
    deleted: bool,
    /// When, in Unix seconds; 0 when it was not.
    deleted_at: i64,
}

/// One way in which the user proved to be that user.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes an object that the use cases make")]
struct Factor {
    /// How it reached the user: `email`, `sms`, `password`, `totp_authenticator`, `totp_recovery_code`, `webauthn_credential`,
    /// `eth_wallet`, `sol_wallet`, or the name of an identity provider and `_oauth`.
    #[schema(
        pattern = "^(email|sms|password|totp_authenticator|totp_recovery_code|webauthn_credential|eth_wallet|sol_wallet|[a-z][a-z0-9-]{0,31}_oauth)$"
    )]
    delivery_channel: String,
    #[schema(rename = "type")]
    kind: FactorType,
    method: FactorMethod,
}

/// What kind of proof it was.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "describes an object that the use cases make")]
enum FactorType {
    Otp,
    MagicLink,
    Password,
    Totp,
    Webauthn,
    Wallet,
    Oauth,
}

/// What was proved, and when.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes an object that the use cases make")]
struct FactorMethod {
    /// Id of what was proved; password factors have none.
    #[schema(
        required = false,
        pattern = "^(email|pn|totp|webauthn|wallet|idpuser)_[0-9A-Za-z]{27}$"
    )]
    method_id: String,
    /// Password factors have none.
    #[schema(required = false)]
    method_type: MethodType,
    /// Unix seconds.
    last_verified_at: i64,
    /// For e-mail factors.
    #[schema(required = false, pattern = "^email_[0-9A-Za-z]{27}$")]
    email_id: String,
    /// For e-mail factors.
    #[schema(required = false)]
    email: String,
    /// For SMS factors.
    #[schema(required = false, pattern = "^pn_[0-9A-Za-z]{27}$")]
    phone_number_id: String,
    /// For SMS factors.
    #[schema(required = false)]
    phone_number: String,
    /// For factors of an authenticator app and of its recovery codes.
    #[schema(required = false, pattern = "^totp_[0-9A-Za-z]{27}$")]
    totp_id: String,
    /// For passkeys.
    #[schema(required = false, pattern = "^webauthn_[0-9A-Za-z]{27}$")]
    webauthn_credential_id: String,
    /// For wallets.
    #[schema(required = false, pattern = "^wallet_[0-9A-Za-z]{27}$")]
    wallet_id: String,
    /// For wallets.
    #[schema(required = false)]
    wallet_type: String,
    /// For wallets.
    #[schema(required = false)]
    wallet_public_address: String,
    /// For identity providers.
    #[schema(required = false)]
    provider: String,
    /// For identity providers: the user's id there.
    #[schema(required = false)]
    provider_subject: String,
}

/// Kind of the thing that was proved.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "describes an object that the use cases make")]
enum MethodType {
    Email,
    PhoneNumber,
    Totp,
    Webauthn,
    Wallet,
    Oauth,
}

/// The device that the session was made on; `""` where nothing was said.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes an object that the use cases make")]
struct DeviceFingerprint {
    user_agent: String,
    ip: String,
}

/// The session fields of an answer.
pub(crate) struct IssuedFields {
    pub(crate) session: Option<SessionObject>,
    pub(crate) session_token: String,
    pub(crate) session_jwt: String,
}

impl From<Option<IssuedSession>> for IssuedFields {
    /// `null`, `""` and `""` when there is no session.
    fn from(issued: Option<IssuedSession>) -> Self {
        match issued {
            Some(issued) => Self {
                session: Some(issued.object),
                session_token: issued.token.expose().clone(),
                session_jwt: issued.jwt.expose().clone(),
            },
            None => Self {
                session: None,
                session_token: String::new(),
                session_jwt: String::new(),
            },
        }
    }
}

/// The session that a call names which only asks whose it is.
pub(crate) fn session_named(token: Option<String>, jwt: Option<String>) -> SessionNamed {
    SessionNamed {
        token: token.map(Secret::new),
        jwt: jwt.map(Secret::new),
    }
}

/// The session fields of a verify request, which every verify call has.
pub(crate) struct SessionFields {
    pub(crate) session_expires_in: Option<i64>,
    pub(crate) session_token: Option<String>,
    pub(crate) session_jwt: Option<String>,
    pub(crate) permissions: Option<Vec<String>>,
}

impl From<SessionFields> for vestry_app::sessions::SessionFields {
    fn from(session_fields: SessionFields) -> Self {
        Self {
            session_expires_in: session_fields.session_expires_in,
            session_token: session_fields.session_token.map(Secret::new),
            session_jwt: session_fields.session_jwt.map(Secret::new),
            permissions: session_fields.permissions,
        }
    }
}
