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

use serde_json::Value;

use crate::Failure;
use crate::api::{Api, Call};
use crate::people::{Person, people};
use crate::stopwatch::Stopwatch;

/// Measures operations of one API.
#[derive(Clone, Copy)]
struct Flow<'a> {
    api: &'a Api,
    stopwatch: Stopwatch,
}

impl Flow<'_> {
    /// The same over one connection, for operations that the service rejects above a small concurrency.
    fn one_at_a_time(self) -> Self {
        let stopwatch = Stopwatch {
            connections: 1,
            ..self.stopwatch
        };
        Self { stopwatch, ..self }
    }

    /// Signed-in users, as many as an operation has calls.
    async fn people(self, label: &str) -> Result<Vec<Person>, Failure> {
        people(self.api, self.stopwatch, label).await
    }

    /// Makes these calls, prints their times, and returns the responses.
    async fn measure(self, name: &str, calls: Vec<Call>) -> Result<Vec<Value>, Failure> {
        self.stopwatch.measure(self.api, name, calls).await
    }

    /// Measures the same call, repeated.
    async fn repeat(self, name: &str, call: Call) -> Result<Vec<Value>, Failure> {
        self.measure(name, vec![call; self.stopwatch.calls]).await
    }

    /// Measures a call for each number.
    async fn numbered(
        self,
        name: &str,
        call: impl Fn(usize) -> Call,
    ) -> Result<Vec<Value>, Failure> {
        let calls = (0..self.stopwatch.calls).map(call).collect();
        self.measure(name, calls).await
    }

    /// Measures a call for each item.
    async fn each<T>(
        self,
        name: &str,
        items: &[T],
        call: impl Fn(&T) -> Result<Call, Failure>,
    ) -> Result<Vec<Value>, Failure> {
        let calls = items.iter().map(call).collect::<Result<_, _>>()?;
        self.measure(name, calls).await
    }

    /// Like [`Self::each`], but without printing times.
    async fn prepare<T>(
        self,
        items: &[T],
        call: impl Fn(&T) -> Result<Call, Failure>,
    ) -> Result<Vec<Value>, Failure> {
        let calls = items.iter().map(call).collect::<Result<_, _>>()?;
        self.stopwatch.prepare(self.api, calls).await
    }
}

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
    let flow = Flow {
        api: service,
        stopwatch,
    };
    users::run(flow).await?;
    codes::run(flow).await?;
    links::run(flow).await?;
    passwords::run(flow).await?;
    totps::run(flow).await?;
    passkeys::run(flow).await?;
    wallet_sign_in::run(flow).await?;
    sessions::run(flow).await?;
    test_clock::run(flow).await
}
