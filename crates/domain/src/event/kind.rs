//! The kinds of events: their names, what they say, and the function that makes a fact of each. One table, from which the
//! API description is made as well.

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
    ApiKeyId, AuditEntryId, EmailId, EventId, PhoneNumberId, ProviderLinkId, RedirectUrlId,
    SessionId, SigningKeyId, TotpId, UserId, WalletId, WebauthnCredentialId, WebhookEndpointId,
};
use crate::message::{Channel, JobEnd, MessageKind};
use crate::provider::ProviderName;
use crate::redirect::RedirectKind;
use crate::session::Proof;
use crate::timestamp::Timestamp;
use crate::wallet::WalletType;

/// Most names in one list of kinds.
const MOST_NAMES: usize = 20;

macro_rules! events {
    ($($how:ident $make:ident $kind:ident $name:literal $text:literal ($($field:ident: $of:ty),*);)*) => {
        /// What kind of change an event tells of. A name is never changed, and never means something else.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EventKind {
            $(#[doc = $text] $kind,)*
        }

        impl EventKind {
            /// All kinds, in the order in which they are described.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// Such as `user.created`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// What it tells, in a sentence.
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

            /// Whether it is written only where somebody asked for it by its name.
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
    always user_disabled UserDisabled "user.disabled" "A user may not sign in any more." (user_id: UserId);
    always user_enabled UserEnabled "user.enabled" "A disabled user may sign in again." (user_id: UserId);
    always user_unlocked UserUnlocked "user.unlocked" "The waits after failed sign-ins of a user were ended." (user_id: UserId);
    always user_claimed UserClaimed "user.claimed" "The owner of an address or number proved it and got the account that somebody had set up with it; `removed` lists what was deleted." (user_id: UserId, removed: Vec<Removed>);
    always user_deleted UserDeleted "user.deleted" "A user was deleted with everything that belonged to it." (user_id: UserId);
    always users_imported UsersImported "users.imported" "An import made so many users without an event for each." (count: u64);

    always email_added EmailAdded "email.added" "A user got an address." (user_id: UserId, email_id: EmailId);
    always email_verified EmailVerified "email.verified" "An address was proved, or the App vouches for it." (user_id: UserId, email_id: EmailId);
    always email_removed EmailRemoved "email.removed" "A user lost an address." (user_id: UserId, email_id: EmailId);
    always phone_number_added PhoneNumberAdded "phone_number.added" "A user got a number." (user_id: UserId, phone_number_id: PhoneNumberId);
    always phone_number_verified PhoneNumberVerified "phone_number.verified" "A number was proved, or the App vouches for it." (user_id: UserId, phone_number_id: PhoneNumberId);
    always phone_number_removed PhoneNumberRemoved "phone_number.removed" "A user lost a number." (user_id: UserId, phone_number_id: PhoneNumberId);

    always session_created SessionCreated "session.created" "A session began." (user_id: UserId, session_id: SessionId, factor: Proof);
    always session_factor_added SessionFactorAdded "session.factor_added" "Another factor was proved within a session." (user_id: UserId, session_id: SessionId, factor: Proof);
    always session_ended SessionEnded "session.ended" "Sessions were ended; `session_ids` names the first hundred of them. One that runs out by itself has no event." (user_id: Option<UserId>, session_ids: Vec<SessionId>, count: u64, reason: EndReason);
    always sign_in_blocked SignInBlocked "sign_in.blocked" "After failures in a row, whoever signs in by this has to wait." (user_id: Option<UserId>, method: Method, until: Timestamp);
    optional sign_in_failed SignInFailed "sign_in.failed" "A sign-in failed. With `count`: so many more, within a minute." (user_id: Option<UserId>, method: Method, reason: FailReason, count: Option<u64>);

    always password_set PasswordSet "password.set" "A user got a password." (user_id: UserId);
    always password_changed PasswordChanged "password.changed" "A user's password was changed." (user_id: UserId);
    always password_reset PasswordReset "password.reset" "A password was set by a mailed link." (user_id: UserId);
    optional password_reset_requested PasswordResetRequested "password.reset_requested" "A link that sets a password was asked for." (user_id: UserId);

    always totp_added TotpAdded "totp.added" "An authenticator app was proved for the first time." (user_id: UserId, totp_id: TotpId);
    always totp_removed TotpRemoved "totp.removed" "An authenticator app was removed." (user_id: UserId, totp_id: TotpId);
    always recovery_code_used RecoveryCodeUsed "recovery_code.used" "A recovery code was used up." (user_id: UserId, totp_id: TotpId, remaining: u64);
    always passkey_added PasskeyAdded "passkey.added" "A passkey was registered." (user_id: UserId, webauthn_credential_id: WebauthnCredentialId);
    always passkey_removed PasskeyRemoved "passkey.removed" "A passkey was removed." (user_id: UserId, webauthn_credential_id: WebauthnCredentialId);
    always passkey_counter_regressed PasskeyCounterRegressed "passkey.counter_regressed" "A passkey showed a counter that does not rise: it may have been copied." (user_id: UserId, webauthn_credential_id: WebauthnCredentialId);

    always oauth_link_added OauthLinkAdded "oauth_link.added" "A user was linked with a person of an identity provider." (user_id: UserId, idpuser_id: ProviderLinkId, provider: ProviderName);
    always oauth_link_removed OauthLinkRemoved "oauth_link.removed" "Such a link was removed." (user_id: UserId, idpuser_id: ProviderLinkId, provider: ProviderName);

    always wallet_created WalletCreated "wallet.created" "A wallet was created." (user_id: UserId, wallet_id: WalletId, wallet_type: WalletType);
    always wallet_imported WalletImported "wallet.imported" "A private key was imported as a wallet." (user_id: UserId, wallet_id: WalletId, wallet_type: WalletType);
    always wallet_linked WalletLinked "wallet.linked" "A user got a wallet whose key is not here." (user_id: UserId, wallet_id: WalletId, wallet_type: WalletType);
    always wallet_exported WalletExported "wallet.exported" "A private key is about to be handed out." (user_id: UserId, wallet_id: WalletId, wallet_type: WalletType);
    always wallet_disabled WalletDisabled "wallet.disabled" "A wallet signs no more." (user_id: UserId, wallet_id: WalletId, wallet_type: WalletType);
    always wallet_enabled WalletEnabled "wallet.enabled" "A disabled wallet signs again." (user_id: UserId, wallet_id: WalletId, wallet_type: WalletType);
    always wallet_deleted WalletDeleted "wallet.deleted" "A wallet whose key is not here was removed from its user." (user_id: UserId, wallet_id: WalletId, wallet_type: WalletType);
    always wallet_tampered WalletTampered "wallet.tampered" "The row of a wallet is not as this service wrote it; it signs nothing." (wallet_id: WalletId);
    optional wallet_signed WalletSigned "wallet.signed" "A wallet signed." (wallet_id: WalletId, action: SignedBy, method: Option<RpcMethod>, result_sha256: Option<[u8; 32]>, audit_entry_id: AuditEntryId);

    always message_failed MessageFailed "message.failed" "A message was given up; `kind` is null where it could not be read any more." (channel: Channel, kind: Option<MessageKind>, reason: JobEnd);
    optional message_sent MessageSent "message.sent" "A message was handed over to its transport." (channel: Channel, kind: MessageKind);

    always api_key_created ApiKeyCreated "api_key.created" "An API key or a public token was made." (api_key_id: ApiKeyId, kind: ApiKeyKind, scopes: Vec<Scope>);
    always api_key_revoked ApiKeyRevoked "api_key.revoked" "An API key or a public token was revoked." (api_key_id: ApiKeyId);
    always signing_key_rotated SigningKeyRotated "signing_key.rotated" "Session JWTs are signed with a new key." (signing_key_id: SigningKeyId);

    always app_created AppCreated "app.created" "The App was created." ();
    always app_updated AppUpdated "app.updated" "The App's name or settings were changed." (changed: ChangedFields);
    always redirect_url_added RedirectUrlAdded "redirect_url.added" "A redirect URL was registered." (redirect_url_id: RedirectUrlId, kind: RedirectKind);
    always redirect_url_removed RedirectUrlRemoved "redirect_url.removed" "A redirect URL was removed." (redirect_url_id: RedirectUrlId);
    always provider_set ProviderSet "provider.set" "An identity provider was set up, or its settings were changed." (provider: ProviderName);
    always provider_removed ProviderRemoved "provider.removed" "An identity provider was removed." (provider: ProviderName);

    always webhook_endpoint_created WebhookEndpointCreated "webhook_endpoint.created" "A receiver of events was set up." (webhook_endpoint_id: WebhookEndpointId);
    always webhook_endpoint_updated WebhookEndpointUpdated "webhook_endpoint.updated" "Its URL, name or types were changed." (webhook_endpoint_id: WebhookEndpointId, changed: ChangedFields);
    always webhook_endpoint_deleted WebhookEndpointDeleted "webhook_endpoint.deleted" "It was removed." (webhook_endpoint_id: WebhookEndpointId);
    always webhook_endpoint_failing WebhookEndpointFailing "webhook_endpoint.failing" "It has taken nothing for a day." (webhook_endpoint_id: WebhookEndpointId);
    always webhook_endpoint_disabled WebhookEndpointDisabled "webhook_endpoint.disabled" "It is sent nothing any more: it failed for days, it answered 410 (`gone`), or an operator decided so." (webhook_endpoint_id: WebhookEndpointId, reason: DisabledReason);
    always webhook_endpoint_enabled WebhookEndpointEnabled "webhook_endpoint.enabled" "It is sent events again." (webhook_endpoint_id: WebhookEndpointId);
    always webhook_endpoint_secret_rotated WebhookEndpointSecretRotated "webhook_endpoint.secret_rotated" "What it is sent is signed with a new secret." (webhook_endpoint_id: WebhookEndpointId);

    always log_restarted LogRestarted "log.restarted" "The database was set back: events behind `lost_after` are lost, and this is the first one of another log." (previous_log: u64, lost_after: Option<EventId>);
}

/// What happened, as a use case tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// What it is.
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

    /// The data, as it is stored.
    pub fn data(&self) -> String {
        Value::Object(self.data.clone()).to_string()
    }
}

impl EventKind {
    /// What stands before the dot.
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
            let message = format!(
                "there is no type of events {text:?}; see the list of types in the documentation"
            );
            Invalid::unknown("types", message)
        })
    }
}

/// The kinds that a list of names names: types, or `group.*` for those of a group that are not optional. In order, each once.
///
/// # Errors
/// A name of no type, or too many names; names `types`.
pub fn kinds<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<EventKind>, Invalid> {
    let mut found = Vec::new();
    for (number, name) in names.into_iter().enumerate() {
        if number >= MOST_NAMES {
            let message = format!(
                "types must have at most {MOST_NAMES} names; use group.* for all of a group"
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
            let message = format!("there is no group of events {group:?}");
            return Err(Invalid::unknown("types", message));
        }
        found.extend(of_group.into_iter().filter(|kind| !kind.is_optional()));
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}
