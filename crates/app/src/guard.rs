//! Failures in a row: every way to sign in counts them alike, and every wait grows alike (OTP-5, P-11).
//!
//! A wait holds up one identifier or one credential, never the user's other ways to sign in (attack 24).

use vestry_domain::code;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Timestamp, World};
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
