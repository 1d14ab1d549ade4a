//! What an answer that is kept for a repeat rests on: what allowed the call, and has to allow it still when the answer is given
//! again (M-9).
//!
//! A check that lets a call pass notes itself with the call's run. What the call used up does not count: a code is right once, and
//! whoever lost the answer is to get it all the same.

use vestry_domain::api_key::Scope;
use vestry_domain::ids::{UserId, WalletId};
use vestry_domain::session::Proof;

/// Something that held, and whose refusal is the answer when it holds no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    /// The API key may do this.
    Right(Scope),
    /// The App lets private keys out.
    Export,
    /// The key of the wallet may be used.
    Usable(WalletId),
    /// The user may sign in; when not, what was shown is refused as if it were wrong.
    MaySignIn(UserId, Shown),
}

/// What a user shows to be let in, by how a wrong one is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Of a code, an authenticator app or a recovery code.
    Code,
    /// Of a link, or of a link that resets a password.
    Link,
    /// What the browser that asked for a link got.
    Origin,
    /// Of an identity provider.
    Provider,
    /// A password, a passkey or a signature.
    Credentials,
    /// A session that is there already.
    Session,
}

impl Shown {
    const ALL: [Self; 6] = [
        Self::Code,
        Self::Link,
        Self::Origin,
        Self::Provider,
        Self::Credentials,
        Self::Session,
    ];

    /// What was shown to prove this.
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

impl Condition {
    /// The form in which it is kept: words, without a line break.
    pub(crate) fn written(&self) -> String {
        match self {
            Self::Right(scope) => format!("right {scope}"),
            Self::Export => "export".to_owned(),
            Self::Usable(wallet) => format!("usable {wallet}"),
            Self::MaySignIn(user, shown) => format!("sign-in {user} {}", shown.as_str()),
        }
    }

    /// Reads what [`Condition::written`] wrote; `None` for anything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        Some(match words.as_slice() {
            ["right", scope] => Self::Right(scope.parse().ok()?),
            ["export"] => Self::Export,
            ["usable", wallet] => Self::Usable(wallet.parse().ok()?),
            ["sign-in", user, shown] => Self::MaySignIn(user.parse().ok()?, Shown::parse(shown)?),
            _ => return None,
        })
    }
}
