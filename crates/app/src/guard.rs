//! Failures in a row: every way to sign in counts them alike, and every wait grows alike (OTP-5, P-11).
//!
//! A wait holds up one identifier or one credential, never the user's other ways to sign in (attack 24).

use vestry_domain::code::{self, MethodId};
use vestry_domain::ids::UserId;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Timestamp, World, link, password, totp};
use vestry_ports::store::{Repositories, StoreError};

/// How long the subject still has to wait, if it has to.
pub(crate) async fn wait(
    tx: &mut dyn Repositories,
    world: &World,
    subject: &str,
    now: Timestamp,
) -> Result<Option<Seconds>, StoreError> {
    let until = tx.guards().blocked_until(world, subject).await?;
    Ok(until.filter(|until| now < *until).map(|until| until - now))
}

/// Counts a failure, and makes the subject wait when there were too many in a row.
pub(crate) async fn count_failure(
    tx: &mut dyn Repositories,
    world: &World,
    subject: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let failures = tx.guards().fail(world, subject, now).await?;
    if let Some(wait) = code::wait_after(failures) {
        tx.guards().block(world, subject, now + wait).await?;
    }
    Ok(())
}

/// A try that was announced to the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Try {
    /// It is counted as the n-th failure in a row, until it turns out to be right.
    Counted(i64),
    /// It does not count: the subject has to wait.
    Waits(Seconds),
}

/// Counts a try as a failure before anything is told of it. The subject stays locked until the transaction ends, so that
/// parallel tries follow one another and are counted exactly (OTP-4). Then either reset the guard, or call [`failed`], or
/// drop the transaction, which takes the count back.
pub(crate) async fn begin_try(
    tx: &mut dyn Repositories,
    world: &World,
    subject: &str,
    now: Timestamp,
) -> Result<Try, StoreError> {
    let failures = tx.guards().fail(world, subject, now).await?;
    Ok(match wait(tx, world, subject, now).await? {
        Some(left) => Try::Waits(left),
        None => Try::Counted(failures),
    })
}

/// A counted try was wrong: makes the subject wait when there were too many in a row.
pub(crate) async fn failed(
    tx: &mut dyn Repositories,
    world: &World,
    subject: &str,
    failures: i64,
    now: Timestamp,
) -> Result<(), StoreError> {
    if let Some(wait) = code::wait_after(failures) {
        tx.guards().block(world, subject, now + wait).await?;
    }
    Ok(())
}

/// Forgets all failures and waits of a user: those of the password, the authenticator apps and recovery codes, and those of
/// every address and number, their codes, links and resets.
pub(crate) async fn forget_all_of(
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
