//! Sessions, their factors, and their lifetimes.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::ids::{
    EmailId, PhoneNumberId, ProviderLinkId, SessionId, TotpId, UserId, WalletId,
    WebauthnCredentialId,
};
use crate::timestamp::Seconds;
use crate::wallet::WalletType;
use crate::{Invalid, Timestamp, World};

/// Minimum and maximum `session_expires_in`, in minutes.
pub const EXPIRES_IN_MINUTES: (i64, i64) = (5, 525_600);
/// `last_active_at` is normally written at most this often, so that verifying a session is a single indexed read.
const TOUCH_EVERY: Seconds = Seconds(60);
/// Maximum length of a stored user agent or IP address, in characters.
const MAX_FINGERPRINT: usize = 1024;

/// Maximum number of `permissions` of a session, and maximum length of each in characters: every JWT contains them.
pub const MAX_PERMISSIONS: (usize, usize) = (50, 100);
/// Maximum size in bytes of all `permissions` of a session, as a JSON array. A character has up to four bytes.
pub const PERMISSIONS_BYTES: usize = 4 * 1024;
/// Maximum size in bytes of a session as returned. A JWT contains it twice and could not be signed beyond this, so larger ones are not
/// stored. The longest permissions, device and first factor fit.
pub const SESSION_BYTES: usize = 16 * 1024;

/// Checks the permissions that an App attaches to a session, and removes duplicates. Their meaning is up to the App.
///
/// # Errors
/// If there are more than 50, or they exceed 4 KiB together. Also if one is empty, over 100 characters, or contains a control character.
pub fn permissions(wanted: Vec<String>) -> Result<Vec<String>, Invalid> {
    let (most, longest) = MAX_PERMISSIONS;
    let mut kept: Vec<String> = Vec::new();
    for permission in wanted {
        let length = permission.chars().count();
        if length == 0 || length > longest || permission.chars().any(char::is_control) {
            return Err(Invalid::value(
                "permissions",
                format!(
                    "a permission must have 1 to {longest} characters and no control characters"
                ),
            ));
        }
        if !kept.contains(&permission) {
            kept.push(permission);
        }
    }
    if kept.len() > most {
        return Err(Invalid::value(
            "permissions",
            format!("a session must have at most {most} permissions"),
        ));
    }
    if json!(kept).to_string().len() > PERMISSIONS_BYTES {
        return Err(Invalid::value(
            "permissions",
            format!(
                "the permissions of a session must have at most {PERMISSIONS_BYTES} bytes as a JSON array"
            ),
        ));
    }
    Ok(kept)
}

/// Which properties of the device must be the same at the verify step as at the send step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum FingerprintMatch {
    /// Nothing.
    #[default]
    Off,
    /// The IP address.
    Ip,
    /// The user agent.
    UserAgent,
    /// Both.
    IpAndUserAgent,
}

/// The end user's device, as known to the App's backend. Unknown parts are `""`.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeviceFingerprint {
    /// The end user's IP address, as text.
    pub ip: String,
    /// The end user's `User-Agent`.
    pub user_agent: String,
}

/// Only `[redacted]`: people's locations must not be logged.
impl std::fmt::Debug for DeviceFingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[redacted]")
    }
}

impl DeviceFingerprint {
    /// Checks the values sent by a caller.
    ///
    /// # Errors
    /// If a part exceeds 1024 characters or contains a control character.
    pub fn new(ip: Option<String>, user_agent: Option<String>) -> Result<Self, Invalid> {
        let check = |param: &'static str, text: Option<String>| {
            let text = text.unwrap_or_default();
            if text.chars().any(char::is_control) || text.chars().count() > MAX_FINGERPRINT {
                return Err(Invalid::value(
                    param,
                    format!(
                        "{param} must have at most {MAX_FINGERPRINT} characters and no control characters"
                    ),
                ));
            }
            Ok(text)
        };
        Ok(Self {
            ip: check("device_fingerprint.ip", ip)?,
            user_agent: check("device_fingerprint.user_agent", user_agent)?,
        })
    }

    /// The subject under which limits by IP address count this device; `None` if the caller gave no address.
    ///
    /// A single machine must not have many subjects. Addresses are compared by value, not as text. An IPv4-mapped IPv6 address counts as
    /// its IPv4 address. An IPv6 address counts as its /64 network, the smallest that one customer has. All invalid addresses share one
    /// subject; otherwise each new misspelling would be a new machine.
    pub fn ip_subject(&self) -> Option<String> {
        let text = self.ip.trim();
        if text.is_empty() {
            return None;
        }
        let parsed = text.parse::<IpAddr>().ok();
        let address = parsed.or_else(|| Some(text.parse::<SocketAddr>().ok()?.ip()));
        Some(match address.map(|address| address.to_canonical()) {
            Some(IpAddr::V4(address)) => address.to_string(),
            Some(IpAddr::V6(address)) => {
                let network = u128::from(address) & (u128::MAX << 64);
                format!("{}/64", Ipv6Addr::from(network))
            }
            None => "no address".to_owned(),
        })
    }

    /// Whether two send steps named the same device or none, under the App's matching rule.
    pub fn agree(one: Option<&Self>, other: Option<&Self>, rule: FingerprintMatch) -> bool {
        let nothing_said = Self::default();
        let (one, other) = (one.unwrap_or(&nothing_said), other.unwrap_or(&nothing_said));
        one.matches(other, rule)
    }

    /// Whether the device of a verify step matches that of the send step, under the App's matching rule.
    pub fn matches(&self, other: &Self, rule: FingerprintMatch) -> bool {
        let ip = self.ip == other.ip;
        let user_agent = self.user_agent == other.user_agent;
        match rule {
            FingerprintMatch::Off => true,
            FingerprintMatch::Ip => ip,
            FingerprintMatch::UserAgent => user_agent,
            FingerprintMatch::IpAndUserAgent => ip && user_agent,
        }
    }
}

/// A factor with which the session's user has signed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// The proof.
    pub proof: Proof,
    /// When it was last verified.
    pub last_verified_at: Timestamp,
}

/// The kind of proof behind a factor, and the object that it refers to.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Proof {
    /// A code sent to an e-mail address.
    EmailCode {
        /// The address's id.
        email_id: EmailId,
        /// The address.
        email: String,
    },
    /// A code sent to a phone number.
    SmsCode {
        /// The number's id.
        phone_number_id: PhoneNumberId,
        /// The number in E.164 form.
        phone_number: String,
    },
    /// A link sent to an e-mail address.
    EmailLink {
        /// The address's id.
        email_id: EmailId,
        /// The address.
        email: String,
    },
    /// The user's password.
    Password,
    /// A code of an authenticator app (RFC 6238).
    Totp {
        /// The TOTP's id.
        totp_id: TotpId,
    },
    /// A recovery code of an authenticator app.
    RecoveryCode {
        /// The TOTP's id.
        totp_id: TotpId,
    },
    /// A passkey (WebAuthn).
    Passkey {
        /// The credential's id here; not the authenticator's credential id.
        webauthn_credential_id: WebauthnCredentialId,
    },
    /// A signature by the key of a wallet that the user holds.
    Wallet {
        /// The wallet's id.
        wallet_id: WalletId,
        /// Its chain.
        wallet_type: WalletType,
        /// Its address, in the chain's own text form.
        public_address: String,
    },
    /// A sign-in with an identity provider.
    Provider {
        /// The id of the user's link to it.
        link_id: ProviderLinkId,
        /// Its name.
        provider: String,
        /// The user's id there.
        subject: String,
    },
}

impl Proof {
    /// The `delivery_channel` in the Session object.
    pub fn delivery_channel(&self) -> Cow<'static, str> {
        let channel = match self {
            Self::Provider { provider, .. } => return format!("{provider}_oauth").into(),
            Self::EmailCode { .. } | Self::EmailLink { .. } => "email",
            Self::SmsCode { .. } => "sms",
            Self::Password => "password",
            Self::Totp { .. } => "totp_authenticator",
            Self::RecoveryCode { .. } => "totp_recovery_code",
            Self::Passkey { .. } => "webauthn_credential",
            Self::Wallet {
                wallet_type: WalletType::Solana,
                ..
            } => "sol_wallet",
            // Sign-in supports no other chain.
            Self::Wallet { .. } => "eth_wallet",
        };
        channel.into()
    }

    /// The `type` in the Session object.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::EmailCode { .. } | Self::SmsCode { .. } => "otp",
            Self::EmailLink { .. } => "magic_link",
            Self::Password => "password",
            Self::Totp { .. } | Self::RecoveryCode { .. } => "totp",
            Self::Passkey { .. } => "webauthn",
            Self::Wallet { .. } => "wallet",
            Self::Provider { .. } => "oauth",
        }
    }
}

/// Without e-mail address, phone number, wallet address or the id at a provider.
impl std::fmt::Debug for Proof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::EmailCode { email_id, .. } => write!(f, "EmailCode({email_id})"),
            Self::SmsCode {
                phone_number_id, ..
            } => write!(f, "SmsCode({phone_number_id})"),
            Self::EmailLink { email_id, .. } => write!(f, "EmailLink({email_id})"),
            Self::Password => f.write_str("Password"),
            Self::Totp { totp_id } => write!(f, "Totp({totp_id})"),
            Self::RecoveryCode { totp_id } => write!(f, "RecoveryCode({totp_id})"),
            Self::Passkey {
                webauthn_credential_id,
            } => write!(f, "Passkey({webauthn_credential_id})"),
            Self::Wallet { wallet_id, .. } => write!(f, "Wallet({wallet_id})"),
            Self::Provider { link_id, .. } => write!(f, "Provider({link_id})"),
        }
    }
}

impl Proof {
    /// Whether it is a code of an authenticator app or a recovery code.
    pub const fn is_second_factor(&self) -> bool {
        matches!(self, Self::Totp { .. } | Self::RecoveryCode { .. })
    }

    /// Whether both proofs refer to the same object, ignoring their other data.
    fn is_of_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::EmailCode { email_id: a, .. }, Self::EmailCode { email_id: b, .. })
            | (Self::EmailLink { email_id: a, .. }, Self::EmailLink { email_id: b, .. }) => a == b,
            (
                Self::SmsCode {
                    phone_number_id: a, ..
                },
                Self::SmsCode {
                    phone_number_id: b, ..
                },
            ) => a == b,
            (Self::Password, Self::Password) => true,
            (Self::Totp { totp_id: a }, Self::Totp { totp_id: b })
            | (Self::RecoveryCode { totp_id: a }, Self::RecoveryCode { totp_id: b }) => a == b,
            (
                Self::Passkey {
                    webauthn_credential_id: a,
                },
                Self::Passkey {
                    webauthn_credential_id: b,
                },
            ) => a == b,
            (Self::Wallet { wallet_id: a, .. }, Self::Wallet { wallet_id: b, .. }) => a == b,
            (Self::Provider { link_id: a, .. }, Self::Provider { link_id: b, .. }) => a == b,
            (
                Self::EmailCode { .. }
                | Self::SmsCode { .. }
                | Self::EmailLink { .. }
                | Self::Password
                | Self::Totp { .. }
                | Self::RecoveryCode { .. }
                | Self::Passkey { .. }
                | Self::Wallet { .. }
                | Self::Provider { .. },
                _,
            ) => false,
        }
    }
}

/// Limits on the lifetime of an App's sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// Maximum time from start to end (S-3).
    pub absolute: Seconds,
    /// Maximum time without verification, if the App set one (S-3).
    pub idle: Option<Seconds>,
}

/// A signed-in user on one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The id; `jti` of its JWTs.
    pub id: SessionId,
    /// The App and environment.
    pub world: World,
    /// The signed-in user.
    pub user_id: UserId,
    /// When it started; never changes.
    pub started_at: Timestamp,
    /// When it expires unless extended.
    pub expires_at: Timestamp,
    /// When it was last verified, to the minute.
    pub last_active_at: Timestamp,
    /// When the record was created.
    pub created_at: Timestamp,
    /// When the record last changed.
    pub updated_at: Timestamp,
    /// The factors used to sign in.
    pub factors: Vec<Factor>,
    /// The device on which it was created.
    pub device_fingerprint: DeviceFingerprint,
    /// Strings the App attached.
    pub permissions: Vec<String>,
    /// When it was ended before its expiry.
    pub deleted_at: Option<Timestamp>,
}

/// A successful sign-in of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignIn {
    /// The user.
    pub user_id: UserId,
    /// The verified factor.
    pub factor: Factor,
    /// The device.
    pub device_fingerprint: DeviceFingerprint,
}

impl Session {
    /// Creates a session with one factor.
    pub fn start(
        id: SessionId,
        world: World,
        sign_in: SignIn,
        length: Seconds,
        limits: SessionLimits,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            world,
            user_id: sign_in.user_id,
            started_at: now,
            expires_at: now + length.min(limits.absolute),
            last_active_at: now,
            created_at: now,
            updated_at: now,
            factors: vec![sign_in.factor],
            device_fingerprint: sign_in.device_fingerprint,
            permissions: Vec::new(),
            deleted_at: None,
        }
    }

    /// Whether the session is valid at this time: not ended, not expired, and not idle for too long.
    pub fn is_alive(&self, limits: SessionLimits, now: Timestamp) -> bool {
        let within_absolute = now < self.started_at + limits.absolute;
        let within_idle = limits
            .idle
            .is_none_or(|idle| now < self.last_active_at + idle);
        self.deleted_at.is_none() && now < self.expires_at && within_absolute && within_idle
    }

    /// Extends the session to the given length from now, but never past the absolute limit.
    pub fn extend(&mut self, length: Seconds, limits: SessionLimits, now: Timestamp) {
        self.expires_at = (now + length).min(self.started_at + limits.absolute);
        self.updated_at = now;
    }

    /// Adds a factor, or updates it if already present.
    pub fn add_factor(&mut self, factor: Factor, now: Timestamp) {
        self.factors
            .retain(|known| !known.proof.is_of_the_same(&factor.proof));
        self.factors.push(factor);
        self.last_active_at = now;
        self.updated_at = now;
    }

    /// Whether it has a factor of one of these kinds that was verified within the last `within` (S-7).
    pub fn proved_lately(
        &self,
        within: Seconds,
        now: Timestamp,
        kinds: impl Fn(&Proof) -> bool,
    ) -> bool {
        self.factors
            .iter()
            .any(|factor| kinds(&factor.proof) && now < factor.last_verified_at + within)
    }

    /// Whether `last_active_at` is old enough to be updated: after a minute, or sooner under a short idle limit. That limit counts from the
    /// stored value, so an active session could otherwise expire between two updates.
    pub fn needs_activity_update(&self, limits: SessionLimits, now: Timestamp) -> bool {
        let tenth_of_idle = limits.idle.map(|idle| Seconds(idle.0 / 10));
        let every = tenth_of_idle.map_or(TOUCH_EVERY, |tenth| tenth.min(TOUCH_EVERY));
        now - self.last_active_at >= every
    }
}

/// The way in which a caller identifies a session.
#[derive(Debug, Clone)]
pub enum SessionSelector {
    /// By its token.
    Token(crate::Secret<String>),
    /// By one of its JWTs, including an expired one within the App's renewal window.
    Jwt(crate::Secret<String>),
    /// By its id.
    Id(SessionId),
}

#[cfg(test)]
mod tests;
