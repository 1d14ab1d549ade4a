//! The Session object of the API: what answers show of a session, and what its JWTs claim of it.

use std::borrow::Cow;

use serde_json::{Value, json};
use vestry_domain::session::{Factor, Proof, SESSION_BYTES, Session};
use vestry_domain::wallet::WalletType;
use vestry_domain::{Invalid, Timestamp};

/// A session as it is presented, in answers and as a claim of its JWTs.
pub fn session_object(session: &Session) -> Value {
    let factors: Vec<Value> = session
        .factors
        .iter()
        .map(|factor| json!({ "delivery_channel": delivery_channel(&factor.proof), "type": kind(&factor.proof), "method": method(factor) }))
        .collect();
    json!({
        "id": session.id,
        "user_id": session.user_id,
        "started_at": session.started_at,
        "expires_at": session.expires_at,
        "last_active_at": session.last_active_at,
        "created_at": session.created_at,
        "updated_at": session.updated_at,
        "factors": factors,
        "device_fingerprint": { "user_agent": session.device_fingerprint.user_agent, "ip": session.device_fingerprint.ip },
        "permissions": session.permissions,
        "deleted": session.deleted_at.is_some(),
        "deleted_at": session.deleted_at.map_or(0, Timestamp::unix),
    })
}

/// Whether the session still fits into its JWT. To be asked before it is stored: what is stored can always be signed.
///
/// # Errors
/// The Session object has more than [`SESSION_BYTES`]; names the field that made it grow.
pub(crate) fn check_size(session: &Session, param: &'static str) -> Result<(), Invalid> {
    if session_object(session).to_string().len() <= SESSION_BYTES {
        return Ok(());
    }
    Err(Invalid::value(
        param,
        format!(
            "the session would have more than {SESSION_BYTES} bytes; start another one, or give it fewer permissions"
        ),
    ))
}

/// How the proof reached us.
fn delivery_channel(proof: &Proof) -> Cow<'static, str> {
    let channel = match proof {
        Proof::Provider { provider, .. } => return format!("{provider}_oauth").into(),
        Proof::EmailCode { .. } | Proof::EmailLink { .. } => "email",
        Proof::SmsCode { .. } => "sms",
        Proof::Password => "password",
        Proof::Totp { .. } => "totp_authenticator",
        Proof::RecoveryCode { .. } => "totp_recovery_code",
        Proof::Passkey { .. } => "webauthn_credential",
        Proof::Wallet {
            wallet_type: WalletType::Solana,
            ..
        } => "sol_wallet",
        // No other chain signs people in.
        Proof::Wallet { .. } => "eth_wallet",
    };
    channel.into()
}

/// What kind of proof it is.
const fn kind(proof: &Proof) -> &'static str {
    match proof {
        Proof::EmailCode { .. } | Proof::SmsCode { .. } => "otp",
        Proof::EmailLink { .. } => "magic_link",
        Proof::Password => "password",
        Proof::Totp { .. } | Proof::RecoveryCode { .. } => "totp",
        Proof::Passkey { .. } => "webauthn",
        Proof::Wallet { .. } => "wallet",
        Proof::Provider { .. } => "oauth",
    }
}

/// What was proved and when.
fn method(factor: &Factor) -> Value {
    let last_verified_at = factor.last_verified_at;
    match &factor.proof {
        Proof::EmailCode { email_id, email } | Proof::EmailLink { email_id, email } => json!({
            "method_id": email_id,
            "method_type": "email",
            "email_id": email_id,
            "email": email,
            "last_verified_at": last_verified_at,
        }),
        Proof::SmsCode {
            phone_number_id,
            phone_number,
        } => json!({
            "method_id": phone_number_id,
            "method_type": "phone_number",
            "phone_number_id": phone_number_id,
            "phone_number": phone_number,
            "last_verified_at": last_verified_at,
        }),
        Proof::Password => json!({ "last_verified_at": last_verified_at }),
        Proof::Totp { totp_id } | Proof::RecoveryCode { totp_id } => json!({
            "method_id": totp_id,
            "method_type": "totp",
            "totp_id": totp_id,
            "last_verified_at": last_verified_at,
        }),
        Proof::Passkey {
            webauthn_credential_id,
        } => json!({
            "method_id": webauthn_credential_id,
            "method_type": "webauthn",
            "webauthn_credential_id": webauthn_credential_id,
            "last_verified_at": last_verified_at,
        }),
        Proof::Wallet {
            wallet_id,
            wallet_type,
            public_address,
        } => json!({
            "method_id": wallet_id,
            "method_type": "wallet",
            "wallet_id": wallet_id,
            "wallet_type": wallet_type.as_str(),
            "wallet_public_address": public_address,
            "last_verified_at": last_verified_at,
        }),
        Proof::Provider {
            link_id,
            provider,
            subject,
        } => json!({
            "method_id": link_id,
            "method_type": "oauth",
            "provider": provider,
            "provider_subject": subject,
            "last_verified_at": last_verified_at,
        }),
    }
}

#[cfg(test)]
mod tests;
