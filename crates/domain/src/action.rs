//! What a use case does, as far as rights are concerned.

use crate::scope::Scope;

/// What a principal needs for an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirement {
    /// Any secret key of the App.
    AnyKey,
    /// A secret key with this scope.
    Scope(Scope),
    /// An operator; no API key can do this.
    Operator,
}

/// What a call names, as far as restrictions of keys to users and wallets are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Neither a user nor a wallet. A restricted key cannot make the call.
    Nothing,
    /// A user, by id, address or token, or by a factor, link or session of theirs.
    User,
    /// A wallet, which belongs to a user.
    Wallet,
}

macro_rules! actions {
    ($($requirement:ident $target:ident { $($action:ident)* })*) => {
        /// What a principal asks for. Each use case names its own, and authorises it once.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the names are those of the use cases")]
        pub enum Action {
            $($($action,)*)*
        }

        impl Action {
            /// Every action.
            pub const ALL: &[Self] = &[$($(Self::$action,)*)*];

            /// Returns the name, such as `CreateUser`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($(Self::$action => stringify!($action),)*)*
                }
            }

            /// Returns the action with this name.
            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|action| action.as_str() == name)
            }

            /// Returns what a principal needs for it.
            pub const fn requirement(self) -> Requirement {
                match self {
                    $($(Self::$action)|* => actions!(@needs $requirement),)*
                }
            }

            /// Returns what a call names.
            pub const fn target(self) -> Target {
                match self {
                    $($(Self::$action)|* => actions!(@names $target),)*
                }
            }
        }
    };
    (@needs any_key) => { Requirement::AnyKey };
    (@needs operator) => { Requirement::Operator };
    (@needs $scope:ident) => { Requirement::Scope(Scope::$scope) };
    (@names nothing) => { Target::Nothing };
    (@names user) => { Target::User };
    (@names wallet) => { Target::Wallet };
}

actions! {
    any_key nothing { ReadKeySet }
    UsersRead user { GetUser }
    UsersRead nothing { SearchUsers }
    UsersWrite user {
        UpdateUser DeleteUser SwitchUser UnlockUser DeleteIdentifier DeleteTotp DeletePasskey DeleteProviderLink
    }
    UsersWrite wallet { DeleteExternalWallet }
    UsersWrite nothing { CreateUser }
    AuthWrite user {
        SendCode VerifyCode SendLink CreateLink VerifyLink ReadLoginStatus VerifyOauth VerifyPassword UpdatePassword
        BeginPasswordReset CompletePasswordReset CreateTotp VerifyTotp ShowRecoveryCodes RegisterPasskey AuthenticateWithPasskey
        BeginWalletSignIn VerifyWalletSignIn
    }
    AuthWrite nothing { BeginOauth CheckPasswordStrength ControlTestEnvironment }
    SessionsWrite user { VerifySession ListSessions DeleteSession DeleteSessionsOfUser }
    SessionsWrite nothing { DeleteEverySession }
    WalletsRead user { ListWallets }
    WalletsRead wallet { GetWallet ListWalletUses }
    WalletsWrite user { CreateWallet ImportWallet }
    WalletsWrite wallet { SwitchWallet }
    WalletsSign wallet { Sign }
    WalletsExport wallet { ExportWallet }
    EventsRead nothing { ReadEvents }
    AuditRead nothing { ReadAuditLog }
    operator nothing {
        ImportUsers ExportUsers
        CreateApp ReadApps UpdateApp
        ReadApiKeys CreateApiKey UpdateApiKey RotateApiKey RevokeApiKey
        ReadRedirectUrls AddRedirectUrl RemoveRedirectUrl
        ReadProviders SetProvider RemoveProvider
        ReadSigningKeys RotateSigningKey RevokeSigningKey
        ReadWebhooks AddWebhook UpdateWebhook RotateWebhookSecret SwitchWebhook RemoveWebhook TestWebhook ReplayDeliveries
        AcknowledgeFinding PruneAuditLog
        RotateRootKey RetireRootKey RotateAppKeys RetireAppKeys
    }
}

impl Action {
    /// Whether it deletes an object, which an App can reserve for keys with named scopes.
    pub const fn deletes(self) -> bool {
        matches!(
            self,
            Self::DeleteUser
                | Self::DeleteIdentifier
                | Self::DeleteTotp
                | Self::DeletePasskey
                | Self::DeleteExternalWallet
                | Self::DeleteProviderLink
                | Self::DeleteSession
                | Self::DeleteSessionsOfUser
                | Self::DeleteEverySession
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_can_be_read_back() {
        for action in Action::ALL {
            assert_eq!(Action::parse(action.as_str()), Some(*action));
        }
    }

    /// An API key reaches every scope by some action.
    #[test]
    fn every_scope_permits_something() {
        for scope in Scope::ALL {
            assert!(
                Action::ALL
                    .iter()
                    .any(|action| action.requirement() == Requirement::Scope(scope)),
                "{scope}"
            );
        }
    }

    /// A deletion is recognised by its name, so that none is forgotten.
    #[test]
    fn deletions_are_marked() {
        for action in Action::ALL {
            assert_eq!(
                action.deletes(),
                action.as_str().starts_with("Delete"),
                "{action:?}"
            );
        }
    }
}
