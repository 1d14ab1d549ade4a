//! What a use case does, as far as rights are concerned.

use crate::management_scope::ManagementScope;
use crate::operator::Right;
use crate::scope::Scope;

/// What a principal needs for an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirement {
    /// Any secret key of the App.
    AnyKey,
    /// A secret key with this scope.
    Scope(Scope),
    /// A management key with this scope, or an operator.
    Management(ManagementScope),
    /// An administrator with a shell on the server; no key can do this.
    Cli,
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
    (@needs cli) => { Requirement::Cli };
    (@needs AppsRead) => { actions!(@manage AppsRead) };
    (@needs AppsWrite) => { actions!(@manage AppsWrite) };
    (@needs SettingsRead) => { actions!(@manage SettingsRead) };
    (@needs SettingsWrite) => { actions!(@manage SettingsWrite) };
    (@needs KeysRead) => { actions!(@manage KeysRead) };
    (@needs KeysWrite) => { actions!(@manage KeysWrite) };
    (@needs ProvidersRead) => { actions!(@manage ProvidersRead) };
    (@needs ProvidersWrite) => { actions!(@manage ProvidersWrite) };
    (@needs RedirectUrlsRead) => { actions!(@manage RedirectUrlsRead) };
    (@needs RedirectUrlsWrite) => { actions!(@manage RedirectUrlsWrite) };
    (@needs WebhooksRead) => { actions!(@manage WebhooksRead) };
    (@needs WebhooksWrite) => { actions!(@manage WebhooksWrite) };
    (@needs OperatorsRead) => { actions!(@manage OperatorsRead) };
    (@needs OperatorsWrite) => { actions!(@manage OperatorsWrite) };
    (@needs ConfigRead) => { actions!(@manage ConfigRead) };
    (@needs ConfigWrite) => { actions!(@manage ConfigWrite) };
    (@needs $scope:ident) => { Requirement::Scope(Scope::$scope) };
    (@manage $scope:ident) => { Requirement::Management(ManagementScope::$scope) };
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
    AppsRead nothing { ReadApps ReadStatus }
    AppsWrite nothing { CreateApp RenameApp SwitchApp }
    SettingsRead nothing { ReadSettings }
    SettingsWrite nothing { UpdateSettings WeakenSettings }
    KeysRead nothing { ReadApiKeys ReadSigningKeys }
    KeysWrite nothing { CreateApiKey UpdateApiKey WidenApiKey RotateApiKey RevokeApiKey RotateSigningKey RevokeSigningKey }
    ProvidersRead nothing { ReadProviders }
    ProvidersWrite nothing { SetProvider RemoveProvider CheckProvider }
    RedirectUrlsRead nothing { ReadRedirectUrls }
    RedirectUrlsWrite nothing { AddRedirectUrl UpdateRedirectUrl RemoveRedirectUrl }
    WebhooksRead nothing { ReadWebhooks }
    WebhooksWrite nothing {
        AddWebhook UpdateWebhook RotateWebhookSecret SwitchWebhook RemoveWebhook TestWebhook ReplayDeliveries
    }
    OperatorsRead nothing { ReadOperators }
    OperatorsWrite nothing { ManageOperators }
    ConfigRead nothing { ReadConfig }
    ConfigWrite nothing { ApplyConfig }
    cli nothing {
        ImportUsers ExportUsers TryProvider SendTestMessage ManageDeadMessages
        ReadManagementKeys CreateManagementKey RevokeManagementKey
        ManageOwners ReadDeploymentEvents
        AcknowledgeFinding PruneAuditLog BackUpDatabase RecoverDatabase
        RotateRootKey RetireRootKey RotateAppKeys RetireAppKeys
    }
}

impl Action {
    /// Returns the scope with which a management key can do it; `None` if no management key can.
    ///
    /// Of an App's own calls these are the ones that administer users, sessions and wallets. None of them signs, exports, imports, or sends
    /// or verifies a credential (MG-4).
    pub const fn management_scope(self) -> Option<ManagementScope> {
        match self {
            Self::GetUser | Self::SearchUsers => Some(ManagementScope::UsersRead),
            Self::CreateUser
            | Self::UpdateUser
            | Self::DeleteUser
            | Self::SwitchUser
            | Self::UnlockUser
            | Self::DeleteIdentifier
            | Self::DeleteTotp
            | Self::DeletePasskey
            | Self::DeleteProviderLink => Some(ManagementScope::UsersWrite),
            Self::ListSessions
            | Self::DeleteSession
            | Self::DeleteSessionsOfUser
            | Self::DeleteEverySession => Some(ManagementScope::SessionsWrite),
            Self::ListWallets | Self::GetWallet | Self::ListWalletUses => {
                Some(ManagementScope::WalletsRead)
            }
            Self::SwitchWallet => Some(ManagementScope::WalletsWrite),
            Self::ReadEvents => Some(ManagementScope::EventsRead),
            Self::ReadAuditLog => Some(ManagementScope::AuditRead),
            _ => match self.requirement() {
                Requirement::Management(scope) => Some(scope),
                Requirement::AnyKey | Requirement::Scope(_) | Requirement::Cli => None,
            },
        }
    }

    /// Returns the right with which an operator can do it; `None` if no operator can. No operator signs, exports or imports, sends or verifies
    /// a credential, or reads a recovery code or link of a user.
    pub const fn right(self) -> Option<Right> {
        Some(match self {
            Self::ReadApps
            | Self::ReadSettings
            | Self::ReadConfig
            | Self::ReadApiKeys
            | Self::ReadSigningKeys
            | Self::ReadProviders
            | Self::ReadRedirectUrls
            | Self::ReadWebhooks
            | Self::ReadEvents => Right::ReadConfiguration,
            Self::GetUser
            | Self::SearchUsers
            | Self::ListSessions
            | Self::ListWallets
            | Self::GetWallet
            | Self::ListWalletUses => Right::ReadUsers,
            Self::UpdateUser
            | Self::SwitchUser
            | Self::UnlockUser
            | Self::DeleteIdentifier
            | Self::DeleteTotp
            | Self::DeletePasskey
            | Self::DeleteProviderLink
            | Self::DeleteSession
            | Self::DeleteSessionsOfUser
            | Self::SwitchWallet
            | Self::UpdateApiKey
            | Self::RevokeApiKey
            | Self::TestWebhook
            | Self::ControlTestEnvironment => Right::Support,
            Self::DeleteUser | Self::CreateApiKey | Self::WidenApiKey | Self::RotateApiKey => {
                Right::DeleteAndIssue
            }
            Self::RenameApp
            | Self::UpdateSettings
            | Self::ApplyConfig
            | Self::RotateSigningKey
            | Self::RevokeSigningKey
            | Self::SetProvider
            | Self::CheckProvider
            | Self::TryProvider
            | Self::SendTestMessage
            | Self::RemoveProvider
            | Self::AddRedirectUrl
            | Self::UpdateRedirectUrl
            | Self::RemoveRedirectUrl
            | Self::AddWebhook
            | Self::UpdateWebhook
            | Self::RotateWebhookSecret
            | Self::SwitchWebhook
            | Self::RemoveWebhook
            | Self::ReplayDeliveries
            | Self::DeleteEverySession
            | Self::ReadAuditLog => Right::Configure,
            Self::WeakenSettings => Right::Weaken,
            Self::ReadOperators => Right::ReadOperators,
            Self::ManageOperators => Right::ManageOperators,
            Self::CreateApp
            | Self::ReadStatus
            | Self::ReadManagementKeys
            | Self::ReadDeploymentEvents => Right::Deploy,
            Self::CreateManagementKey
            | Self::RevokeManagementKey
            | Self::ManageOwners
            | Self::SwitchApp => Right::Own,
            Self::ReadKeySet
            | Self::DeleteExternalWallet
            | Self::CreateUser
            | Self::SendCode
            | Self::VerifyCode
            | Self::SendLink
            | Self::CreateLink
            | Self::VerifyLink
            | Self::ReadLoginStatus
            | Self::VerifyOauth
            | Self::VerifyPassword
            | Self::UpdatePassword
            | Self::BeginPasswordReset
            | Self::CompletePasswordReset
            | Self::CreateTotp
            | Self::VerifyTotp
            | Self::ShowRecoveryCodes
            | Self::RegisterPasskey
            | Self::AuthenticateWithPasskey
            | Self::BeginWalletSignIn
            | Self::VerifyWalletSignIn
            | Self::BeginOauth
            | Self::CheckPasswordStrength
            | Self::VerifySession
            | Self::CreateWallet
            | Self::ImportWallet
            | Self::Sign
            | Self::ExportWallet
            | Self::ImportUsers
            | Self::ExportUsers
            | Self::ManageDeadMessages
            | Self::AcknowledgeFinding
            | Self::PruneAuditLog
            | Self::BackUpDatabase
            | Self::RecoverDatabase
            | Self::RotateRootKey
            | Self::RetireRootKey
            | Self::RotateAppKeys
            | Self::RetireAppKeys => return None,
        })
    }

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

    /// Every management scope permits something, and none permits what only an App's own backend may do (MG-4).
    #[test]
    fn management_scopes_permit_administration_only() {
        for scope in ManagementScope::ALL {
            let permits = |action: &&Action| action.management_scope() == Some(*scope);
            assert!(Action::ALL.iter().any(|action| permits(&action)), "{scope}");
        }
        for action in Action::ALL {
            let never = match action.requirement() {
                Requirement::Scope(scope) => {
                    matches!(
                        scope,
                        Scope::AuthWrite | Scope::WalletsSign | Scope::WalletsExport
                    )
                }
                Requirement::AnyKey | Requirement::Cli => true,
                Requirement::Management(_) => false,
            };
            let never = never || matches!(action, Action::CreateWallet | Action::ImportWallet);
            assert!(!never || action.management_scope().is_none(), "{action:?}");
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
