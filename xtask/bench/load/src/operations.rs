//! The operations by method. Those that read by key or sign under load of 64 connections are measured with wrk.

mod codes;
pub(crate) mod flood;
mod links;
mod passkeys;
mod passwords;
mod sessions;
mod test_clock;
mod totps;
mod users;
mod wallet_sign_in;

use crate::Failure;
use crate::api::{Api, Call};
use crate::stopwatch::Stopwatch;

/// Runs all of them, after the empty handler as the reference.
pub(crate) async fn run(
    baseline: &Api,
    service: &Api,
    stopwatch: Stopwatch,
) -> Result<(), Failure> {
    let empty = |times: usize| vec![Call::get("/empty"); stopwatch.calls * times];
    stopwatch.prepare(baseline, empty(1)).await?;
    stopwatch
        .measure(baseline, "empty handler", empty(10))
        .await?;
    users::run(service, stopwatch).await?;
    codes::run(service, stopwatch).await?;
    links::run(service, stopwatch).await?;
    passwords::run(service, stopwatch).await?;
    totps::run(service, stopwatch).await?;
    passkeys::run(service, stopwatch).await?;
    wallet_sign_in::run(service, stopwatch).await?;
    sessions::run(service, stopwatch).await?;
    test_clock::run(service, stopwatch).await
}
