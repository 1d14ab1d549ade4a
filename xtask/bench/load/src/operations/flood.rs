//! The effect of a flood of password verifications on session verification (attack 22).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::Failure;
use crate::api::{Api, Call};
use crate::people::people;
use crate::stopwatch::Stopwatch;

/// The number of concurrent password verifications.
const FLOOD: usize = 200;
/// The interval between session verifications, long enough that they do not wait for each other at rest.
const PACE: Duration = Duration::from_millis(5);
/// The retry delay after a 503.
const BACK_AFTER: Duration = Duration::from_millis(250);

const PASSWORD: &str = "plum orbit candle wagon";

/// Prints the times of as many session verifications at rest as the stopwatch has calls, and of as many in a flood.
pub(crate) async fn run(api: &Api, stopwatch: Stopwatch) -> Result<(), Failure> {
    let (service, key) = api.place();
    let one = Stopwatch {
        calls: 1,
        connections: 1,
    };
    let people = people(api, one, "flood").await?;
    let person = people.first().ok_or("no user was created")?;
    let token = &person.session_token;
    let set = json!({"session_token": token, "password": PASSWORD});
    api.make(Call::post("/v1/auth/passwords/session/update", set))
        .await?;
    let verify = Call::post("/v1/auth/sessions/verify", json!({"session_token": token}));
    let calls = || vec![verify.clone(); stopwatch.calls];
    stopwatch.paced(api, "at rest", PACE, calls()).await?;
    let stop = Arc::<AtomicBool>::default();
    let flood = json!({"user_id": person.user_id, "password": PASSWORD});
    let flood = Call::post("/v1/auth/passwords/verify", flood);
    let url = service.to_owned();
    let (key, stopped) = (key.to_owned(), Arc::clone(&stop));
    let callers = std::thread::spawn(move || all(&url, &key, &flood, &stopped));
    stopwatch.paced(api, "in a flood", PACE, calls()).await?;
    stop.store(true, Ordering::Relaxed);
    callers.join().map_err(|_panic| "the flood panicked")?
}

/// The flood, on a low-priority thread, because in reality it comes from other machines.
fn all(service: &str, key: &str, call: &Call, stop: &Arc<AtomicBool>) -> Result<(), Failure> {
    rustix::process::setpriority_process(None, 19)?;
    let api = Api::new(service, key)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let callers = (0..FLOOD).map(|_| call_on(api.clone(), call.clone(), Arc::clone(stop)));
        let callers: Vec<_> = callers.map(tokio::spawn).collect();
        for caller in callers {
            caller.await??;
        }
        Ok(())
    })
}

async fn call_on(api: Api, call: Call, stop: Arc<AtomicBool>) -> Result<(), Failure> {
    while !stop.load(Ordering::Relaxed) {
        match api.status(call.clone()).await? {
            200 => {}
            503 => tokio::time::sleep(BACK_AFTER).await,
            other => return Err(format!("a verification in the flood returned {other}").into()),
        }
    }
    Ok(())
}
