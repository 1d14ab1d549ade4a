//! The event types: their names, descriptions and fields, and a constructor function for each. The API description is generated from the
//! same table.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

use super::field::{Field, FieldKind};
use super::words::{
    ChangedFields, DisabledReason, EndReason, FailReason, Method, Removed, RpcMethod, SignedBy, Via,
};
use crate::Invalid;
use crate::api_key::{ApiKeyKind, Scope};
use crate::ids::{
    ApiKeyId, AppId, AuditEntryId, EmailId, EventId, ManagementKeyId, OperatorLinkId,
    PhoneNumberId, ProviderLinkId, RedirectUrlId, SessionId, SigningKeyId, TotpId, UserId,
    WalletId, WebauthnCredentialId, WebhookEndpointId,
};
use crate::message::{Channel, JobEnd, MessageKind};
use crate::operator::Role;
use crate::provider::ProviderName;
use crate::redirect::RedirectKind;
use crate::session::Proof;
use crate::timestamp::Timestamp;
use crate::wallet::WalletType;

/// Maximum number of names in one list of types.
const MAX_NAMES: usize = 20;

macro_rules! events {
    ($($how:ident $make:ident $kind:ident $name:literal $text:literal ($($field:ident: $of:ty),*);)*) => {
        /// The type of an event. A name never changes, and never changes its meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EventKind {
            $(#[doc = $text] $kind,)*
        }

        impl EventKind {
            /// All types, in the order in which they are documented.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// The name, such as `user.created`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// The description, in one sentence.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$kind => $text,)*
                }
            }

            /// The fields of its data.
            pub const fn fields(self) -> &'static [(&'static str, FieldKind)] {
                match self {
                    $(Self::$kind => &[$((stringify!($field), <$of as Field>::KIND)),*],)*
                }
            }

            /// Whether it is recorded only if requested by name.
            pub const fn is_optional(self) -> bool {
                match self {
                    $(Self::$kind => events!(@$how),)*
                }
            }
        }

        impl Fact {
            $(
                #[doc = $text]
                pub fn $make($($field: $of),*) -> Self {
                    Self::of(EventKind::$kind)$(.with(stringify!($field), &$field))*
                }
            )*
        }
    };
    (@always) => { false };
    (@optional) => { true };
}

events! {
    always user_created UserCreated "user.created" "A user was created." (user_id: UserId, via: Via);
    always user_updated UserUpdated "user.updated" "Names or metadata of a user were changed." (user_id: UserId, changed: ChangedFields);
    always user_activated UserActivated "user.activated" "A pending user became active." (user_id: UserId);
    always user_disabled UserDisabled "user.disabled" "A user was disabled and can no longer sign in." (user_id: UserId);
    always user_enabled UserEnabled "user.enabled" "A disabled user was enabled and can sign in again." (user_id: UserId);
    always user_unlocked UserUnlocked "user.unlocked" "A user's sign-in lockout was cleared." (user_id: UserId);
    always user_claimed UserClaimed "user.claimed" "The owner of an address or phone number verified it and took over an account that someone else may have created with it. `removed` lists the deleted items." (user_id: UserId, removed: Vec<Removed>);
    always user_deleted UserDeleted "user.deleted" "A user was deleted with all their data." (user_id: UserId);
    always users_imported UsersImported "users.imported" "An import created `count` users, without an event for each." (count: u64);

    always email_added EmailAdded "email.added" "An e-mail address was added to a user." (user_id: UserId, email_id: EmailId);
    always email_verified EmailVerified "email.verified" "An e-mail address was verified by its owner, or marked as verified by the App." (user_id: UserId, email_id: EmailId);
    always email_removed EmailRemoved "email.removed" "An e-mail address was removed from a user." (user_id: UserId, email_id: EmailId);
    always phone_number_added PhoneNumberAdded "phone_number.added" "A phone number was added to a user." (user_id: UserId, phone_number_id: PhoneNumberId);
    always phone_number_verified PhoneNumberVerified "phone_number.verified" "A phone number was verified by its owner, or marked as verified by the App." (user_id: UserId, phone_number_id: PhoneNumberId);
    always phone_number_removed PhoneNumberRemoved "phone_number.removed" "A phone number was removed from a user." (user_id: UserId, phone_number_id: PhoneNumberId);

    always session_created SessionCreated "session.created" "A session started." (user_id: UserId, session_id: SessionId, factor: Proof);
    always session_factor_added SessionFactorAdded "session.factor_added" "Another factor was verified in an existing session." (user_id: UserId, session_id: SessionId, factor: Proof);
    always session_ended SessionEnded "session.ended" "Sessions were ended; `session_ids` lists the first hundred. A session that expires has no event." (user_id: Option<UserId>, session_ids: Vec<SessionId>, count: u64, reason: EndReason);
    always sign_in_blocked SignInBlocked "sign_in.blocked" "Repeated failures locked sign-in by this method; `until` is when the lockout ends." (user_id: Option<UserId>, method: Method, until: Timestamp);
    optional sign_in_failed SignInFailed "sign_in.failed" "A sign-in failed. If `count` is set, the event stands for that many further failures within a minute." (user_id: Option<UserId>, method: Method, reason: FailReason, count: Option<u64>);

    always password_set PasswordSet "password.set" "A password was set for a user who had none." (user_id: UserId);
    always password_changed PasswordChanged "password.changed" "A user's password was changed." (user_id: UserId);
    always password_reset PasswordReset "password.reset" "A user's password was reset with a mailed link." (user_id: UserId);
    optional password_reset_requested PasswordResetRequested "password.reset_requested" "A password reset link was requested." (user_id: UserId);

    always totp_added TotpAdded "totp.added" "An authenticator app was added and verified." (user_id: UserId, totp_id: TotpId);
    always totp_removed TotpRemoved "totp.removed" "An authenticator app was removed." (user_id: UserId, totp_id: TotpId);
    always recovery_code_used RecoveryCodeUsed "recovery_code.used" "A recovery code was used up." (user_id: UserId, totp_id: TotpId, remaining: u64);
    always passkey_added PasskeyAdded "passkey.added" "A passkey was registered." (user_id: UserId, webauthn_credential_id: WebauthnCredentialId);
    always passkey_removed PasskeyRemoved "passkey.removed" "A passkey was removed." (user_id: UserId, webauthn_credential_id: WebauthnCredentialId);
    always passkey_counter_regressed PasskeyCounterRegressed "passkey.counter_regressed" "A passkey's signature counter did not increase: the passkey may have been cloned." (user_id: UserId, webauthn_credential_id: WebauthnCredentialId);

    always oauth_link_added OauthLinkAdded "oauth_link.added" "A user was linked to an identity at a provider." (user_id: UserId, idpuser_id: ProviderLinkId, provider: ProviderName);
    always oauth_link_removed OauthLinkRemoved "oauth_link.removed" "A user's link to an identity at a provider was removed." (user_id: UserId, idpuser_id: ProviderLinkId, provider: ProviderName);

    always wallet_created WalletCreated "wallet.created" "A wallet was created." (user_id: UserId, wallet_id: WalletId, wallet_type: WalletType);
    always wallet_imported WalletImported "wallet.imported" "A private key was imported as a wallet." (user_id: UserId, wallet_id: WalletId, wallet_type: WalletType);
    always wallet_linked WalletLinked "wallet.linked" "An external wallet was linked to a user; its key is not held here." (user_id: UserId, wallet_id: WalletId, wallet_type: WalletType);
    always wallet_exported WalletExported "wallet.exported" "A wallet's private key is about to be exported." (user_id: UserId, wallet_id: WalletId, wallet_type: WalletType);
    always wallet_disabled WalletDisabled "wallet.disabled" "A wallet was disabled and no longer signs." (user_id: UserId, wallet_id: WalletId, wallet_type: WalletType);
    always wallet_enabled WalletEnabled "wallet.enabled" "A disabled wallet was enabled and signs again." (user_id: UserId, wallet_id: WalletId, wallet_type: WalletType);
    always wallet_deleted WalletDeleted "wallet.deleted" "An external wallet was unlinked from its user." (user_id: UserId, wallet_id: WalletId, wallet_type: WalletType);
    always wallet_tampered WalletTampered "wallet.tampered" "A wallet's stored record failed its integrity check; the wallet does not sign." (wallet_id: WalletId);
    optional wallet_signed WalletSigned "wallet.signed" "A wallet produced a signature." (wallet_id: WalletId, action: SignedBy, method: Option<RpcMethod>, result_sha256: Option<[u8; 32]>, audit_entry_id: AuditEntryId);

    always message_failed MessageFailed "message.failed" "A message could not be delivered; `kind` is null if its contents could no longer be read." (channel: Channel, kind: Option<MessageKind>, reason: JobEnd);
    optional message_sent MessageSent "message.sent" "A message was accepted by its transport." (channel: Channel, kind: MessageKind);

    always api_key_created ApiKeyCreated "api_key.created" "An API key or public token was created." (api_key_id: ApiKeyId, kind: ApiKeyKind, scopes: Vec<Scope>);
    always api_key_updated ApiKeyUpdated "api_key.updated" "The name, scopes or restrictions of an API key were changed." (api_key_id: ApiKeyId, changed: ChangedFields);
    always api_key_revoked ApiKeyRevoked "api_key.revoked" "An API key or public token was revoked." (api_key_id: ApiKeyId);
    always signing_key_rotated SigningKeyRotated "signing_key.rotated" "A new key for signing session JWTs was created." (signing_key_id: SigningKeyId);
    always signing_key_revoked SigningKeyRevoked "signing_key.revoked" "A key for signing session JWTs was revoked; JWTs signed with it are no longer accepted." (signing_key_id: SigningKeyId);

    always app_created AppCreated "app.created" "An App was created." ();
    always app_updated AppUpdated "app.updated" "The name or settings of an App were changed, or it was disabled or enabled." (changed: ChangedFields);
    always redirect_url_added RedirectUrlAdded "redirect_url.added" "A redirect URL was registered." (redirect_url_id: RedirectUrlId, kind: RedirectKind);
    always redirect_url_removed RedirectUrlRemoved "redirect_url.removed" "A redirect URL was removed." (redirect_url_id: RedirectUrlId);
    always provider_set ProviderSet "provider.set" "An identity provider was configured, or its settings were changed." (provider: ProviderName);
    always provider_removed ProviderRemoved "provider.removed" "An identity provider was removed." (provider: ProviderName);

    always webhook_endpoint_created WebhookEndpointCreated "webhook_endpoint.created" "A webhook endpoint was created." (webhook_endpoint_id: WebhookEndpointId);
    always webhook_endpoint_updated WebhookEndpointUpdated "webhook_endpoint.updated" "The URL, name or event types of a webhook endpoint were changed." (webhook_endpoint_id: WebhookEndpointId, changed: ChangedFields);
    always webhook_endpoint_deleted WebhookEndpointDeleted "webhook_endpoint.deleted" "A webhook endpoint was deleted." (webhook_endpoint_id: WebhookEndpointId);
    always webhook_endpoint_failing WebhookEndpointFailing "webhook_endpoint.failing" "A webhook endpoint has accepted no deliveries for a day." (webhook_endpoint_id: WebhookEndpointId);
    always webhook_endpoint_disabled WebhookEndpointDisabled "webhook_endpoint.disabled" "A webhook endpoint was disabled: it failed for days (`failing`), returned 410 (`gone`), or an operator disabled it." (webhook_endpoint_id: WebhookEndpointId, reason: DisabledReason);
    always webhook_endpoint_enabled WebhookEndpointEnabled "webhook_endpoint.enabled" "A webhook endpoint was enabled again." (webhook_endpoint_id: WebhookEndpointId);
    always webhook_endpoint_secret_rotated WebhookEndpointSecretRotated "webhook_endpoint.secret_rotated" "A new signing secret was created for a webhook endpoint." (webhook_endpoint_id: WebhookEndpointId);

    always operator_invited OperatorInvited "operator.invited" "A link was created with which an operator joins; `app_ids` is null for every App." (operator_link_id: OperatorLinkId, role: Role, app_ids: Option<Vec<AppId>>);
    always operator_joined OperatorJoined "operator.joined" "An operator joined with this role." (user_id: UserId, role: Role, app_ids: Option<Vec<AppId>>);
    always operator_role_changed OperatorRoleChanged "operator.role_changed" "An operator got a role in some Apps, or in every App (`app_ids` null); `role` is null if it was taken away." (user_id: UserId, role: Option<Role>, app_ids: Option<Vec<AppId>>);
    always operator_disabled OperatorDisabled "operator.disabled" "An operator was disabled and can no longer sign in." (user_id: UserId);
    always operator_enabled OperatorEnabled "operator.enabled" "A disabled operator was enabled and can sign in again." (user_id: UserId);
    always operator_removed OperatorRemoved "operator.removed" "An operator was removed with all factors." (user_id: UserId);
    always operator_signed_in OperatorSignedIn "operator.signed_in" "An operator signed in to the console. Without a second factor, the session opens nothing but enrolment." (user_id: UserId, session_id: SessionId, factor: Proof);
    always operator_sign_in_failed OperatorSignInFailed "operator.sign_in_failed" "A sign-in to the console failed. If `count` is set, the event stands for that many further failures within a minute." (user_id: Option<UserId>, method: Method, reason: FailReason, count: Option<u64>);
    always management_key_created ManagementKeyCreated "management_key.created" "A management key was created; `app_ids` is null for every App." (management_key_id: ManagementKeyId, app_ids: Option<Vec<AppId>>);
    always management_key_revoked ManagementKeyRevoked "management_key.revoked" "A management key was revoked." (management_key_id: ManagementKeyId);

    always log_restarted LogRestarted "log.restarted" "The database was rolled back: events after `lost_after` are lost, and this event is the first of a new log." (previous_log: u64, lost_after: Option<EventId>);
}

/// An event as a use case reports it.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// The type of event.
    pub kind: EventKind,
    /// The user that it is about.
    pub user_id: Option<UserId>,
    /// The wallet that it is about.
    pub wallet_id: Option<WalletId>,
    data: Map<String, Value>,
}

impl Fact {
    fn of(kind: EventKind) -> Self {
        Self {
            kind,
            user_id: None,
            wallet_id: None,
            data: Map::new(),
        }
    }

    fn with<F: Field>(mut self, name: &'static str, field: &F) -> Self {
        self.user_id = self.user_id.or(field.user_id());
        self.wallet_id = self.wallet_id.or(field.wallet_id());
        self.data.insert(name.to_owned(), field.value());
        self
    }

    /// The text in a field of the data.
    pub fn word(&self, field: &str) -> Option<&str> {
        self.data.get(field)?.as_str()
    }

    /// The data as stored.
    pub fn data(&self) -> String {
        Value::Object(self.data.clone()).to_string()
    }
}

impl EventKind {
    /// Whether it took an access away, or gave one back. A recovery repeats such a change from the journal (PR-85).
    pub const fn is_journaled(self) -> bool {
        matches!(
            self,
            Self::UserDisabled
                | Self::UserEnabled
                | Self::UserDeleted
                | Self::EmailRemoved
                | Self::PhoneNumberRemoved
                | Self::PasswordSet
                | Self::PasswordChanged
                | Self::PasswordReset
                | Self::TotpRemoved
                | Self::RecoveryCodeUsed
                | Self::PasskeyRemoved
                | Self::OauthLinkRemoved
                | Self::WalletDisabled
                | Self::WalletEnabled
                | Self::WalletDeleted
                | Self::ApiKeyRevoked
                | Self::AppUpdated
                | Self::SigningKeyRevoked
                | Self::RedirectUrlRemoved
                | Self::ProviderRemoved
                | Self::WebhookEndpointDeleted
                | Self::WebhookEndpointDisabled
                | Self::WebhookEndpointEnabled
                | Self::WebhookEndpointSecretRotated
                | Self::OperatorDisabled
                | Self::OperatorEnabled
                | Self::OperatorRemoved
                | Self::ManagementKeyRevoked
        )
    }

    /// The part of the name before the dot.
    pub fn group(self) -> &'static str {
        let name = self.as_str();
        name.split_once('.').map_or(name, |(group, _)| group)
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for EventKind {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let mut kinds = Self::ALL.iter();
        let found = kinds.find(|kind| kind.as_str() == text);
        found.copied().ok_or_else(|| {
            let message =
                format!("unknown event type {text:?}; see the documentation for the list of types");
            Invalid::unknown("types", message)
        })
    }
}

/// The event types that a list of names selects: single types, or `group.*` for all types of a group that are not optional. Sorted and
/// without duplicates.
///
/// # Errors
/// If a name is unknown or there are too many names; names `types`.
pub fn kinds<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<EventKind>, Invalid> {
    let mut found = Vec::new();
    for (number, name) in names.into_iter().enumerate() {
        if number >= MAX_NAMES {
            let message = format!(
                "types must have at most {MAX_NAMES} entries; use group.* for all types of a group"
            );
            return Err(Invalid::value("types", message));
        }
        let Some(group) = name.strip_suffix(".*") else {
            found.push(name.parse()?);
            continue;
        };
        let kinds = EventKind::ALL.iter();
        let of_group: Vec<_> = kinds.filter(|kind| kind.group() == group).collect();
        if of_group.is_empty() {
            let message = format!("unknown group of event types {group:?}");
            return Err(Invalid::unknown("types", message));
        }
        found.extend(of_group.into_iter().filter(|kind| !kind.is_optional()));
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}
