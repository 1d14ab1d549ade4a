//! The facts that the charts of the console count. Names and labels are closed lists; neither is ever renamed.

use crate::closed_list::closed_lists;
use crate::event::{EventKind, Fact, FailReason, Method, Via};
use crate::session::Proof;
use crate::timestamp::Seconds;
use crate::wallet::WalletType;
use crate::webhook::AttemptOutcome;
use crate::{Timestamp, World};

closed_lists! {
    /// The method of a sign-in.
    SignInMethod {
        /// A code by e-mail.
        EmailCode "email_code",
        /// A code by SMS.
        SmsCode "sms_code",
        /// A magic link or a password reset link.
        EmailLink "email_link",
        /// A password.
        Password "password",
        /// A passkey.
        Passkey "passkey",
        /// An identity provider.
        Provider "provider",
        /// A wallet.
        Wallet "wallet",
        /// A code of an authenticator app.
        Totp "totp",
        /// A recovery code.
        RecoveryCode "recovery_code",
    }

    /// The reason that a sign-in failed.
    SignInFailure {
        /// A wrong code by e-mail or SMS.
        Code "code",
        /// A link that is not accepted.
        Link "link",
        /// A wrong password.
        Password "password",
        /// A wrong code of an authenticator app, or a wrong recovery code.
        Totp "totp",
        /// A passkey that is not accepted.
        Passkey "passkey",
        /// A wallet that is not accepted.
        Wallet "wallet",
        /// The credential is correct, but the user is disabled.
        UserDisabled "user_disabled",
    }

    /// The outcome of an attempt to send a webhook.
    WebhookOutcome {
        /// The endpoint accepted it.
        Delivered "delivered",
        /// The endpoint did not accept it.
        Failed "failed",
        /// The endpoint returned 410.
        Gone "gone",
    }

    /// The duration of an attempt to send a webhook, named by its upper bound in milliseconds.
    Latency {
        /// At most 50 ms.
        Upto50 "50",
        /// At most 100 ms.
        Upto100 "100",
        /// At most 250 ms.
        Upto250 "250",
        /// At most 500 ms.
        Upto500 "500",
        /// At most a second.
        Upto1000 "1000",
        /// At most 2.5 seconds.
        Upto2500 "2500",
        /// At most 5 seconds.
        Upto5000 "5000",
        /// At most 10 seconds.
        Upto10000 "10000",
        /// Longer.
        Longer "longer",
    }

    /// The length of time that a count covers.
    Period {
        /// An hour.
        Hour "hour",
        /// A day in UTC.
        Day "day",
    }
}

impl SignInMethod {
    /// The method that a proof belongs to.
    pub const fn of(proof: &Proof) -> Self {
        match proof {
            Proof::EmailCode { .. } => Self::EmailCode,
            Proof::SmsCode { .. } => Self::SmsCode,
            Proof::EmailLink { .. } => Self::EmailLink,
            Proof::Password => Self::Password,
            Proof::Totp { .. } => Self::Totp,
            Proof::RecoveryCode { .. } => Self::RecoveryCode,
            Proof::Passkey { .. } => Self::Passkey,
            Proof::Wallet { .. } => Self::Wallet,
            Proof::Provider { .. } => Self::Provider,
        }
    }
}

impl SignInFailure {
    /// The reason of a failed attempt.
    pub const fn of(method: Method, reason: FailReason) -> Self {
        match (reason, method) {
            (FailReason::UserDisabled, _) => Self::UserDisabled,
            (FailReason::Wrong, Method::Otp) => Self::Code,
            (FailReason::Wrong, Method::MagicLink) => Self::Link,
            (FailReason::Wrong, Method::Password) => Self::Password,
            (FailReason::Wrong, Method::Totp) => Self::Totp,
            (FailReason::Wrong, Method::Webauthn) => Self::Passkey,
            (FailReason::Wrong, Method::Wallet) => Self::Wallet,
        }
    }
}

impl From<AttemptOutcome> for WebhookOutcome {
    fn from(outcome: AttemptOutcome) -> Self {
        match outcome {
            AttemptOutcome::Delivered => Self::Delivered,
            AttemptOutcome::Failed(_) => Self::Failed,
            AttemptOutcome::Gone => Self::Gone,
        }
    }
}

impl Latency {
    /// The bucket of a duration in milliseconds.
    pub fn of(milliseconds: u32) -> Self {
        let mut buckets = Self::ALL.iter().copied();
        let fits = |bucket: &Self| bucket.limit().is_none_or(|limit| milliseconds <= limit);
        buckets.find(fits).unwrap_or(Self::Longer)
    }

    /// The upper bound in milliseconds, if there is one.
    pub const fn limit(self) -> Option<u32> {
        Some(match self {
            Self::Upto50 => 50,
            Self::Upto100 => 100,
            Self::Upto250 => 250,
            Self::Upto500 => 500,
            Self::Upto1000 => 1_000,
            Self::Upto2500 => 2_500,
            Self::Upto5000 => 5_000,
            Self::Upto10000 => 10_000,
            Self::Longer => return None,
        })
    }
}

impl Period {
    const fn length(self) -> i64 {
        match self {
            Self::Hour => 3_600,
            Self::Day => 86_400,
        }
    }

    /// How long counts are retained.
    pub const fn retention(self) -> Seconds {
        match self {
            Self::Hour => Seconds(35 * 86_400),
            Self::Day => Seconds(400 * 86_400),
        }
    }

    /// The start of the hour or day that a time is in.
    pub const fn start(self, at: Timestamp) -> Timestamp {
        let unix = at.unix();
        Timestamp::from_unix(unix - unix.rem_euclid(self.length()))
    }
}

/// A kind of fact that is counted: a name, and a label of its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// A user signed in. A factor that is added to an existing session is not a sign-in.
    SignIn(SignInMethod),
    /// A sign-in of a known user failed.
    SignInFailed(SignInFailure),
    /// A user was created.
    UserCreated(Via),
    /// A wallet was created, or its key was imported.
    WalletCreated(WalletType),
    /// A wallet signed.
    Signature(WalletType),
    /// A webhook was sent, or its sending was attempted.
    Webhook(WebhookOutcome),
    /// The duration of such an attempt.
    WebhookMs(Latency),
}

impl Measure {
    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SignIn(_) => "sign_in",
            Self::SignInFailed(_) => "sign_in_failed",
            Self::UserCreated(_) => "user_created",
            Self::WalletCreated(_) => "wallet_created",
            Self::Signature(_) => "signature",
            Self::Webhook(_) => "webhook",
            Self::WebhookMs(_) => "webhook_ms",
        }
    }

    /// The label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::SignIn(method) => method.as_str(),
            Self::SignInFailed(reason) => reason.as_str(),
            Self::UserCreated(via) => via.as_str(),
            Self::WalletCreated(wallet_type) | Self::Signature(wallet_type) => wallet_type.as_str(),
            Self::Webhook(outcome) => outcome.as_str(),
            Self::WebhookMs(latency) => latency.as_str(),
        }
    }

    /// The measure with this name and label.
    pub fn find(name: &str, label: &str) -> Option<Self> {
        let is_it = |measure: &Self| measure.name() == name && measure.label() == label;
        let wallet_types = || WalletType::ALL.iter().copied();
        // Each list has one name, so only the list of the right one is looked through to its end.
        match name {
            "sign_in" => of(SignInMethod::ALL, Self::SignIn).find(is_it),
            "sign_in_failed" => of(SignInFailure::ALL, Self::SignInFailed).find(is_it),
            "user_created" => of(Via::ALL, Self::UserCreated).find(is_it),
            "wallet_created" => wallet_types().map(Self::WalletCreated).find(is_it),
            "signature" => wallet_types().map(Self::Signature).find(is_it),
            "webhook" => of(WebhookOutcome::ALL, Self::Webhook).find(is_it),
            "webhook_ms" => of(Latency::ALL, Self::WebhookMs).find(is_it),
            _ => None,
        }
    }

    /// The measure that an emitted fact counts for, if any.
    pub fn of(fact: &Fact) -> Option<Self> {
        match fact.kind {
            EventKind::UserCreated => Self::find("user_created", fact.word("via")?),
            EventKind::WalletCreated | EventKind::WalletImported => {
                Self::find("wallet_created", fact.word("wallet_type")?)
            }
            _ => None,
        }
    }
}

fn of<T: Copy>(all: &[T], measure: fn(T) -> Measure) -> impl Iterator<Item = Measure> {
    all.iter().copied().map(measure)
}

/// How often something happened in an hour or a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ActivityCount {
    /// Where.
    pub world: World,
    /// The length of time.
    pub period: Period,
    /// Its start, by the machine's clock.
    pub starts_at: Timestamp,
    /// What happened.
    pub measure: Measure,
    /// How often.
    pub count: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Id, UserId, WalletId};

    #[test]
    fn every_measure_is_found_by_its_name_and_label() {
        let of_types = |measure: fn(WalletType) -> Measure| of(&WalletType::ALL, measure);
        let all: Vec<Measure> = of(SignInMethod::ALL, Measure::SignIn)
            .chain(of(SignInFailure::ALL, Measure::SignInFailed))
            .chain(of(Via::ALL, Measure::UserCreated))
            .chain(of_types(Measure::WalletCreated))
            .chain(of_types(Measure::Signature))
            .chain(of(WebhookOutcome::ALL, Measure::Webhook))
            .chain(of(Latency::ALL, Measure::WebhookMs))
            .collect();
        for measure in all {
            assert_eq!(
                Measure::find(measure.name(), measure.label()),
                Some(measure)
            );
        }
        assert_eq!(Measure::find("sign_in", "delivered"), None);
        assert_eq!(Measure::find("", "password"), None);
    }

    #[test]
    fn users_and_wallets_are_counted_by_their_events() {
        let user = UserId::new(Timestamp::default(), [0; 16]);
        let wallet = WalletId::new(Timestamp::default(), [0; 16]);
        let polkadot = WalletType::Polkadot;
        for (fact, expected) in [
            (
                Fact::user_created(user, Via::SmsOtp),
                Some(Measure::UserCreated(Via::SmsOtp)),
            ),
            (
                Fact::wallet_created(user, wallet, polkadot),
                Some(Measure::WalletCreated(polkadot)),
            ),
            (
                Fact::wallet_imported(user, wallet, polkadot),
                Some(Measure::WalletCreated(polkadot)),
            ),
            (Fact::wallet_linked(user, wallet, polkadot), None),
            (Fact::user_deleted(user), None),
        ] {
            assert_eq!(Measure::of(&fact), expected);
        }
    }

    #[test]
    fn durations_have_a_bucket() {
        for (milliseconds, expected) in [
            (0, "50"),
            (50, "50"),
            (51, "100"),
            (10_000, "10000"),
            (10_001, "longer"),
            (u32::MAX, "longer"),
        ] {
            assert_eq!(Latency::of(milliseconds).as_str(), expected);
        }
    }

    #[test]
    fn hours_and_days_begin_in_utc() {
        let at = Timestamp::from_unix(1_800_003_661);
        assert_eq!(Period::Hour.start(at).unix(), 1_800_000_000 + 3_600);
        assert_eq!(Period::Day.start(at).unix(), 1_799_971_200);
        assert_eq!(Period::Day.start(Timestamp::from_unix(-1)).unix(), -86_400);
    }
}
