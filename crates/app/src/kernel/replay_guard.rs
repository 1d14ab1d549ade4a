//! Preconditions of a stored idempotent response.
//!
//! They allowed the original call and must still hold when the response is replayed (M-9). A check that lets a call pass records itself
//! with the call's run. What the call consumed is not included: a code works once, and a caller who lost the response must still get it.

use vestry_domain::action::Action;
use vestry_domain::ids::{UserId, WalletId};
use vestry_domain::session::Proof;

/// A precondition. If it no longer holds, its refusal becomes the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplayGuard {
    /// The principal may do this.
    Permitted(Action),
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
            ["export"] => Self::Export,
            ["usable", wallet] => Self::Usable(wallet.parse().ok()?),
            ["sign-in", user, shown] => {
                Self::MaySignIn(user.parse().ok()?, CredentialKind::parse(shown)?)
            }
            _ => return None,
        })
    }
}
