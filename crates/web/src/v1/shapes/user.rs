//! Users and their identifiers, credentials and wallets.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use vestry_app::identity::users::FullUser;
use vestry_domain::user::{ShownStatus, UserEmail, UserPhone};
use vestry_domain::{Timestamp, totp};

use super::{IdpProvider, Wallet, WalletSummary, WebauthnCredential};

/// Declares a user, with wallets of the given shape.
macro_rules! user_shape {
    ($(#[$attribute:meta])* $name:ident, $wallet:ident) => {
        $(#[$attribute])*
        #[derive(Debug, Serialize, ToSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
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
            /// When the user last signed in, with or without a session, in Unix seconds; 0 if never, or not since this has been recorded.
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
            wallets: Vec<$wallet>,
            /// Authenticator apps, oldest first.
            totps: Vec<Totp>,
            /// Passkeys, oldest first.
            webauthn_credentials: Vec<WebauthnCredential>,
            /// Free-form data of the App.
            #[schema(value_type = Object)]
            metadata: Map<String, Value>,
        }

        impl From<FullUser> for $name {
            fn from(full: FullUser) -> Self {
                let profile = full.profile;
                let links = full.provider_links.into_iter();
                let idp_providers = links
                    .map(|link| IdpProvider::of(link, &profile.emails))
                    .collect();
                let user = profile.user;
                let status = user.shown_status();
                let disabled = user.disabled;
                Self {
                    user_id: user.id.to_string(),
                    app_id: user.world.app_id.to_string(),
                    external_key: full.external_key.unwrap_or_default(),
                    first_name: user.first_name,
                    middle_name: user.middle_name,
                    last_name: user.last_name,
                    status: status.as_str(),
                    active: status == ShownStatus::Active,
                    disabled_at: disabled.as_ref().map_or(0, |disabled| disabled.at.unix()),
                    disabled_reason: disabled.map(|disabled| disabled.reason).unwrap_or_default(),
                    last_sign_in_at: user.last_sign_in_at.map_or(0, Timestamp::unix),
                    created_at: user.created_at.unix(),
                    updated_at: user.updated_at.unix(),
                    emails: profile.emails.iter().map(Email::from).collect(),
                    phone_numbers: profile.phones.iter().map(PhoneNumber::from).collect(),
                    idp_providers,
                    wallets: full.wallets.into_iter().map($wallet::from).collect(),
                    totps: full.totps.iter().map(Totp::from).collect(),
                    webauthn_credentials: full
                        .passkeys
                        .into_iter()
                        .map(WebauthnCredential::from)
                        .collect(),
                    metadata: user.metadata.as_object().clone(),
                }
            }
        }
    };
}

user_shape! {
    /// A user with all of its identifiers, credentials and wallets.
    User, Wallet
}

user_shape! {
    /// A user with all of its identifiers and credentials, and a summary of its wallets.
    FoundUser, WalletSummary
}

/// Status of a user: `pending` until an identifier is verified, if verification was required; `active` otherwise.
#[derive(ToSchema)]
#[schema(as = UserStatus, rename_all = "snake_case")]
#[expect(dead_code, reason = "describes names that the domain defines")]
pub(crate) enum UserStatusName {
    Pending,
    Active,
}

/// Status of a user, including `disabled`: the user cannot sign in, and returns to the previous status when enabled.
#[derive(ToSchema)]
#[schema(as = ShownUserStatus, rename_all = "snake_case")]
#[expect(dead_code, reason = "describes names that the domain defines")]
pub(crate) enum ShownStatusName {
    Pending,
    Active,
    Disabled,
}

/// An e-mail address of a user.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Email {
    /// Id of the e-mail address.
    #[schema(pattern = "^email_[0-9A-Za-z]{27}$")]
    id: String,
    /// Whether the user has proved control of the address.
    verified: bool,
    /// The address as written in the request that verified it, or as first sent until then. 3 to 254 characters.
    #[schema(min_length = 3, max_length = 254)]
    email: String,
    /// When the address was added, in Unix seconds.
    created_at: i64,
    /// When the address was last changed, in Unix seconds.
    updated_at: i64,
}

/// A phone number of a user.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PhoneNumber {
    /// Id of the phone number.
    #[schema(pattern = "^pn_[0-9A-Za-z]{27}$")]
    id: String,
    /// Whether the user has proved control of the number.
    verified: bool,
    /// The phone number, in E.164 format.
    #[schema(pattern = "^\\+[1-9][0-9]{1,14}$")]
    phone_number: String,
    /// When the number was added, in Unix seconds.
    created_at: i64,
    /// When the number was last changed, in Unix seconds.
    updated_at: i64,
}

/// An authenticator app of a user.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Totp {
    /// Id of the authenticator app.
    #[schema(pattern = "^totp_[0-9A-Za-z]{27}$")]
    id: String,
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// Whether a code of the app was verified. Until then it is not a factor.
    verified: bool,
    /// When the app was added, in Unix seconds.
    created_at: i64,
    /// When the app was last changed, in Unix seconds.
    updated_at: i64,
}

impl From<&totp::Totp> for Totp {
    fn from(totp: &totp::Totp) -> Self {
        Self {
            id: totp.id.to_string(),
            user_id: totp.user_id.to_string(),
            verified: totp.verified,
            created_at: totp.created_at.unix(),
            updated_at: totp.updated_at.unix(),
        }
    }
}

impl From<&UserEmail> for Email {
    fn from(email: &UserEmail) -> Self {
        Self {
            id: email.id.to_string(),
            verified: email.verified,
            email: email.email.address().to_owned(),
            created_at: email.created_at.unix(),
            updated_at: email.updated_at.unix(),
        }
    }
}

impl From<&UserPhone> for PhoneNumber {
    fn from(phone: &UserPhone) -> Self {
        Self {
            id: phone.id.to_string(),
            verified: phone.verified,
            phone_number: phone.number.as_str().to_owned(),
            created_at: phone.created_at.unix(),
            updated_at: phone.updated_at.unix(),
        }
    }
}
