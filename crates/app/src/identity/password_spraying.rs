//! Password spraying: guesses spread over so many accounts that none fails often, counted for the whole App (M-6).
//!
//! While failures exceed ten times the successes, new codes are longer: a hundred guesses then win what one did before. No request is
//! refused for it, because the attack is known but not the attacker.
//!
//! An account counts as one success per hour, however often it signs in. Otherwise an attacker could offset guesses at other accounts with
//! sign-ins to their own.

use vestry_domain::ids::UserId;
use vestry_domain::limits::{Limit, failures};
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Timestamp, World, code};
use vestry_ports::store::{Repositories, StoreError};

use crate::kernel::shards::{SHARDS, shard};

const FAILED: &str = "sign_in_failed";
const SUCCEEDED: &str = "sign_in_succeeded";
/// Counter of the accounts whose success in this hour was counted.
const COUNTED_ACCOUNT: &str = "sign_in_succeeded_of";
const WARNED: &str = "spraying_warned";
/// The "blocked" subject while codes are long.
const SHORT_CODES: &str = "short-codes";
/// How often an ongoing attack is recorded again. Otherwise each failure would wait for the previous one.
const NOTED_EVERY: Seconds = Seconds(60);

/// A limit that only counts and never refuses.
const COUNTED: Limit = Limit {
    most: u32::MAX,
    window: failures::OF_APP_WINDOW,
};

/// Counts a wrong code or password; `subject` is the identifier or credential that was tried.
pub(crate) async fn count_failure(
    tx: &mut dyn Repositories,
    world: &World,
    subject: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let counted = tx
        .quotas()
        .consume(world, FAILED, &shard(subject), COUNTED, now)
        .await?;
    // If there are too many in total, some shard exceeds its share, and that shard's next failure detects it.
    let in_part = u64::from(counted.limit - counted.remaining);
    if in_part * u64::from(SHARDS) <= failures::OF_APP {
        return Ok(());
    }
    let failed = tx.quotas().total(world, FAILED, now).await?;
    let succeeded = tx.quotas().total(world, SUCCEEDED, now).await?;
    if failed <= failures::OF_APP || failed <= failures::FOR_EACH_SUCCESS * succeeded {
        return Ok(());
    }
    lengthen_codes(tx, world, now).await?;
    let once = Limit {
        most: 1,
        window: failures::LONG_CODES_FOR,
    };
    let warned = tx.quotas().consume(world, WARNED, "", once, now).await?;
    if warned.admitted {
        tracing::warn!(%world, failed, succeeded, "possible credential-stuffing attack: sign-in failures far exceed successes this hour; new codes now have eight digits");
    }
    Ok(())
}

/// Counts a correct code or password of this user, whose row is locked.
pub(crate) async fn count_success(
    tx: &mut dyn Repositories,
    world: &World,
    user: UserId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let window = failures::OF_APP_WINDOW;
    let user = user.to_string();
    let once = Limit { most: 1, window };
    let first = tx
        .quotas()
        .consume(world, COUNTED_ACCOUNT, &user, once, now)
        .await?;
    if !first.admitted {
        return Ok(());
    }
    tx.quotas()
        .count(world, SUCCEEDED, &shard(&user), window, now)
        .await
}

/// The number of digits of a new code.
pub(crate) async fn digits(
    repositories: &mut dyn Repositories,
    world: &World,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let until = repositories
        .lockouts()
        .blocked_until(world, SHORT_CODES)
        .await?;
    Ok(match until {
        Some(until) if now < until => code::LONG_DIGITS,
        _ => code::DIGITS,
    })
}

async fn lengthen_codes(
    tx: &mut dyn Repositories,
    world: &World,
    now: Timestamp,
) -> Result<(), StoreError> {
    let until = now + failures::LONG_CODES_FOR;
    let noted = tx.lockouts().blocked_until(world, SHORT_CODES).await?;
    if noted.is_some_and(|noted| until <= noted) {
        return Ok(());
    }
    tx.lockouts()
        .block(world, SHORT_CODES, until + NOTED_EVERY)
        .await
}
