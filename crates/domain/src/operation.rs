//! The operations of the API, by their operationIds.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;
use crate::action::Action;

macro_rules! operations {
    ($($operation:ident $name:literal $action:ident;)*) => {
        /// An operation of the API that needs a key.
        ///
        /// API keys store the names of the operations that they are restricted to, so a name is never removed or given to another call.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "docs/openapi.json describes them")]
        pub enum Operation {
            $($operation,)*
        }

        impl Operation {
            /// All operations, in the order of the API description.
            pub const ALL: &[Self] = &[$(Self::$operation,)*];

            /// Returns the operationId, such as `createUser`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$operation => $name,)*
                }
            }

            /// Returns the action that the operation's use case authorises.
            pub const fn action(self) -> Action {
                match self {
                    $(Self::$operation => Action::$action,)*
                }
            }
        }
    };
}

operations! {
    CreateUser "createUser" CreateUser;
    SearchUsers "searchUsers" SearchUsers;
    GetUser "getUser" GetUser;
    DeleteUserTotp "deleteUserTotp" DeleteTotp;
    UpdateUser "updateUser" UpdateUser;
    DeleteUser "deleteUser" DeleteUser;
    DisableUser "disableUser" SwitchUser;
    EnableUser "enableUser" SwitchUser;
    UnlockUser "unlockUser" UnlockUser;
    DeleteUserEmail "deleteUserEmail" DeleteIdentifier;
    DeleteUserPhoneNumber "deleteUserPhoneNumber" DeleteIdentifier;
    DeleteUserPhoneNumberAlias "deleteUserPhoneNumberAlias" DeleteIdentifier;
    DeleteUserWallet "deleteUserWallet" DeleteExternalWallet;
    DeleteUserIdpProvider "deleteUserIdpProvider" DeleteProviderLink;
    LoginOrCreateByEmail "loginOrCreateByEmail" SendCode;
    SendEmailOtp "sendEmailOtp" SendCode;
    LoginOrCreateBySms "loginOrCreateBySms" SendCode;
    SendSmsOtp "sendSmsOtp" SendCode;
    VerifyOtp "verifyOtp" VerifyCode;
    CreateTotp "createTotp" CreateTotp;
    VerifyTotp "verifyTotp" VerifyTotp;
    RecoverTotp "recoverTotp" VerifyTotp;
    ShowRecoveryCodes "showRecoveryCodes" ShowRecoveryCodes;
    LoginOrCreateByMagicLink "loginOrCreateByMagicLink" SendLink;
    InviteByMagicLink "inviteByMagicLink" SendLink;
    MagicLinkLoginStatus "magicLinkLoginStatus" ReadLoginStatus;
    CreateMagicLink "createMagicLink" CreateLink;
    VerifyMagicLink "verifyMagicLink" VerifyLink;
    BeginOauth "beginOauth" BeginOauth;
    VerifyOauth "verifyOauth" VerifyOauth;
    VerifyPassword "verifyPassword" VerifyPassword;
    UpdatePasswordBySession "updatePasswordBySession" UpdatePassword;
    CheckPasswordStrength "checkPasswordStrength" CheckPasswordStrength;
    BeginPasswordReset "beginPasswordReset" BeginPasswordReset;
    CompletePasswordReset "completePasswordReset" CompletePasswordReset;
    BeginWebauthnRegistration "beginWebauthnRegistration" RegisterPasskey;
    CreateWebauthnCredential "createWebauthnCredential" RegisterPasskey;
    BeginWebauthnAuthentication "beginWebauthnAuthentication" AuthenticateWithPasskey;
    VerifyWebauthn "verifyWebauthn" AuthenticateWithPasskey;
    DeleteWebauthnCredential "deleteWebauthnCredential" DeletePasskey;
    BeginWalletSignIn "beginWalletSignIn" BeginWalletSignIn;
    GetWalletNonce "getWalletNonce" BeginWalletSignIn;
    VerifyWallet "verifyWallet" VerifyWalletSignIn;
    VerifySiwe "verifySiwe" VerifyWalletSignIn;
    VerifySession "verifySession" VerifySession;
    ListSessions "listSessions" ListSessions;
    DeleteSession "deleteSession" DeleteSession;
    DeleteAllSessions "deleteAllSessions" DeleteSessionsOfUser;
    GetDefaultKeySet "getDefaultKeySet" ReadKeySet;
    CreateWallet "createWallet" CreateWallet;
    ListWallets "listWallets" ListWallets;
    BeginWalletImport "beginWalletImport" ImportWallet;
    ImportWallet "importWallet" ImportWallet;
    GetWallet "getWallet" GetWallet;
    SignMessage "signMessage" Sign;
    SignTransaction "signTransaction" Sign;
    CallWalletMethod "callWalletMethod" Sign;
    ListWalletAudit "listWalletAudit" ListWalletUses;
    DisableWallet "disableWallet" SwitchWallet;
    EnableWallet "enableWallet" SwitchWallet;
    ExportWallet "exportWallet" ExportWallet;
    ListEvents "listEvents" ReadEvents;
    GetEventsHead "getEventsHead" ReadEvents;
    GetEvent "getEvent" ReadEvents;
    ListAudit "listAudit" ReadAuditLog;
    ListTestMessages "listTestMessages" ControlTestEnvironment;
    DeleteTestMessages "deleteTestMessages" ControlTestEnvironment;
    ReadTestClock "readTestClock" ControlTestEnvironment;
    SetTestClock "setTestClock" ControlTestEnvironment;
    ResetTestClock "resetTestClock" ControlTestEnvironment;
}

impl Operation {
    /// Whether it uses a wallet's private key, which a key can be required to present a session of the owner for.
    pub const fn uses_wallet_key(self) -> bool {
        matches!(self.action(), Action::Sign | Action::ExportWallet)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Operation {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let mut all = Self::ALL.iter().copied();
        let found = all.find(|operation| operation.as_str() == text);
        found.ok_or_else(|| {
            let message = "unknown operation; the valid ones are the operationIds in openapi.json";
            Invalid::unknown("operation", message)
        })
    }
}

impl serde::Serialize for Operation {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> serde::Deserialize<'de> for Operation {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map_err(|invalid: Invalid| serde::de::Error::custom(invalid.message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_can_be_read_back() {
        for operation in Operation::ALL {
            assert_eq!(operation.as_str().parse(), Ok(*operation));
        }
        assert!("createuser".parse::<Operation>().is_err());
    }
}
