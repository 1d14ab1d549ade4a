//! Users as search shows them: whole, but for their wallets.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use vestry_app::users::FullUser;

use super::{Email, PhoneNumber, ShownStatusName, Totp, User};
use crate::shapes::{IdpProvider, WalletSummary, WebauthnCredential};

/// A user with everything attached to it, its wallets in short.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FoundUser {
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    #[schema(pattern = "^app_[0-9A-Za-z]{27}$")]
    app_id: String,
    /// What the service that the user was imported from knows it by; `""` of a user who was not imported with one.
    #[schema(max_length = 255)]
    external_key: String,
    /// `""` when unset.
    #[schema(max_length = 255)]
    first_name: String,
    /// `""` when unset.
    #[schema(max_length = 255)]
    middle_name: String,
    /// `""` when unset.
    #[schema(max_length = 255)]
    last_name: String,
    #[schema(value_type = ShownStatusName)]
    status: &'static str,
    /// The same as `status == "active"`.
    active: bool,
    /// Since when the user may not sign in, Unix seconds; 0 while it may.
    disabled_at: i64,
    /// Why, in the App's own words.
    #[schema(max_length = 255)]
    disabled_reason: String,
    /// When the user last signed in, Unix seconds; 0 when it never did, or not since this is noted.
    last_sign_in_at: i64,
    /// Unix seconds.
    created_at: i64,
    /// Unix seconds.
    updated_at: i64,
    /// Oldest first.
    emails: Vec<Email>,
    /// Oldest first.
    phone_numbers: Vec<PhoneNumber>,
    /// Links to identity providers, oldest first.
    idp_providers: Vec<IdpProvider>,
    /// Oldest first.
    wallets: Vec<WalletSummary>,
    /// Authenticator apps, oldest first.
    totps: Vec<Totp>,
    /// Passkeys, oldest first.
    webauthn_credentials: Vec<WebauthnCredential>,
    /// Free-form data of the App.
    #[schema(value_type = Object)]
    metadata: Map<String, Value>,
}

impl From<FullUser> for FoundUser {
    fn from(full: FullUser) -> Self {
        // Field by field, so that what a user gets is not forgotten here.
        let User {
            user_id,
            app_id,
            external_key,
            first_name,
            middle_name,
            last_name,
            status,
            active,
            disabled_at,
            disabled_reason,
            last_sign_in_at,
            created_at,
            updated_at,
            emails,
            phone_numbers,
            idp_providers,
            wallets,
            totps,
            webauthn_credentials,
            metadata,
        } = full.into();
        Self {
            user_id,
            app_id,
            external_key,
            first_name,
            middle_name,
            last_name,
            status,
            active,
            disabled_at,
            disabled_reason,
            last_sign_in_at,
            created_at,
            updated_at,
            emails,
            phone_numbers,
            idp_providers,
            wallets: wallets.into_iter().map(WalletSummary::from).collect(),
            totps,
            webauthn_credentials,
            metadata,
        }
    }
}
