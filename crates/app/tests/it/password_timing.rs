//! attack-10: who a user is cannot be read off the time that an answer takes.

use std::time::{Duration, Instant};

use vestry_app::Caller;
use vestry_app::passwords::{VerifyPassword, VerifyPasswordError};
use vestry_app::sessions::Trio;
use vestry_domain::Secret;
use vestry_domain::ids::{Id, UserId};
use vestry_domain::session::DeviceFingerprint;

use crate::passwords::imported;
use crate::rig::Rig;

/// Samples of each kind.
const SAMPLES: usize = 600;
/// The most that one kind may be told from another by its time; one half is chance. The bar is 0.55 under the parameters of the
/// service (OTP and password lines of the security bar); here the hash is a quarter of that and built without optimization around
/// it, next to hundreds of other tests, so that some microseconds weigh more. A skipped hash shows as 1.0.
const MOST: f64 = 0.65;
/// A machine that does other things can make two equal kinds differ once; a difference that is there is there every time.
const ROUNDS: usize = 3;

/// How often a draw of the first is slower than one of the second: the area under the curve (Mann-Whitney).
fn area(one: &[Duration], other: &[Duration]) -> f64 {
    let mut all: Vec<_> = one
        .iter()
        .map(|time| (time, true))
        .chain(other.iter().map(|time| (time, false)))
        .collect();
    all.sort();
    let (mut rank_sum, mut rank) = (0.0, 0.0);
    for (_, is_one) in all {
        rank += 1.0;
        if is_one {
            rank_sum += rank;
        }
    }
    let (n, m) = (count(one), count(other));
    (rank_sum - n * (n + 1.0) / 2.0) / (n * m)
}

fn count(times: &[Duration]) -> f64 {
    f64::from(u32::try_from(times.len()).unwrap())
}

#[test]
fn the_area_tells_slow_from_fast() {
    let times = |from: u64| {
        (from..from + 100)
            .map(Duration::from_millis)
            .collect::<Vec<_>>()
    };
    assert!(area(&times(1000), &times(0)) > 0.99);
    assert!(area(&times(0), &times(1000)) < 0.01);
    assert!((area(&times(0), &times(0)) - 0.5).abs() < 0.02);
}

/// Wrong password, empty password, user without a password, unknown user: interleaved, and compared by pairs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_10_the_time_of_an_answer_does_not_tell_who_exists() {
    let rig = Rig::with_hashing(vestry_password_argon2::Settings {
        // Some milliseconds in a debug build, so that the hash is what takes the time, as it is in earnest.
        memory_kib: 16_384,
        ..vestry_password_argon2::Settings::weakest()
    })
    .await;
    let test = rig.test().await;
    let session = rig.sign_in(&test, "ada@example.com", 600).await;
    let known = session.session.user_id;
    let set = vestry_app::passwords::UpdatePassword {
        password: Secret::new("correct horse battery".to_owned()),
        current_password: None,
        session_token: Some(session.token.clone()),
        session_jwt: None,
    };
    rig.service.update_password(&test, set).await.unwrap();
    let without = imported(&rig, "bob@example.com", None, true).await;
    let unknown = UserId::new(rig.now(), [7; 16]);
    let kinds = [
        ("wrong", known, "correct horse batterz"),
        ("empty", known, ""),
        ("without a password", without, "correct horse battery"),
        ("unknown", unknown, "correct horse battery"),
    ];
    let kinds = &kinds;
    for round in 1..=ROUNDS {
        let widest = measure(&rig, &test, kinds).await;
        if widest < MOST {
            return;
        }
        println!("round {round}: two kinds can be told apart by {widest:.3}");
    }
    panic!("in each of {ROUNDS} rounds, two kinds could be told apart");
}

/// A name, and the attempt it stands for.
type Kind = (&'static str, UserId, &'static str);

/// The clearest difference between any two kinds.
async fn measure(rig: &Rig, test: &Caller, kinds: &[Kind]) -> f64 {
    let mut times = vec![Vec::with_capacity(SAMPLES); kinds.len()];
    for round in 0..SAMPLES {
        for offset in 0..kinds.len() {
            let kind = (round + offset) % kinds.len();
            let (_, user_id, password) = kinds[kind];
            // No wait holds anybody up; what is measured is the comparison.
            rig.pass(2 * 86_400);
            let command = VerifyPassword {
                user_id,
                password: Secret::new(password.to_owned()),
                trio: Trio::default(),
                device_fingerprint: DeviceFingerprint::default(),
            };
            let begun = Instant::now();
            let outcome = rig.service.verify_password(test, command).await;
            times[kind].push(begun.elapsed());
            assert!(matches!(
                outcome,
                Err(VerifyPasswordError::InvalidCredentials)
            ));
        }
    }
    let mut widest = 0.5_f64;
    for (kind, (name, ..)) in kinds.iter().enumerate() {
        let mut sorted = times[kind].clone();
        sorted.sort();
        println!(
            "{name}: median {:?}, p95 {:?}",
            sorted[SAMPLES / 2],
            sorted[SAMPLES * 95 / 100]
        );
        for (other, (other_name, ..)) in kinds.iter().enumerate().skip(kind + 1) {
            let area = area(&times[kind], &times[other]);
            println!("{name} against {other_name}: AUC {area:.3} over {SAMPLES} samples each");
            widest = widest.max(area).max(1.0 - area);
        }
    }
    widest
}
