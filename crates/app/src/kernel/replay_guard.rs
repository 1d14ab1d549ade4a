//! Preconditions of a stored idempotent response.
//!
//! They allowed the original call and must still hold when the response is replayed (M-9). A check that lets a call pass records itself
//! with the call's run. What the call consumed is not included: a code works once, and a caller who lost the response must still get it.

use vestry_domain::action::Action;
use vestry_domain::api_key::Scope;
use vestry_domain::ids::{AppId, UserId, WalletId};
use vestry_domain::session::Proof;
use vestry_domain::wallet::WalletType;

/// A precondition. If it no longer holds, its refusal becomes the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplayGuard {
    /// The principal may do this in the world of the call.
    Permitted(Action),
    /// The principal may do this, which concerns an App as a whole.
    PermittedInApp(Action, AppId),
    /// The principal may do this, which concerns the deployment as a whole.
    PermittedInDeployment(Action),
    /// The principal may give this scope to an API key.
    Grants(Scope),
    /// The key's restrictions allow this user.
    User(UserId),
    /// The key's restrictions allow this wallet of this user.
    Wallet(WalletId, UserId),
    /// The key's restrictions do not allow this user, so the response is that of an unknown one.
    NotUser(UserId),
    /// The key's restrictions do not allow this wallet of this user, so the response is that of an unknown one.
    NotWallet(WalletId, UserId),
    /// The call leads to no user, and its key may still send such calls.
    NoUser,
    /// The call names no user, and its key is not limited to some.
    NoOwner,
    /// The key's restrictions allow wallets of this type.
    WalletType(WalletType),
    /// This user is present, if the key requires that.
    Present(UserId),
    /// The App allows private key export.
    Export,
    /// The wallet's key may be used.
    Usable(WalletId),
    /// The user may sign in. If not, the credential is refused as if it were wrong.
    MaySignIn(UserId, CredentialKind),
}

/// The kinds of credentials that sign a user in, by how a wrong one is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialKind {
    /// A one-time code, an authenticator app code or a recovery code.
    Code,
    /// A magic link or a password reset link.
    Link,
    /// The origin token of the browser that requested a link.
    Origin,
    /// A sign-in through an identity provider.
    Provider,
    /// A password, a passkey or a signature.
    Credentials,
    /// An existing session.
    Session,
}

impl CredentialKind {
    const ALL: [Self; 6] = [
        Self::Code,
        Self::Link,
        Self::Origin,
        Self::Provider,
        Self::Credentials,
        Self::Session,
    ];

    /// The kind of credential behind this proof.
    pub(crate) const fn of(proof: &Proof) -> Self {
        match proof {
            Proof::EmailCode { .. }
            | Proof::SmsCode { .. }
            | Proof::Totp { .. }
            | Proof::RecoveryCode { .. } => Self::Code,
            Proof::EmailLink { .. } => Self::Link,
            Proof::Provider { .. } => Self::Provider,
            Proof::Password | Proof::Passkey { .. } | Proof::Wallet { .. } => Self::Credentials,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Link => "link",
            Self::Origin => "origin",
            Self::Provider => "provider",
            Self::Credentials => "credentials",
            Self::Session => "session",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shown| shown.as_str() == text)
    }
}

impl ReplayGuard {
    /// The stored form: words without a line break.
    pub(crate) fn written(&self) -> String {
        match self {
            Self::Permitted(action) => format!("permitted {}", action.as_str()),
            Self::PermittedInApp(action, app) => {
                format!("permitted-in-app {} {app}", action.as_str())
            }
            Self::PermittedInDeployment(action) => {
                format!("permitted-in-deployment {}", action.as_str())
            }
            Self::Grants(scope) => format!("grants {scope}"),
            Self::User(user) => format!("user {user}"),
            Self::Wallet(wallet, owner) => format!("wallet {wallet} {owner}"),
            Self::NotUser(user) => format!("not-user {user}"),
            Self::NotWallet(wallet, owner) => format!("not-wallet {wallet} {owner}"),
            Self::NoUser => "no-user".to_owned(),
            Self::NoOwner => "no-owner".to_owned(),
            Self::Present(user) => format!("present {user}"),
            Self::WalletType(wallet_type) => format!("wallet-type {wallet_type}"),
            Self::Export => "export".to_owned(),
            Self::Usable(wallet) => format!("usable {wallet}"),
            Self::MaySignIn(user, shown) => format!("sign-in {user} {}", shown.as_str()),
        }
    }

    /// Reads what [`ReplayGuard::written`] wrote; `None` for anything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        Some(match words.as_slice() {
            ["permitted", action] => Self::Permitted(Action::parse(action)?),
            ["permitted-in-app", action, app] => {
                Self::PermittedInApp(Action::parse(action)?, app.parse().ok()?)
            }
            ["permitted-in-deployment", action] => {
                Self::PermittedInDeployment(Action::parse(action)?)
            }
            ["grants", scope] => Self::Grants(scope.parse().ok()?),
            ["user", user] => Self::User(user.parse().ok()?),
            ["wallet", wallet, owner] => Self::Wallet(wallet.parse().ok()?, owner.parse().ok()?),
            ["not-user", user] => Self::NotUser(user.parse().ok()?),
            ["not-wallet", wallet, owner] => {
                Self::NotWallet(wallet.parse().ok()?, owner.parse().ok()?)
            }
            ["no-user"] => Self::NoUser,
            ["no-owner"] => Self::NoOwner,
            ["present", user] => Self::Present(user.parse().ok()?),
            ["wallet-type", wallet_type] => Self::WalletType(wallet_type.parse().ok()?),
            ["export"] => Self::Export,
            ["usable", wallet] => Self::Usable(wallet.parse().ok()?),
            ["sign-in", user, shown] => {
                Self::MaySignIn(user.parse().ok()?, CredentialKind::parse(shown)?)
            }
            _ => return None,
        })
    }
}
