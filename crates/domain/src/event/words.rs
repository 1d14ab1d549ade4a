//! The closed lists of words that stand in events.

use std::str::FromStr;

use serde_json::Value;

use super::field::{Field, FieldKind};
use crate::Invalid;

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $word:ident $text:literal,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
            pub enum $name {
                $($(#[$of])* $word,)*
            }

            impl $name {
                /// As it stands on the wire.
                pub const fn as_str(self) -> &'static str {
                    match self {
                        $(Self::$word => $text,)*
                    }
                }
            }

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
    /// How a user came to be.
    Via {
        /// The App created it.
        Create "create",
        /// A mailed code was asked for.
        EmailOtp "email_otp",
        /// A code by SMS was asked for.
        SmsOtp "sms_otp",
        /// A mailed link was asked for.
        MagicLink "magic_link",
        /// The App invited it.
        Invite "invite",
        /// It came from an identity provider.
        Oauth "oauth",
        /// It signed in with a wallet of its own.
        Wallet "wallet",
        /// `vestry users import`.
        Import "import",
    }

    /// Why sessions ended.
    EndReason {
        /// The App ended them.
        Deleted "deleted",
        /// A way to sign in was changed.
        CredentialChanged "credential_changed",
        /// Their user was disabled.
        UserDisabled "user_disabled",
        /// Their user was deleted.
        UserDeleted "user_deleted",
        /// Their user turned out to be somebody else's.
        UserClaimed "user_claimed",
        /// All of the App in this environment were ended.
        AppWide "app_wide",
    }

    /// What a proof of an owner removed from an account that somebody else may have set up.
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
        /// Wallets whose keys are not here.
        ReadOnlyWallets "read_only_wallets",
    }

    /// By what a sign-in was tried.
    Method {
        /// A code by mail or SMS.
        Otp "otp",
        /// A mailed link.
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

    /// How a wallet was asked to sign.
    SignedBy {
        /// `sign_message`.
        SignMessage "sign_message",
        /// `sign_transaction`.
        SignTransaction "sign_transaction",
        /// `rpc`.
        Rpc "rpc",
    }

    /// Why a webhook endpoint is sent nothing.
    DisabledReason {
        /// It failed for days.
        Failing "failing",
        /// It answered 410.
        Gone "gone",
        /// Somebody decided so.
        Operator "operator",
    }

    /// Why a sign-in failed.
    FailReason {
        /// What was shown is wrong.
        Wrong "wrong",
        /// It is right, and the user may not sign in.
        UserDisabled "user_disabled",
    }
}

impl FromStr for DisabledReason {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        [Self::Failing, Self::Gone, Self::Operator]
            .into_iter()
            .find(|reason| reason.as_str() == text)
            .ok_or_else(|| Invalid::value("disabled_reason", "there is no such reason"))
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
