//! The Session object of the API, as used in responses and JWT claims.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use vestry_domain::ids::{
    EmailId, PhoneNumberId, ProviderLinkId, SessionId, TotpId, UserId, WalletId,
    WebauthnCredentialId,
};
use vestry_domain::session::{Factor, Proof, SESSION_BYTES, Session};
use vestry_domain::{Invalid, Timestamp};

/// A session as JSON: the same text in responses and, twice, in its JWTs.
#[derive(Clone, Serialize)]
#[serde(transparent)]
pub struct SessionObject(Box<RawValue>);

impl SessionObject {
    /// The object of a session.
    pub fn of(session: &Session) -> Self {
        // Texts, numbers and lists of them are always JSON.
        let text = to_raw_value(&Members::of(session));
        Self(text.unwrap_or_else(|_never| RawValue::NULL.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.get()
    }
}

/// Prints only `[redacted]`: the object identifies the user and their device.
impl std::fmt::Debug for SessionObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[redacted]")
    }
}

#[derive(Serialize)]
struct Members<'a> {
    id: SessionId,
    user_id: UserId,
    started_at: Timestamp,
    expires_at: Timestamp,
    last_active_at: Timestamp,
    created_at: Timestamp,
    updated_at: Timestamp,
    factors: Vec<FactorObject<'a>>,
    device_fingerprint: DeviceObject<'a>,
    permissions: &'a [String],
    deleted: bool,
    /// 0 when it is not.
    deleted_at: Timestamp,
}

#[derive(Serialize)]
struct FactorObject<'a> {
    delivery_channel: Cow<'static, str>,
    r#type: &'static str,
    method: MethodObject<'a>,
}

#[derive(Serialize)]
struct DeviceObject<'a> {
    user_agent: &'a str,
    ip: &'a str,
}

/// A proved factor and when it was proved.
#[derive(Serialize)]
#[serde(untagged)]
enum MethodObject<'a> {
    Email {
        method_id: EmailId,
        method_type: &'static str,
        email_id: EmailId,
        email: &'a str,
        last_verified_at: Timestamp,
    },
    PhoneNumber {
        method_id: PhoneNumberId,
        method_type: &'static str,
        phone_number_id: PhoneNumberId,
        phone_number: &'a str,
        last_verified_at: Timestamp,
    },
    Password {
        last_verified_at: Timestamp,
    },
    Totp {
        method_id: TotpId,
        method_type: &'static str,
        totp_id: TotpId,
        last_verified_at: Timestamp,
    },
    Passkey {
        method_id: WebauthnCredentialId,
        method_type: &'static str,
        webauthn_credential_id: WebauthnCredentialId,
        last_verified_at: Timestamp,
    },
    Wallet {
        method_id: WalletId,
        method_type: &'static str,
        wallet_id: WalletId,
        wallet_type: &'static str,
        wallet_public_address: &'a str,
        last_verified_at: Timestamp,
    },
    Provider {
        method_id: ProviderLinkId,
        method_type: &'static str,
        provider: &'a str,
        provider_subject: &'a str,
        last_verified_at: Timestamp,
    },
}

impl<'a> Members<'a> {
    fn of(session: &'a Session) -> Self {
        Self {
            id: session.id,
            user_id: session.user_id,
            started_at: session.started_at,
            expires_at: session.expires_at,
            last_active_at: session.last_active_at,
            created_at: session.created_at,
            updated_at: session.updated_at,
            factors: session.factors.iter().map(FactorObject::of).collect(),
            device_fingerprint: DeviceObject {
                user_agent: &session.device_fingerprint.user_agent,
                ip: &session.device_fingerprint.ip,
            },
            permissions: &session.permissions,
            deleted: session.deleted_at.is_some(),
            deleted_at: session.deleted_at.unwrap_or(Timestamp::from_unix(0)),
        }
    }
}

impl<'a> FactorObject<'a> {
    fn of(factor: &'a Factor) -> Self {
        Self {
            delivery_channel: factor.proof.delivery_channel(),
            r#type: factor.proof.kind(),
            method: MethodObject::of(factor),
        }
    }
}

/// Checks that the session still fits into its JWT. Call it before storing, so that every stored session can be signed.
///
/// # Errors
/// The Session object has more than [`SESSION_BYTES`]; names the field that made it grow.
pub(crate) fn check_size(session: &Session, param: &'static str) -> Result<(), Invalid> {
    if SessionObject::of(session).as_str().len() <= SESSION_BYTES {
        return Ok(());
    }
    Err(Invalid::value(
        param,
        format!(
            "the session would exceed {SESSION_BYTES} bytes; shorten `permissions` or start a new session"
        ),
    ))
}

impl<'a> MethodObject<'a> {
    fn of(factor: &'a Factor) -> Self {
        let last_verified_at = factor.last_verified_at;
        match &factor.proof {
            Proof::EmailCode { email_id, email } | Proof::EmailLink { email_id, email } => {
                Self::Email {
                    method_id: *email_id,
                    method_type: "email",
                    email_id: *email_id,
                    email,
                    last_verified_at,
                }
            }
            Proof::SmsCode {
                phone_number_id,
                phone_number,
            } => Self::PhoneNumber {
                method_id: *phone_number_id,
                method_type: "phone_number",
                phone_number_id: *phone_number_id,
                phone_number,
                last_verified_at,
            },
            Proof::Password => Self::Password { last_verified_at },
            Proof::Totp { totp_id } | Proof::RecoveryCode { totp_id } => Self::Totp {
                method_id: *totp_id,
                method_type: "totp",
                totp_id: *totp_id,
                last_verified_at,
            },
            Proof::Passkey {
                webauthn_credential_id,
            } => Self::Passkey {
                method_id: *webauthn_credential_id,
                method_type: "webauthn",
                webauthn_credential_id: *webauthn_credential_id,
                last_verified_at,
            },
            Proof::Wallet {
                wallet_id,
                wallet_type,
                public_address,
            } => Self::Wallet {
                method_id: *wallet_id,
                method_type: "wallet",
                wallet_id: *wallet_id,
                wallet_type: wallet_type.as_str(),
                wallet_public_address: public_address,
                last_verified_at,
            },
            Proof::Provider {
                link_id,
                provider,
                subject,
            } => Self::Provider {
                method_id: *link_id,
                method_type: "oauth",
                provider,
                provider_subject: subject,
                last_verified_at,
            },
        }
    }
}

#[cfg(test)]
mod tests;
