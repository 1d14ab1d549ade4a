//! A flood of password verifications (F10, P-7, attack-22): memory stays bounded, and the rest of the service keeps working.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::block_in_place;

use crate::support::client::Api;
use crate::support::flow::sign_in;
use crate::support::installation::{Installation, text};
use crate::support::process::PATIENCE;

/// Concurrent verifications.
const FLOOD: usize = 200;
/// Sequential verifications of each attacker: enough to overflow the queue, without starving the tests that run at the same time.
const ROUNDS: usize = 5;
/// Session verifications that are timed, at rest and during the flood.
const TIMED: usize = 60;
/// Hashing threads, and the memory of each in MiB.
const THREADS: usize = 2;
const MEMORY: usize = 19;

/// A line of `/proc/PID/status`, in MiB.
fn memory(process: u32, name: &str) -> usize {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    let kib: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib / 1024
}

/// Waits until memory has dropped this far below its peak, in MiB. Memory of hashes is released some time after the last one, also if the
/// service locks its memory.
async fn given_back(process: u32, peak: usize, wanted: usize) {
    let mut looks = tokio::time::interval(Duration::from_millis(50));
    let less = async {
        while memory(process, "VmRSS") + wanted > peak {
            looks.tick().await;
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, less).await.is_ok();
    let now = memory(process, "VmRSS");
    assert!(in_time, "{peak} MiB in the flood, still {now} MiB");
}

/// Durations of session verifications, sorted.
async fn timed(api: &Api, token: &str) -> Vec<Duration> {
    let mut times = Vec::with_capacity(TIMED);
    for _ in 0..TIMED {
        let begun = Instant::now();
        let body = json!({ "session_token": token });
        api.post("/v1/auth/sessions/verify", &body).await.ok();
        times.push(begun.elapsed());
    }
    times.sort();
    times
}

/// The responses to the flood.
#[derive(Default)]
struct Answers {
    right: AtomicUsize,
    refused: AtomicUsize,
}

async fn flood(api: Api, user_id: String, stop: Arc<AtomicBool>, answers: Arc<Answers>) {
    let body = json!({ "user_id": user_id, "password": "correct horse battery" });
    for _ in 0..ROUNDS {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let answer = api.post("/v1/auth/passwords/verify", &body).await;
        match answer.status {
            200 => answers.right.fetch_add(1, Ordering::Relaxed),
            503 => {
                assert_eq!(answer.error(503), "unavailable");
                assert!(answer.headers.contains_key("retry-after"));
                answers.refused.fetch_add(1, Ordering::Relaxed)
            }
            other => panic!("{other}: {}", answer.body),
        };
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_22_a_flood_of_verifies_takes_no_more_than_its_share() {
    let mut installation = Installation::sqlite();
    installation.set("limits.test_per_minute", "0");
    installation.set("passwords.threads", &THREADS.to_string());
    // glibc's allocator, which test builds use, stops mapping blocks as large as the first freed one. On a slow machine that block belongs
    // to a thread that was idle before the flood, and no memory would be released after it.
    installation.set_variable("MALLOC_MMAP_THRESHOLD_", "131072");
    let keys = block_in_place(|| installation.set_up());
    let server = installation.serve().await;
    let api = server.api(&keys.test);
    let session = sign_in(&api, "ada@example.com").await;
    let (user_id, token) = (text(&session, "user_id"), text(&session, "session_token"));
    let body = json!({ "session_token": token, "password": "correct horse battery" });
    api.post("/v1/auth/passwords/session/update", &body)
        .await
        .ok();
    let calm = timed(&api, &token).await;
    let before = memory(server.process.id(), "VmRSS");

    let (stop, answers) = (Arc::<AtomicBool>::default(), Arc::<Answers>::default());
    let attackers: Vec<_> = (0..FLOOD)
        .map(|_| {
            let (stop, answers) = (Arc::clone(&stop), Arc::clone(&answers));
            tokio::spawn(flood(api.clone(), user_id.clone(), stop, answers))
        })
        .collect();
    let busy = timed(&api, &token).await;
    stop.store(true, Ordering::Relaxed);
    for attacker in attackers {
        attacker.await.unwrap();
    }
    let peak = memory(server.process.id(), "VmHWM");
    let p99 = |times: &[Duration]| times[times.len() * 99 / 100];
    let (right, refused) = (
        answers.right.load(Ordering::Relaxed),
        answers.refused.load(Ordering::Relaxed),
    );
    println!(
        "{FLOOD} at once: {right} right, {refused} refused with 503; session verify p50 {:?} -> {:?}, p99 {:?} -> {:?}; memory {before} -> at most {peak} MiB",
        calm[TIMED / 2],
        busy[TIMED / 2],
        p99(&calm),
        p99(&busy)
    );
    assert!(right > 0 && refused > 0);
    assert!(
        peak <= before + THREADS * MEMORY + 100,
        "{before} MiB before, {peak} MiB at the peak"
    );
    given_back(server.process.id(), peak, THREADS * (MEMORY - 1)).await;
    // Latencies are printed but not asserted: the flood, the service and the clients share this machine.
    server.process.stop().await;
}
