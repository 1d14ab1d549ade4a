//! Account lockout: every sign-in method counts consecutive failures, with the same growing lockouts (OTP-5, P-11).
//!
//! A lockout blocks one identifier or one credential, never the user's other sign-in methods (attack 24). Failures are also counted by the
//! end user's address and for the whole App, because guesses can be distributed (M-6).

use std::time::Duration;

use tokio::time::Instant;
use vestry_domain::activity::{Measure, SignInFailure};
use vestry_domain::code::{self, MethodId};
use vestry_domain::event::{EventKind, Fact, FailReason, Method};
use vestry_domain::ids::UserId;
use vestry_domain::limits::{Limit, failures};
use vestry_domain::session::DeviceFingerprint;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Timestamp, World, link, password, totp};
use vestry_ports::store::{Repositories, StoreError};

use crate::identity::password_spraying;
use crate::identity::quotas::SendQuota;
use crate::kernel::built_in::sign_in_failed;
use crate::kernel::fault::{causes, retried};
use crate::kernel::state::failure_log::CountedFailures;
use crate::{Caller, Fault, Principal, Service};

/// Limit of failures of one subject that are emitted individually (E-8).
const FAILURE_EVENTS: Limit = Limit::per_minute(10);
/// Interval between checks for finished minutes.
const EVERY: Duration = Duration::from_secs(10);

/// A failed attempt, as emitted in events.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failure {
    method: Method,
    /// The user who would have signed in.
    user: UserId,
    reason: FailReason,
}

impl Failure {
    /// A failure because the credential is wrong.
    pub(crate) const fn wrong(method: Method, user: UserId) -> Self {
        Self {
            method,
            user,
            reason: FailReason::Wrong,
        }
    }

    /// A failure because the user may not sign in, although the credential is right.
    pub(crate) const fn user_disabled(method: Method, user: UserId) -> Self {
        Self {
            method,
            user,
            reason: FailReason::UserDisabled,
        }
    }

    /// What it counts for.
    pub(crate) const fn measure(self) -> Measure {
        Measure::SignInFailed(SignInFailure::of(self.method, self.reason))
    }
}

/// The remaining lockout of the subject, if any.
pub(crate) async fn wait(
    tx: &mut dyn Repositories,
    world: &World,
    subject: &str,
    now: Timestamp,
) -> Result<Option<Seconds>, StoreError> {
    let until = tx.lockouts().blocked_until(world, subject).await?;
    Ok(left(until, now))
}

fn left(until: Option<Timestamp>, now: Timestamp) -> Option<Seconds> {
    until.filter(|until| now < *until).map(|until| until - now)
}

/// Counts a failure, and locks the subject out after too many consecutive ones.
pub(crate) async fn count_failure(
    service: &Service,
    tx: &mut dyn Repositories,
    caller: &Caller,
    subject: &str,
    failure: Failure,
    now: Timestamp,
) -> Result<(), StoreError> {
    let failures = tx.lockouts().fail(&caller.world, subject, now).await?;
    was_counted(service, tx, caller, subject, failure, failures, now).await
}

/// Applies the consequences of the subject's n-th consecutive failure.
async fn was_counted(
    service: &Service,
    tx: &mut dyn Repositories,
    caller: &Caller,
    subject: &str,
    failure: Failure,
    failures: i64,
    now: Timestamp,
) -> Result<(), StoreError> {
    emit_of(service, &mut *tx, caller, subject, failure, now).await?;
    match code::wait_after(failures) {
        Some(wait) => block(service, tx, caller, subject, failure, now + wait).await,
        None => Ok(()),
    }
}

/// Emits a failure that is not counted because it cannot be a guess: of a passkey or a wallet.
pub(crate) async fn emit_failure(
    service: &Service,
    tx: &mut dyn Repositories,
    caller: &Caller,
    failure: Failure,
    now: Timestamp,
) -> Result<(), StoreError> {
    let subject = format!("{}:{}", failure.method.as_str(), failure.user);
    emit_of(service, tx, caller, &subject, failure, now).await
}

/// Counts a failure, and emits it if the App requested that. The limit keeps an attacker from flooding the log.
async fn emit_of(
    service: &Service,
    tx: &mut dyn Repositories,
    caller: &Caller,
    subject: &str,
    failure: Failure,
    now: Timestamp,
) -> Result<(), StoreError> {
    tx.activity().note(&caller.world, failure.measure(), 1);
    if !caller.wants(EventKind::SignInFailed) {
        return Ok(());
    }
    let quotas = tx.quotas();
    let verdict = quotas
        .consume(
            &caller.world,
            "failure_events",
            subject,
            FAILURE_EVENTS,
            now,
        )
        .await?;
    let Failure {
        method,
        user,
        reason,
    } = failure;
    if !verdict.admitted {
        let now = Instant::now();
        service
            .failures
            .count(caller.world, user, method, reason, now);
        return Ok(());
    }
    let fact = sign_in_failed(&caller.world, user, method, reason, None);
    service.emit(tx, caller, [fact]).await
}

impl Service {
    /// Writes the counts of denied calls without their own entry and of failed sign-ins without their own event, and the uses of keys.
    ///
    /// It does so minute by minute until `stop` completes, and once more at the end. Counts are lost if the process is killed.
    pub async fn run_refusals(&self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        loop {
            let is_over = tokio::select! {
                () = &mut stop => true,
                () = tokio::time::sleep(EVERY) => false,
            };
            let over = (!is_over).then(Instant::now);
            self.write_counted_refusals(over).await;
            self.emit_counted_failures(over).await;
            self.write_key_uses(is_over).await;
            if is_over {
                return;
            }
        }
    }

    /// Emits the number of failures that had no event of their own, for the minutes that ended by `over`, or for all.
    ///
    /// The number is lost if it cannot be written, or if the process is killed.
    pub async fn emit_counted_failures(&self, over: Option<Instant>) {
        for counted in self.failures.end(over) {
            if let Err(error) = self.emit_count(&counted).await {
                let error = causes(&error);
                tracing::warn!(error, "could not emit event for counted sign-in failures");
            }
        }
    }

    async fn emit_count(&self, counted: &CountedFailures) -> Result<(), Fault> {
        let fact = sign_in_failed(
            &counted.world,
            counted.user,
            counted.method,
            counted.reason,
            Some(counted.count),
        );
        // It was counted for an App that requested such events.
        let event = self.new_event(&Principal::system().at(counted.world), &fact);
        retried(async || {
            let mut tx = self.ports.store.begin().await?;
            tx.events().append(std::slice::from_ref(&event)).await?;
            Ok(tx.commit().await?)
        })
        .await
    }
}

/// Locks the subject out after a failure.
pub(crate) async fn block(
    service: &Service,
    tx: &mut dyn Repositories,
    caller: &Caller,
    subject: &str,
    failure: Failure,
    until: Timestamp,
) -> Result<(), StoreError> {
    tx.lockouts().block(&caller.world, subject, until).await?;
    let fact = Fact::sign_in_blocked(Some(failure.user), failure.method, until);
    service.emit(tx, caller, [fact]).await
}

/// The subject of an attempt and the address that it came from, each with its own failure count.
pub(crate) struct LockoutSubject {
    subject: String,
    address: Option<String>,
}

/// The lockout status before an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LockoutStatus {
    /// The remaining lockout of the subject or of its address.
    pub(crate) wait: Option<Seconds>,
    /// Whether the subject has failed since its last success.
    pub(crate) has_failed: bool,
}

/// An attempt registered before its comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// Counted as the n-th consecutive failure until it turns out to be right.
    Counted(i64),
    /// Not counted: the subject or the address is locked out.
    Waits(Seconds),
}

impl LockoutSubject {
    /// Creates one. The end user's address is included if the caller sends it.
    pub(crate) fn new(subject: String, device: &DeviceFingerprint) -> Self {
        let address = device.ip_subject();
        Self {
            address: address.map(|address| format!("address:{address}")),
            ..Self::without_device(subject)
        }
    }

    /// Creates one for an unknown device.
    pub(crate) const fn without_device(subject: String) -> Self {
        Self {
            subject,
            address: None,
        }
    }

    /// The remaining lockout of the subject or of this address.
    pub(crate) async fn wait(
        &self,
        repositories: &mut dyn Repositories,
        world: &World,
        now: Timestamp,
    ) -> Result<Option<Seconds>, StoreError> {
        Ok(self.status(repositories, world, now).await?.wait)
    }

    /// The same, and whether there are failures that a success would have to clear.
    pub(crate) async fn status(
        &self,
        repositories: &mut dyn Repositories,
        world: &World,
        now: Timestamp,
    ) -> Result<LockoutStatus, StoreError> {
        let noted = repositories.lockouts().noted(world, &self.subject).await?;
        let subject = left(noted.and_then(|noted| noted.blocked_until), now);
        let address = match &self.address {
            Some(address) => wait(repositories, world, address, now).await?,
            None => None,
        };
        Ok(LockoutStatus {
            wait: subject.max(address),
            has_failed: noted.is_some(),
        })
    }

    /// Counts an attempt as a failure before its outcome is revealed.
    ///
    /// The subject stays locked until the transaction ends, so parallel attempts are serialised and counted exactly (OTP-4). Then call
    /// [`LockoutSubject::count_success`] or [`LockoutSubject::failed`], or drop the transaction, which undoes the count.
    pub(crate) async fn begin_attempt(
        &self,
        tx: &mut dyn Repositories,
        world: &World,
        now: Timestamp,
    ) -> Result<Attempt, StoreError> {
        let failures = tx.lockouts().fail(world, &self.subject, now).await?;
        Ok(match self.wait(tx, world, now).await? {
            Some(left) => Attempt::Waits(left),
            None => Attempt::Counted(failures),
        })
    }

    /// Confirms that an attempt, already counted as the n-th consecutive failure, was wrong.
    pub(crate) async fn failed(
        &self,
        service: &Service,
        tx: &mut dyn Repositories,
        caller: &Caller,
        failure: Failure,
        failures: i64,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let subject = &self.subject;
        was_counted(service, &mut *tx, caller, subject, failure, failures, now).await?;
        self.count_beyond_the_subject(tx, &caller.world, now).await
    }

    /// Counts a failure of the subject, of the address and of the App.
    pub(crate) async fn count_failure(
        &self,
        service: &Service,
        tx: &mut dyn Repositories,
        caller: &Caller,
        failure: Failure,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        count_failure(service, &mut *tx, caller, &self.subject, failure, now).await?;
        self.count_beyond_the_subject(tx, &caller.world, now).await
    }

    /// Counts a failure of the address and of the App.
    ///
    /// The count of an address lasts for a time window, and no success resets it: otherwise an attacker could continue by signing in to
    /// their own account. It is checked before an attempt and incremented after it, so concurrent attempts can exceed the limit once (M-6).
    async fn count_beyond_the_subject(
        &self,
        tx: &mut dyn Repositories,
        world: &World,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if let Some(address) = &self.address {
            let limit = failures::PER_ADDRESS;
            let quotas = tx.quotas();
            let verdict = quotas
                .consume(world, "address_failures", address, limit, now)
                .await?;
            if verdict.remaining == 0 {
                tx.lockouts().block(world, address, verdict.reset).await?;
            }
        }
        password_spraying::count_failure(tx, world, &self.subject, now).await
    }

    /// Clears the failures of the subject after a success.
    ///
    /// If it had none when it was checked, a failure since then stays counted, which grants no extra attempt. The user's row is locked.
    pub(crate) async fn count_success(
        &self,
        tx: &mut dyn Repositories,
        world: &World,
        user: UserId,
        has_failed: bool,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if has_failed {
            tx.lockouts().reset(world, &self.subject).await?;
        }
        password_spraying::count_success(tx, world, user, now).await
    }

    /// The key that consecutive failures are counted under.
    pub(crate) fn subject(&self) -> &str {
        &self.subject
    }
}

/// Clears everything through which others can keep a user from signing in: failures, lockouts and send quotas.
pub(crate) async fn unlock(
    tx: &mut dyn Repositories,
    quota: &SendQuota<'_>,
    user: UserId,
) -> Result<(), StoreError> {
    forget_failures_of(tx, quota.world, user).await?;
    let Some(profile) = tx.users().profile(quota.world, user).await? else {
        return Ok(());
    };
    for email in &profile.emails {
        quota.clear(tx, email.email.identity().as_str()).await?;
    }
    for phone in &profile.phones {
        quota.clear(tx, phone.number.as_str()).await?;
    }
    Ok(())
}

/// Clears all failures and lockouts of a user: those of the password, the authenticator apps and recovery codes, and those of every address
/// and number with its codes, links and resets.
pub(crate) async fn forget_failures_of(
    tx: &mut dyn Repositories,
    world: &World,
    user: UserId,
) -> Result<(), StoreError> {
    let mut subjects = vec![
        password::guarded_user(user),
        totp::guarded_codes(user),
        totp::guarded_recovery(user),
    ];
    if let Some(profile) = tx.users().profile(world, user).await? {
        for email in &profile.emails {
            subjects.push(link::guard_subject(email.id));
            subjects.push(link::reset_guard_subject(email.id));
            subjects.push(MethodId::Email(email.id).to_string());
        }
        let phones = profile.phones.iter();
        subjects.extend(phones.map(|phone| MethodId::Phone(phone.id).to_string()));
    }
    for subject in subjects {
        tx.lockouts().reset(world, &subject).await?;
    }
    Ok(())
}
