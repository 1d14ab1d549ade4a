//! What a use case does, as far as rights are concerned.

use crate::api_key::Scope;

macro_rules! actions {
    ($($scope:tt { $($action:ident)* })*) => {
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

            /// Returns the scope that an API key needs. `None`: no API key can do this.
            pub const fn scope(self) -> Option<Scope> {
                match self {
                    $($(Self::$action)|* => actions!(@$scope),)*
                }
            }
        }
    };
    (@operator) => { None };
    (@$scope:ident) => { Some(Scope::$scope) };
}

actions! {
    UsersRead { GetUser SearchUsers }
    UsersWrite {
        CreateUser UpdateUser DeleteUser SwitchUser UnlockUser DeleteIdentifier DeleteTotp DeletePasskey DeleteExternalWallet
        DeleteProviderLink
    }
    AuthWrite {
        SendCode VerifyCode SendLink CreateLink VerifyLink ReadLoginStatus
        BeginOauth VerifyOauth
        VerifyPassword UpdatePassword CheckPasswordStrength BeginPasswordReset CompletePasswordReset
        CreateTotp VerifyTotp ShowRecoveryCodes
        RegisterPasskey AuthenticateWithPasskey
        BeginWalletSignIn VerifyWalletSignIn
        ControlTestEnvironment
    }
    SessionsWrite { VerifySession ListSessions DeleteSession DeleteSessionsOfUser DeleteEverySession }
    WalletsRead { GetWallet ListWallets ListWalletUses }
    WalletsWrite { CreateWallet ImportWallet SwitchWallet }
    WalletsSign { Sign }
    WalletsExport { ExportWallet }
    EventsRead { ReadEvents }
    AuditRead { ReadAuditLog }
    operator {
        ImportUsers ExportUsers
        CreateApp ReadApps UpdateApp
        ReadApiKeys CreateApiKey RotateApiKey RevokeApiKey
        ReadRedirectUrls AddRedirectUrl RemoveRedirectUrl
        ReadProviders SetProvider RemoveProvider
        ReadSigningKeys RotateSigningKey RevokeSigningKey
        ReadWebhooks AddWebhook UpdateWebhook RotateWebhookSecret SwitchWebhook RemoveWebhook TestWebhook ReplayDeliveries
        AcknowledgeFinding PruneAuditLog
        RotateRootKey RetireRootKey RotateAppKeys RetireAppKeys
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
                    .any(|action| action.scope() == Some(scope)),
                "{scope}"
            );
        }
    }
}
