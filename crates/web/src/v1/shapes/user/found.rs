//! Users as returned by a search: complete except for their wallets.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use vestry_app::identity::users::FullUser;

use super::{Email, PhoneNumber, ShownStatusName, Totp, User};
use crate::v1::shapes::{IdpProvider, WalletSummary, WebauthnCredential};

/// A user with all of its identifiers and credentials, and a summary of its wallets.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FoundUser {
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// Id of the App.
    #[schema(pattern = "^app_[0-9A-Za-z]{27}$")]
    app_id: String,
    /// Id of the user in the service that it was imported from; `""` if it has none. At most 255 characters.
    #[schema(max_length = 255)]
    external_key: String,
    /// First name; `""` if unset. At most 255 characters.
    #[schema(max_length = 255)]
    first_name: String,
    /// Middle name; `""` if unset. At most 255 characters.
    #[schema(max_length = 255)]
    middle_name: String,
    /// Last name; `""` if unset. At most 255 characters.
    #[schema(max_length = 255)]
    last_name: String,
    #[schema(value_type = ShownStatusName)]
    status: &'static str,
    /// Whether `status` is `active`.
    active: bool,
    /// When the user was disabled, in Unix seconds; 0 if the user is not disabled.
    disabled_at: i64,
    /// Reason given by the App for disabling the user; `""` if none. At most 255 characters.
    #[schema(max_length = 255)]
    disabled_reason: String,
    /// When the user last signed in, in Unix seconds; 0 if never, or not since this has been recorded.
    last_sign_in_at: i64,
    /// When the user was created, in Unix seconds.
    created_at: i64,
    /// When the user was last changed, in Unix seconds.
    updated_at: i64,
    /// E-mail addresses, oldest first.
    emails: Vec<Email>,
    /// Phone numbers, oldest first.
    phone_numbers: Vec<PhoneNumber>,
    /// Links to identity providers, oldest first.
    idp_providers: Vec<IdpProvider>,
    /// Wallets, oldest first.
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
        // Destructured in full, so that a new field of `User` cannot be forgotten here.
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
