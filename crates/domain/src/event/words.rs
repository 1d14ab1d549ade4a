//! The closed word lists used in events.

use std::str::FromStr;

use serde_json::Value;

use super::field::{Field, FieldKind};
use crate::Invalid;
use crate::closed_list::closed_lists;

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $word:ident $text:literal,)* })*) => {
        closed_lists! {
            $($(#[$doc])* $name { $($(#[$of])* $word $text,)* })*
        }
        $(
            impl Field for $name {
                const KIND: FieldKind = FieldKind::OneOf(&[$($text),*]);

                fn value(&self) -> Value {
                    self.as_str().into()
                }
            }
        )*
    };
}

words! {
    /// The way in which a user was created.
    Via {
        /// The App created it.
        Create "create",
        /// By a request for a code by e-mail.
        EmailOtp "email_otp",
        /// By a request for a code by SMS.
        SmsOtp "sms_otp",
        /// By a request for a magic link.
        MagicLink "magic_link",
        /// By an invitation from the App.
        Invite "invite",
        /// By a sign-in with an identity provider.
        Oauth "oauth",
        /// By a sign-in with an external wallet.
        Wallet "wallet",
        /// By `vestry users import`.
        Import "import",
    }

    /// The reason that sessions ended.
    EndReason {
        /// The App ended them.
        Deleted "deleted",
        /// A sign-in method was changed.
        CredentialChanged "credential_changed",
        /// Their user was disabled.
        UserDisabled "user_disabled",
        /// Their user was deleted.
        UserDeleted "user_deleted",
        /// The user's account was taken over by the owner of its address or number.
        UserClaimed "user_claimed",
        /// All sessions of the App in this environment were ended.
        AppWide "app_wide",
    }

    /// Items removed from an account that someone else may have created, when its owner verified their identifier.
    Removed {
        /// Its sessions.
        Sessions "sessions",
        /// Its password.
        Password "password",
        /// Its authenticator apps.
        Totp "totp",
        /// Its passkeys.
        Passkeys "passkeys",
        /// Its links with identity providers.
        OauthLinks "oauth_links",
        /// External wallets, whose keys are not held here.
        ReadOnlyWallets "read_only_wallets",
    }

    /// The method of a sign-in attempt.
    Method {
        /// A code by e-mail or SMS.
        Otp "otp",
        /// A magic link.
        MagicLink "magic_link",
        /// A password.
        Password "password",
        /// A code of an authenticator app, or a recovery code.
        Totp "totp",
        /// A passkey.
        Webauthn "webauthn",
        /// A wallet.
        Wallet "wallet",
    }

    /// The call that made a wallet sign.
    SignedBy {
        /// `sign_message`.
        SignMessage "sign_message",
        /// `sign_transaction`.
        SignTransaction "sign_transaction",
        /// `rpc`.
        Rpc "rpc",
    }

    /// The reason that a webhook endpoint is disabled.
    DisabledReason {
        /// It failed for days.
        Failing "failing",
        /// It returned 410.
        Gone "gone",
        /// An operator disabled it.
        Operator "operator",
    }

    /// The reason that a sign-in failed.
    FailReason {
        /// The credential is wrong.
        Wrong "wrong",
        /// The credential is correct, but the user is disabled.
        UserDisabled "user_disabled",
    }
}

impl FromStr for DisabledReason {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        [Self::Failing, Self::Gone, Self::Operator]
            .into_iter()
            .find(|reason| reason.as_str() == text)
            .ok_or_else(|| Invalid::value("disabled_reason", "unknown disabled_reason"))
    }
}

/// The names of the fields that a call changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedFields(pub Vec<String>);

/// The method of an `rpc` call that was carried out, such as `personal_sign`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcMethod(pub String);

impl Field for ChangedFields {
    const KIND: FieldKind = FieldKind::Names;

    fn value(&self) -> Value {
        self.0.clone().into()
    }
}

impl Field for Vec<Removed> {
    const KIND: FieldKind = match Removed::KIND {
        FieldKind::OneOf(words) => FieldKind::SomeOf(words),
        other => other,
    };

    fn value(&self) -> Value {
        self.iter().map(Field::value).collect()
    }
}

impl Field for RpcMethod {
    const KIND: FieldKind = FieldKind::Name;

    fn value(&self) -> Value {
        self.0.clone().into()
    }
}
