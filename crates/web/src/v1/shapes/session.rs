//! Sessions, and the three session fields of requests and responses.

use utoipa::ToSchema;
use vestry_app::identity::sessions::{IssuedSession, SessionNamed, SessionObject};
use vestry_domain::Secret;

/// A signed-in user on one device. A session JWT carries the same object in its claim `session`.
///
/// This type is for the description only. The use cases build the object itself, once for responses and JWTs.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes an object that the use cases build")]
pub(crate) struct Session {
    /// Id of the session.
    #[schema(pattern = "^sess_[0-9A-Za-z]{27}$")]
    id: String,
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// When the session was started, in Unix seconds. Never changes.
    started_at: i64,
    /// When the session expires, in Unix seconds. It can be earlier than requested, because the App's own limit also applies.
    expires_at: i64,
    /// When the session was last verified, in Unix seconds, rounded down to the minute.
    last_active_at: i64,
    /// When the session was created, in Unix seconds.
    created_at: i64,
    /// When the session was last changed, in Unix seconds.
    updated_at: i64,
    /// Authentication factors of the session.
    factors: Vec<Factor>,
    device_fingerprint: DeviceFingerprint,
    /// Strings that the App attached to the session.
    permissions: Vec<String>,
    /// Whether the session was ended before it expired.
    deleted: bool,
    /// When the session was ended, in Unix seconds; 0 if it was not.
    deleted_at: i64,
}

/// One authentication factor of a session.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes an object that the use cases build")]
struct Factor {
    /// How the factor was delivered: `email`, `sms`, `password`, `totp_authenticator`, `totp_recovery_code`, `webauthn_credential`,
    /// `eth_wallet`, `sol_wallet`, or the name of an identity provider followed by `_oauth`.
    #[schema(
        pattern = "^(email|sms|password|totp_authenticator|totp_recovery_code|webauthn_credential|eth_wallet|sol_wallet|[a-z][a-z0-9-]{0,31}_oauth)$"
    )]
    delivery_channel: String,
    #[schema(rename = "type")]
    kind: FactorType,
    method: FactorMethod,
}

/// Kind of an authentication factor.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "describes an object that the use cases build")]
enum FactorType {
    Otp,
    MagicLink,
    Password,
    Totp,
    Webauthn,
    Wallet,
    Oauth,
}

/// The credential behind a factor, and when it was last verified.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes an object that the use cases build")]
struct FactorMethod {
    /// Id of the credential; absent for password factors.
    #[schema(
        required = false,
        pattern = "^(email|pn|totp|webauthn|wallet|idpuser)_[0-9A-Za-z]{27}$"
    )]
    method_id: String,
    /// Absent for password factors.
    #[schema(required = false)]
    method_type: MethodType,
    /// When the factor was last verified, in Unix seconds.
    last_verified_at: i64,
    /// E-mail factors: id of the address.
    #[schema(required = false, pattern = "^email_[0-9A-Za-z]{27}$")]
    email_id: String,
    /// E-mail factors: the address.
    #[schema(required = false)]
    email: String,
    /// SMS factors: id of the phone number.
    #[schema(required = false, pattern = "^pn_[0-9A-Za-z]{27}$")]
    phone_number_id: String,
    /// SMS factors: the phone number, in E.164 format.
    #[schema(required = false)]
    phone_number: String,
    /// Authenticator app and recovery code factors: id of the authenticator app.
    #[schema(required = false, pattern = "^totp_[0-9A-Za-z]{27}$")]
    totp_id: String,
    /// Passkey factors: id of the passkey.
    #[schema(required = false, pattern = "^webauthn_[0-9A-Za-z]{27}$")]
    webauthn_credential_id: String,
    /// Wallet factors: id of the wallet.
    #[schema(required = false, pattern = "^wallet_[0-9A-Za-z]{27}$")]
    wallet_id: String,
    /// Wallet factors: chain of the wallet.
    #[schema(required = false)]
    wallet_type: String,
    /// Wallet factors: address of the wallet.
    #[schema(required = false)]
    wallet_public_address: String,
    /// Identity provider factors: name of the provider.
    #[schema(required = false)]
    provider: String,
    /// Identity provider factors: id of the user at the provider.
    #[schema(required = false)]
    provider_subject: String,
}

/// Kind of credential behind a factor.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "describes an object that the use cases build")]
enum MethodType {
    Email,
    PhoneNumber,
    Totp,
    Webauthn,
    Wallet,
    Oauth,
}

/// The device that the session was started on; `""` for unknown values.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes an object that the use cases build")]
struct DeviceFingerprint {
    /// `User-Agent` of the device.
    user_agent: String,
    /// IP address of the device.
    ip: String,
}

/// The session fields of a response.
pub(crate) struct IssuedFields {
    pub(crate) session: Option<SessionObject>,
    pub(crate) session_token: String,
    pub(crate) session_jwt: String,
}

impl From<Option<IssuedSession>> for IssuedFields {
    /// Converts a missing session to `null`, `""` and `""`.
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

/// The session named by a call that only needs to know its user.
pub(crate) fn session_named(token: Option<String>, jwt: Option<String>) -> SessionNamed {
    SessionNamed {
        token: token.map(Secret::new),
        jwt: jwt.map(Secret::new),
    }
}

/// Declares the request of a verify call: its own fields, followed by the session fields and the device that all of them have.
macro_rules! request_with_session {
    ($(#[$attribute:meta])* pub(crate) struct $name:ident { $($fields:tt)* }) => {
        $(#[$attribute])*
        pub(crate) struct $name {
            $($fields)*
            /// Lifetime of the session in minutes, counted from now. Without a session in the request, a new one is started.
            #[schema(minimum = 5, maximum = 525_600, examples(60))]
            session_expires_in: Option<i64>,
            /// Token of a session of the same user. The new factor is added to the session, which gets a new token.
            #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
            session_token: Option<String>,
            /// A JWT of that session, as an alternative to `session_token`.
            #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
            session_jwt: Option<String>,
            /// Strings that the session and its JWTs carry for the App. When absent, a new session has none and an existing one keeps its own.
            #[schema(max_items = 50)]
            permissions: Option<Vec<String>>,
            /// The end user's device.
            device_fingerprint: Option<$crate::v1::shapes::Device>,
        }
    };
}

/// Declares the response of a verify call: its own fields, followed by those of the session.
macro_rules! response_with_session {
    ($(#[$attribute:meta])* pub(crate) struct $name:ident { $($fields:tt)* }) => {
        $(#[$attribute])*
        pub(crate) struct $name {
            $($fields)*
            /// Token of the session, 64 characters; `""` if none was requested.
            #[schema(pattern = "^([0-9A-Za-z]{64})?$")]
            session_token: String,
            /// JWT of the session; `""` if none was requested.
            session_jwt: String,
            /// The session; `null` if none was requested.
            #[schema(value_type = Option<crate::v1::shapes::Session>, required = true)]
            session: Option<vestry_app::identity::sessions::SessionObject>,
        }
    };
}

/// The session fields of a verify request.
macro_rules! session_fields {
    ($request:ident) => {
        vestry_app::identity::sessions::SessionFields {
            session_expires_in: $request.session_expires_in,
            session_token: $request.session_token.map(vestry_domain::Secret::new),
            session_jwt: $request.session_jwt.map(vestry_domain::Secret::new),
            permissions: $request.permissions,
        }
    };
}

pub(crate) use {request_with_session, response_with_session, session_fields};
