//! Passkeys of users.

use serde::Serialize;
use utoipa::ToSchema;
use vestry_domain::Timestamp;
use vestry_domain::passkey::Passkey;

/// A passkey of a user.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WebauthnCredential)]
pub(crate) struct WebauthnCredential {
    #[schema(pattern = "^webauthn_[0-9A-Za-z]{27}$")]
    id: String,
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// The relying party id it is bound to.
    #[schema(min_length = 1, max_length = 253)]
    domain: String,
    /// What kind of authenticator was asked for.
    #[schema(pattern = "^(platform|cross-platform)$")]
    authenticator_type: &'static str,
    /// The browser it was made in; `""` when it was not told.
    #[schema(max_length = 1024)]
    user_agent: String,
    /// Always true: what fails its checks is not registered.
    verified: bool,
    /// Unix seconds.
    created_at: i64,
    /// Unix seconds.
    updated_at: i64,
    /// Unix seconds; 0 when it was never used.
    last_used_at: i64,
}

impl From<Passkey> for WebauthnCredential {
    fn from(passkey: Passkey) -> Self {
        Self {
            id: passkey.id.to_string(),
            user_id: passkey.user_id.to_string(),
            domain: passkey.domain.to_string(),
            authenticator_type: passkey.authenticator_type.as_str(),
            user_agent: passkey.user_agent,
            verified: true,
            created_at: passkey.created_at.unix(),
            updated_at: passkey.updated_at.unix(),
            last_used_at: passkey.last_used_at.map_or(0, Timestamp::unix),
        }
    }
}
