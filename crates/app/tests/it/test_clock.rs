//! The clock of a test world: what follows it, and who may set it.

use vestry_app::codes::VerifyCodeError;
use vestry_app::test_clock::ClockReading;
use vestry_app::test_env::TestEnvError;
use vestry_app::{Caller, Refusal};
use vestry_domain::test_clock::ClockChange;
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_ports::store::Store;

use crate::rig::{Rig, START};

const ADA: &str = "ada@example.com";

const fn advance(seconds: i64) -> ClockChange {
    ClockChange {
        now: None,
        advance_seconds: Some(seconds),
        frozen: None,
    }
}

const fn freeze(at: i64) -> ClockChange {
    ClockChange {
        now: Some(at),
        advance_seconds: None,
        frozen: Some(true),
    }
}

async fn set(rig: &Rig, caller: &Caller, change: ClockChange) -> ClockReading {
    rig.service.set_test_clock(caller, change).await.unwrap()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix(START.unix() + seconds)
}

#[tokio::test]
async fn codes_follow_the_clock() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let (sent, code) = rig.fresh_code(&test, ADA).await;
    set(&rig, &test, advance(599)).await;
    assert!(rig.verify(&test, sent.email.id, "wrong").await.is_err());
    set(&rig, &test, advance(1)).await;
    let late = rig.verify(&test, sent.email.id, &code).await;
    assert!(matches!(late, Err(VerifyCodeError::InvalidCode)));
}

#[tokio::test]
async fn sessions_and_tokens_follow_the_clock() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    set(&rig, &test, freeze(2_000_000_000)).await;
    let issued = rig.sign_in(&test, ADA, 10_080).await;
    assert_eq!(issued.session.started_at.unix(), 2_000_000_000);
    assert_eq!(issued.session.expires_at.unix(), 2_000_000_000 + 604_800);
    set(&rig, &test, advance(604_799)).await;
    let alive = rig.by_token(&test, &issued.token).await.unwrap();
    assert_eq!(alive.session.last_active_at.unix(), 2_000_604_799);
    set(&rig, &test, advance(1)).await;
    let over = rig.by_token(&test, &issued.token).await;
    assert!(matches!(over, Err(Refusal::InvalidSession)));
    let over = rig.by_jwt(&test, &alive.jwt).await;
    assert!(matches!(over, Err(Refusal::InvalidSession)));
}

/// A world of last year has a signing key and its records are not swept away.
#[tokio::test]
async fn a_world_can_live_in_the_past() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    set(&rig, &test, freeze(1_500_000_000)).await;
    let issued = rig.sign_in(&test, ADA, 5).await;
    rig.sweep().await;
    let alive = rig.by_jwt(&test, &issued.jwt).await.unwrap();
    assert_eq!(alive.session.started_at.unix(), 1_500_000_000);
}

/// A test clock holds up the sweeping of test worlds alone: what is over in a live one goes, whatever an integrator set.
#[tokio::test]
async fn a_test_clock_keeps_no_live_records() {
    let rig = Rig::new().await;
    let (test, live) = (rig.test().await, rig.live().await);
    let mut links = Vec::new();
    for caller in [&test, &live] {
        rig.walletless(caller, ADA).await;
        let made = rig.created_link(caller, ADA).await;
        links.push((caller.world, TokenHash::of(made.token.expose())));
    }
    set(&rig, &test, freeze(START.unix())).await;
    rig.pass(3 * 86_400);
    rig.sweep().await;
    let mut read = rig.fake.read().await.unwrap();
    let mut found = Vec::new();
    for (world, token) in &links {
        found.push(read.links().find(world, token).await.unwrap().is_some());
    }
    assert_eq!(found, [true, false], "test, live");
}

/// Send budgets open again when the clock moves on, and a frozen clock does not keep the limit of requests shut.
#[tokio::test]
async fn limits_follow_the_clock() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    set(&rig, &test, freeze(START.unix())).await;
    // Five, and one beyond the budget.
    for _ in 0..6 {
        rig.login(&test, ADA).await;
        set(&rig, &test, advance(20)).await;
    }
    let seventh = rig
        .service
        .login_or_create_by_email(&test, crate::rig::login(ADA))
        .await;
    assert!(seventh.is_err());
    set(&rig, &test, advance(480)).await;
    rig.login(&test, ADA).await;
    let before = rig.service.admit(&test).await.unwrap();
    rig.pass(60);
    let after = rig.service.admit(&test).await.unwrap();
    assert_eq!(before.reset.unix(), START.unix() + 660);
    assert_eq!(after.reset.unix(), START.unix() + 720);
}

/// Other processes follow with the next look-up of a key, which is within a second.
#[tokio::test]
async fn another_process_follows() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let other = rig.other_process();
    let (sent, code) = rig.fresh_code(&test, ADA).await;
    set(&rig, &test, advance(600)).await;
    let seen = other.authenticate(rig.test_key()).await.unwrap();
    let late = other
        .verify_code(&seen, crate::rig::proof(sent.email.id, &code))
        .await;
    assert!(matches!(late, Err(VerifyCodeError::InvalidCode)));
}

/// S-17: no live key sets, reads or has a clock, and no other App follows.
#[tokio::test]
async fn only_the_test_world_follows() {
    let rig = Rig::new().await;
    let (test, live, stranger) = (rig.test().await, rig.live().await, rig.stranger().await);
    for refused in [
        rig.service.set_test_clock(&live, advance(1)).await,
        rig.service.read_test_clock(&live).await,
        rig.service.reset_test_clock(&live).await,
    ] {
        assert!(matches!(refused, Err(TestEnvError::NotFound)));
    }
    set(&rig, &test, advance(1_000)).await;
    for caller in [&live, &stranger] {
        let user = rig.user(caller, ADA).await;
        assert_eq!(user.profile.user.created_at, START);
    }
    let user = rig.user(&test, ADA).await;
    assert_eq!(user.profile.user.created_at, at(1_000));
    let World { app_id, .. } = test.world;
    let app = rig.service.show_app(app_id).await.unwrap();
    assert_eq!(app.test_clock.revision, 1);
}

#[tokio::test]
async fn a_clock_can_be_read_and_reset() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let reading = |now, frozen, is_set| ClockReading {
        now: at(now),
        frozen,
        is_set,
    };
    let read = async || rig.service.read_test_clock(&test).await.unwrap();
    assert_eq!(read().await, reading(0, false, false));
    let frozen = set(&rig, &test, freeze(START.unix() + 50)).await;
    assert_eq!(frozen, reading(50, true, true));
    rig.pass(7);
    assert_eq!(read().await, reading(50, true, true));
    let back = rig.service.reset_test_clock(&test).await.unwrap();
    assert_eq!(back, reading(7, false, false));
    assert_eq!(rig.user(&test, ADA).await.profile.user.created_at, at(7));
}

/// Parallel advances all count.
#[tokio::test]
async fn parallel_advances_add_up() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let advances = (0..20).map(|_| set(&rig, &test, advance(10)));
    futures_util::future::join_all(advances).await;
    let reading = rig.service.read_test_clock(&test).await.unwrap();
    assert_eq!(reading.now, at(200));
}
