//! Sessions, the factors they rest on, and how long they live.

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

/// Shortest and longest `session_expires_in`, in minutes.
pub const EXPIRES_IN_MINUTES: (i64, i64) = (5, 525_600);
/// `last_active_at` is normally written at most this often, so that a verify is one indexed read.
const TOUCH_EVERY: Seconds = Seconds(60);
/// Longest stored user agent and address, in characters.
const FINGERPRINT_MAX: usize = 1024;

/// Most `permissions` of a session, and the longest one in characters: they travel in every JWT.
pub const PERMISSIONS_MAX: (usize, usize) = (50, 100);
/// Most bytes of all `permissions` of a session together, written as a JSON array. A character has up to four bytes.
pub const PERMISSIONS_BYTES: usize = 4 * 1024;
/// Most bytes of a session as it is presented. A JWT holds it twice, and a longer one could not be signed: nothing larger is
/// stored. The longest permissions, device and first factor fit.
pub const SESSION_BYTES: usize = 16 * 1024;

/// Checks the permissions that an App wants a session to carry. What they mean is the App's business; each is kept once.
///
/// # Errors
/// More than 50, one that is empty, over 100 characters, or holds a control character, or over 4 KiB together.
pub fn permissions(wanted: Vec<String>) -> Result<Vec<String>, Invalid> {
    let (most, longest) = PERMISSIONS_MAX;
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
            format!("a session must carry at most {most} permissions"),
        ));
    }
    if json!(kept).to_string().len() > PERMISSIONS_BYTES {
        return Err(Invalid::value(
            "permissions",
            format!(
                "the permissions of a session must fit {PERMISSIONS_BYTES} bytes as a JSON array"
            ),
        ));
    }
    Ok(kept)
}

/// What the device of a verify step must share with that of the send step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum FingerprintMatch {
    /// Nothing.
    #[default]
    Off,
    /// The address.
    Ip,
    /// The user agent.
    UserAgent,
    /// Both.
    IpAndUserAgent,
}

/// What the App's backend knows about the end user's device; `""` where it said nothing.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeviceFingerprint {
    /// The end user's address, as text.
    pub ip: String,
    /// The end user's `User-Agent`.
    pub user_agent: String,
}

/// Only `[redacted]`: where people are is nobody's to log.
impl std::fmt::Debug for DeviceFingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[redacted]")
    }
}

impl DeviceFingerprint {
    /// Checks what a caller sent.
    ///
    /// # Errors
    /// A part is over 1024 characters or holds a control character.
    pub fn new(ip: Option<String>, user_agent: Option<String>) -> Result<Self, Invalid> {
        let check = |param: &'static str, text: Option<String>| {
            let text = text.unwrap_or_default();
            if text.chars().any(char::is_control) || text.chars().count() > FINGERPRINT_MAX {
                return Err(Invalid::value(
                    param,
                    format!(
                        "{param} must have at most {FINGERPRINT_MAX} characters and no control characters"
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

    /// What limits by address count this device under; `None` when the caller said nothing of its address.
    ///
    /// One machine must not be many: addresses are compared as addresses and not as text, an IPv4 address inside an IPv6 one is
    /// itself, and of IPv6 the network of 64 bits counts, which is what one customer has at least. Whatever is no address
    /// shares one subject, or every new misspelling would be a new machine.
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

    /// Whether two send steps named the same device or none, as far as the App's setting asks.
    pub fn agree(one: Option<&Self>, other: Option<&Self>, rule: FingerprintMatch) -> bool {
        let nothing_said = Self::default();
        let (one, other) = (one.unwrap_or(&nothing_said), other.unwrap_or(&nothing_said));
        one.matches(other, rule)
    }

    /// Whether the device of a verify step is the device of the send step, as far as the App's setting asks.
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

/// One way in which the session's user has proved to be that user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// What was proved.
    pub proof: Proof,
    /// When it was last proved.
    pub last_verified_at: Timestamp,
}

/// What a factor proves.
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
        /// The number, E.164.
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
    /// The word of an identity provider.
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
    /// How the proof reached us, as the Session object says it.
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
            // No other chain signs people in.
            Self::Wallet { .. } => "eth_wallet",
        };
        channel.into()
    }

    /// What kind of proof it is, as the Session object says it.
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

/// Without address, number, wallet address or the id at a provider.
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
    /// Whether it is what an authenticator app proves, or a recovery code in its place.
    pub const fn is_second_factor(&self) -> bool {
        matches!(self, Self::Totp { .. } | Self::RecoveryCode { .. })
    }

    /// Whether the other proof is of the same thing, whatever else is known of that thing.
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

/// How long sessions of an App may live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// From its start to its end at the latest (S-3).
    pub absolute: Seconds,
    /// Without a verify, when the App set one (S-3).
    pub idle: Option<Seconds>,
}

/// A signed-in user on one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The id; `jti` of its JWTs.
    pub id: SessionId,
    /// The App and environment.
    pub world: World,
    /// Who is signed in.
    pub user_id: UserId,
    /// When it began; never moves.
    pub started_at: Timestamp,
    /// When it ends unless it is extended.
    pub expires_at: Timestamp,
    /// When it was last verified, to the minute.
    pub last_active_at: Timestamp,
    /// When the record was made.
    pub created_at: Timestamp,
    /// When the record last changed.
    pub updated_at: Timestamp,
    /// What it rests on.
    pub factors: Vec<Factor>,
    /// The device it was made on.
    pub device_fingerprint: DeviceFingerprint,
    /// Strings the App attached.
    pub permissions: Vec<String>,
    /// When it was ended before its time.
    pub deleted_at: Option<Timestamp>,
}

/// Somebody has just proved to be a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignIn {
    /// Who.
    pub user_id: UserId,
    /// By what.
    pub factor: Factor,
    /// On which device.
    pub device_fingerprint: DeviceFingerprint,
}

impl Session {
    /// A new session that rests on one factor.
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

    /// Whether the session counts at this moment: not ended, not past its end, not idle for too long.
    pub fn is_alive(&self, limits: SessionLimits, now: Timestamp) -> bool {
        let within_absolute = now < self.started_at + limits.absolute;
        let within_idle = limits
            .idle
            .is_none_or(|idle| now < self.last_active_at + idle);
        self.deleted_at.is_none() && now < self.expires_at && within_absolute && within_idle
    }

    /// Moves the end to so much from now, never past the absolute limit.
    pub fn extend(&mut self, length: Seconds, limits: SessionLimits, now: Timestamp) {
        self.expires_at = (now + length).min(self.started_at + limits.absolute);
        self.updated_at = now;
    }

    /// Adds a factor, or renews it when it is there already.
    pub fn add_factor(&mut self, factor: Factor, now: Timestamp) {
        self.factors
            .retain(|known| !known.proof.is_of_the_same(&factor.proof));
        self.factors.push(factor);
        self.last_active_at = now;
        self.updated_at = now;
    }

    /// Whether it holds a factor of one of these kinds that was proved within the last `within` (S-7).
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

    /// Whether `last_active_at` is old enough to be written again: after a minute, or sooner under a short idle limit. That
    /// limit counts from what was written, so a session in use would fall to it between two writes.
    pub fn wants_touch(&self, limits: SessionLimits, now: Timestamp) -> bool {
        let tenth_of_idle = limits.idle.map(|idle| Seconds(idle.0 / 10));
        let every = tenth_of_idle.map_or(TOUCH_EVERY, |tenth| tenth.min(TOUCH_EVERY));
        now - self.last_active_at >= every
    }
}

/// Which session a caller means.
#[derive(Debug, Clone)]
pub enum SessionSelector {
    /// By its token.
    Token(crate::Secret<String>),
    /// By one of its JWTs, also an expired one within the App's renewal window.
    Jwt(crate::Secret<String>),
    /// By its id.
    Id(SessionId),
}

#[cfg(test)]
mod tests;
