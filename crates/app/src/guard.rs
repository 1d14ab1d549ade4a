//! Failures in a row: every way to sign in counts them alike, and every wait grows alike (OTP-5, P-11).
//!
//! A wait holds up one identifier or one credential, never the user's other ways to sign in (attack 24). Beyond it, failures are
//! counted for the end user's address and for the whole App: guesses can be spread (M-6).

use tokio::time::Instant;
use vestry_domain::code::{self, MethodId};
use vestry_domain::event::{EventKind, Fact, FailReason, Method};
use vestry_domain::ids::UserId;
use vestry_domain::limits::{Limit, failures};
use vestry_domain::session::DeviceFingerprint;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Timestamp, World, link, password, totp};
use vestry_ports::store::{Repositories, StoreError};

use crate::budget::Purse;
use crate::events::Source;
use crate::failure_log::Untold;
use crate::fault::{causes, retried};
use crate::{Caller, Fault, Service, spraying};

/// Failures of one subject that are told, each by itself (E-8).
const TOLD: Limit = Limit::per_minute(10);

/// A try that was wrong, as it is told to those who read events.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failure {
    method: Method,
    /// Who would have signed in.
    user: UserId,
    reason: FailReason,
}

impl Failure {
    /// What was shown is wrong.
    pub(crate) const fn wrong(method: Method, user: UserId) -> Self {
        Self {
            method,
            user,
            reason: FailReason::Wrong,
        }
    }

    /// What was shown is right, and the user may not sign in.
    pub(crate) const fn user_disabled(method: Method, user: UserId) -> Self {
        Self {
            method,
            user,
            reason: FailReason::UserDisabled,
        }
    }
}

/// How long the subject still has to wait, if it has to.
pub(crate) async fn wait(
    tx: &mut dyn Repositories,
    world: &World,
    subject: &str,
    now: Timestamp,
) -> Result<Option<Seconds>, StoreError> {
    let until = tx.guards().blocked_until(world, subject).await?;
    Ok(left(until, now))
}

fn left(until: Option<Timestamp>, now: Timestamp) -> Option<Seconds> {
    until.filter(|until| now < *until).map(|until| until - now)
}

/// Counts a failure, and makes the subject wait when there were too many in a row.
pub(crate) async fn count_failure(
    service: &Service,
    tx: &mut dyn Repositories,
    caller: &Caller,
    subject: &str,
    failure: Failure,
    now: Timestamp,
) -> Result<(), StoreError> {
    let failures = tx.guards().fail(&caller.world, subject, now).await?;
    was_counted(service, tx, caller, subject, failure, failures, now).await
}

/// What follows from a failure of the subject, the n-th in a row.
async fn was_counted(
    service: &Service,
    tx: &mut dyn Repositories,
    caller: &Caller,
    subject: &str,
    failure: Failure,
    failures: i64,
    now: Timestamp,
) -> Result<(), StoreError> {
    tell_of(service, &mut *tx, caller, subject, failure, now).await?;
    match code::wait_after(failures) {
        Some(wait) => block(service, tx, caller, subject, failure, now + wait).await,
        None => Ok(()),
    }
}

/// Tells of a failure that nobody counts, as it cannot be a guess: of a passkey or a wallet.
pub(crate) async fn tell_failure(
    service: &Service,
    tx: &mut dyn Repositories,
    caller: &Caller,
    failure: Failure,
    now: Timestamp,
) -> Result<(), StoreError> {
    let subject = format!("{}:{}", failure.method.as_str(), failure.user);
    tell_of(service, tx, caller, &subject, failure, now).await
}

/// Tells of a failure where the App asked for that. Whoever tries a thousand things a minute shall not fill the log.
async fn tell_of(
    service: &Service,
    tx: &mut dyn Repositories,
    caller: &Caller,
    subject: &str,
    failure: Failure,
    now: Timestamp,
) -> Result<(), StoreError> {
    if !caller.wants(EventKind::SignInFailed) {
        return Ok(());
    }
    let budgets = tx.budgets();
    let verdict = budgets
        .spend(&caller.world, "told_failures", subject, TOLD, now)
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
    let told = Fact::sign_in_failed(Some(user), method, reason, None);
    service.tell(tx, caller, [told]).await
}

impl Service {
    /// Tells how many failures were not told by themselves, of the minutes that are over at a moment, or of all. The number is lost
    /// where it cannot be written, and with a process that is killed.
    pub async fn tell_counted_failures(&self, over: Option<Instant>) {
        for untold in self.failures.end(over) {
            if let Err(error) = self.tell_number(&untold).await {
                let error = causes(&error);
                tracing::warn!(error, "failures of signing in are not told of");
            }
        }
    }

    async fn tell_number(&self, untold: &Untold) -> Result<(), Fault> {
        let (user, count) = (Some(untold.user), Some(untold.count));
        let fact = Fact::sign_in_failed(user, untold.method, untold.reason, count);
        // It was counted for an App that asked for such events.
        let event = self.new_event(&Source::system(untold.world), &fact);
        retried(async || {
            let mut tx = self.ports.store.begin().await?;
            tx.events().append(std::slice::from_ref(&event)).await?;
            Ok(tx.commit().await?)
        })
        .await
    }
}

/// Makes the subject of a failure wait.
pub(crate) async fn block(
    service: &Service,
    tx: &mut dyn Repositories,
    caller: &Caller,
    subject: &str,
    failure: Failure,
    until: Timestamp,
) -> Result<(), StoreError> {
    tx.guards().block(&caller.world, subject, until).await?;
    let told = Fact::sign_in_blocked(Some(failure.user), failure.method, until);
    service.tell(tx, caller, [told]).await
}

/// What somebody tries to get in by, and from where: whose failures, and which address's.
pub(crate) struct Guarded {
    subject: String,
    address: Option<String>,
}

/// What there is to know before a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    /// How long the subject, or everything from its address, may still not be tried.
    pub(crate) wait: Option<Seconds>,
    /// Whether the subject has failed since it last was right.
    pub(crate) has_failed: bool,
}

/// A try that was announced to the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Try {
    /// It is counted as the n-th failure in a row, until it turns out to be right.
    Counted(i64),
    /// It does not count: the subject, or the address, has to wait.
    Waits(Seconds),
}

impl Guarded {
    /// The end user's address counts where the caller names it.
    pub(crate) fn new(subject: String, device: &DeviceFingerprint) -> Self {
        let address = device.ip_subject();
        Self {
            address: address.map(|address| format!("address:{address}")),
            ..Self::without_device(subject)
        }
    }

    /// Where nothing is known of a device.
    pub(crate) const fn without_device(subject: String) -> Self {
        Self {
            subject,
            address: None,
        }
    }

    /// How long the subject, or everything from this address, may still not be tried.
    pub(crate) async fn wait(
        &self,
        repositories: &mut dyn Repositories,
        world: &World,
        now: Timestamp,
    ) -> Result<Option<Seconds>, StoreError> {
        Ok(self.look(repositories, world, now).await?.wait)
    }

    /// The same, and whether there are failures that a success would have to forget.
    pub(crate) async fn look(
        &self,
        repositories: &mut dyn Repositories,
        world: &World,
        now: Timestamp,
    ) -> Result<Look, StoreError> {
        let noted = repositories.guards().noted(world, &self.subject).await?;
        let subject = left(noted.and_then(|noted| noted.blocked_until), now);
        let address = match &self.address {
            Some(address) => wait(repositories, world, address, now).await?,
            None => None,
        };
        Ok(Look {
            wait: subject.max(address),
            has_failed: noted.is_some(),
        })
    }

    /// Counts a try as a failure before anything is told of it. The subject stays locked until the transaction ends, so that
    /// parallel tries follow one another and are counted exactly (OTP-4). Then call [`Guarded::count_success`], or
    /// [`Guarded::failed`], or drop the transaction, which takes the count back.
    pub(crate) async fn begin_try(
        &self,
        tx: &mut dyn Repositories,
        world: &World,
        now: Timestamp,
    ) -> Result<Try, StoreError> {
        let failures = tx.guards().fail(world, &self.subject, now).await?;
        Ok(match self.wait(tx, world, now).await? {
            Some(left) => Try::Waits(left),
            None => Try::Counted(failures),
        })
    }

    /// A try that was announced, and counted as the n-th failure in a row, was wrong.
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

    /// The count of an address is over a time, and no success resets it: otherwise one account of his own would let an attacker
    /// go on. It is looked at before a try and raised after it, so what is tried at once may go beyond the limit once (M-6).
    async fn count_beyond_the_subject(
        &self,
        tx: &mut dyn Repositories,
        world: &World,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if let Some(address) = &self.address {
            let limit = failures::PER_ADDRESS;
            let budgets = tx.budgets();
            let verdict = budgets
                .spend(world, "address_failures", address, limit, now)
                .await?;
            if verdict.remaining == 0 {
                tx.guards().block(world, address, verdict.reset).await?;
            }
        }
        spraying::count_failure(tx, world, &self.subject, now).await
    }

    /// Forgets the failures of the subject: what was tried was right. Where it had none when it was looked at, one that came since
    /// stays counted, which lets nobody try once more. The user is locked.
    pub(crate) async fn count_success(
        &self,
        tx: &mut dyn Repositories,
        world: &World,
        user: UserId,
        has_failed: bool,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if has_failed {
            tx.guards().reset(world, &self.subject).await?;
        }
        spraying::count_success(tx, world, user, now).await
    }

    /// What the failures in a row are counted under.
    pub(crate) fn subject(&self) -> &str {
        &self.subject
    }
}

/// Forgets everything by which somebody else may keep a user from signing in: failures, waits, and what was sent.
pub(crate) async fn unlock(
    tx: &mut dyn Repositories,
    purse: &Purse<'_>,
    user: UserId,
) -> Result<(), StoreError> {
    forget_failures_of(tx, purse.world, user).await?;
    let Some(profile) = tx.users().profile(purse.world, user).await? else {
        return Ok(());
    };
    for email in &profile.emails {
        purse.clear(tx, email.email.identity().as_str()).await?;
    }
    for phone in &profile.phones {
        purse.clear(tx, phone.number.as_str()).await?;
    }
    Ok(())
}

/// Forgets all failures and waits of a user: those of the password, the authenticator apps and recovery codes, and those of
/// every address and number, their codes, links and resets.
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
        tx.guards().reset(world, &subject).await?;
    }
    Ok(())
}
