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
    /// Id of the passkey.
    #[schema(pattern = "^webauthn_[0-9A-Za-z]{27}$")]
    id: String,
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// Relying party id that the passkey is bound to.
    #[schema(min_length = 1, max_length = 253)]
    domain: String,
    /// Kind of authenticator that was requested: `platform` or `cross-platform`.
    #[schema(pattern = "^(platform|cross-platform)$")]
    authenticator_type: &'static str,
    /// `User-Agent` of the browser that it was created in; `""` if unknown. At most 1024 characters.
    #[schema(max_length = 1024)]
    user_agent: String,
    /// Always true, because a passkey that fails verification is not registered.
    verified: bool,
    /// When it was registered, in Unix seconds.
    created_at: i64,
    /// When it was last changed, in Unix seconds.
    updated_at: i64,
    /// When it was last used, in Unix seconds; 0 if never.
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
