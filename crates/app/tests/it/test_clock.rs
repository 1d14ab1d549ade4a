//! The clock of a test environment: what follows it, and who may set it.

use vestry_app::delivery::events::ListEvents;
use vestry_app::delivery::test_messages::{FindMessages, TestEnvError};
use vestry_app::idempotency::Begun;
use vestry_app::identity::codes::VerifyCodeError;
use vestry_app::identity::sessions::VerifySession;
use vestry_app::platform::ActivityRange;
use vestry_app::platform::test_clock::ClockReading;
use vestry_app::platform::webhooks::Resume;
use vestry_app::{Caller, Principal, Refusal};
use vestry_domain::test_clock::ClockChange;
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::webhook::SigningSecret;
use vestry_domain::{Timestamp, World};
use vestry_ports::store::Store;

use crate::harness::{Harness, START};
use crate::webhooks::{header, is_signed_by};

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

async fn set(harness: &Harness, caller: &Caller, change: ClockChange) -> ClockReading {
    harness
        .service
        .set_test_clock(caller, change)
        .await
        .unwrap()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix(START.unix() + seconds)
}

#[tokio::test]
async fn codes_follow_the_clock() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (sent, code) = harness.fresh_code(&test, ADA).await;
    set(&harness, &test, advance(599)).await;
    assert!(harness.verify(&test, sent.email.id, "wrong").await.is_err());
    set(&harness, &test, advance(1)).await;
    let late = harness.verify(&test, sent.email.id, &code).await;
    assert!(matches!(late, Err(VerifyCodeError::InvalidCode)));
}

#[tokio::test]
async fn sessions_and_tokens_follow_the_clock() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    set(&harness, &test, freeze(2_000_000_000)).await;
    let issued = harness.sign_in(&test, ADA, 10_080).await;
    assert_eq!(issued.session.started_at.unix(), 2_000_000_000);
    assert_eq!(issued.session.expires_at.unix(), 2_000_000_000 + 604_800);
    set(&harness, &test, advance(604_799)).await;
    let alive = harness.by_token(&test, &issued.token).await.unwrap();
    assert_eq!(alive.session.last_active_at.unix(), 2_000_604_799);
    set(&harness, &test, advance(1)).await;
    let over = harness.by_token(&test, &issued.token).await;
    assert!(matches!(over, Err(Refusal::InvalidSession)));
    let over = harness.by_jwt(&test, &alive.jwt).await;
    assert!(matches!(over, Err(Refusal::InvalidSession)));
}

/// An environment set to last year has a signing key, and its records are not swept.
#[tokio::test]
async fn an_environment_can_live_in_the_past() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    set(&harness, &test, freeze(1_500_000_000)).await;
    let issued = harness.sign_in(&test, ADA, 5).await;
    harness.sweep().await;
    let alive = harness.by_jwt(&test, &issued.jwt).await.unwrap();
    assert_eq!(alive.session.started_at.unix(), 1_500_000_000);
}

/// A test clock delays sweeping of test environments only: expired live records are deleted, whatever an integrator set.
#[tokio::test]
async fn a_test_clock_keeps_no_live_records() {
    let harness = Harness::new().await;
    let (test, live) = (harness.test().await, harness.live().await);
    let mut links = Vec::new();
    for caller in [&test, &live] {
        harness.walletless(caller, ADA).await;
        let made = harness.created_link(caller, ADA).await;
        links.push((caller.world, TokenHash::of(made.token.expose())));
    }
    set(&harness, &test, freeze(START.unix())).await;
    harness.pass(3 * 86_400);
    harness.sweep().await;
    let mut read = harness.fake.read().await.unwrap();
    let mut found = Vec::new();
    for (world, token) in &links {
        found.push(read.links().find(world, token).await.unwrap().is_some());
    }
    assert_eq!(found, [true, false], "test, live");
}

/// Send limits reset when the clock moves on, and a frozen clock does not block the request limit.
#[tokio::test]
async fn limits_follow_the_clock() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    set(&harness, &test, freeze(START.unix())).await;
    // Five, and one beyond the limit.
    for _ in 0..6 {
        harness.login(&test, ADA).await;
        set(&harness, &test, advance(20)).await;
    }
    let seventh = harness
        .service
        .login_or_create_by_email(&test, crate::harness::login(ADA))
        .await;
    assert!(seventh.is_err());
    set(&harness, &test, advance(480)).await;
    harness.login(&test, ADA).await;
    let before = harness.service.admit(&test).await.unwrap();
    harness.pass(60);
    let after = harness.service.admit(&test).await.unwrap();
    assert_eq!(before.reset.unix(), START.unix() + 660);
    assert_eq!(after.reset.unix(), START.unix() + 720);
}

/// Other processes follow at the next key lookup, which is within a second.
#[tokio::test]
async fn another_process_follows() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let other = harness.other_process();
    let (sent, code) = harness.fresh_code(&test, ADA).await;
    set(&harness, &test, advance(600)).await;
    let seen = other.authenticate(harness.test_key()).await.unwrap();
    let late = other
        .verify_code(&seen, crate::harness::proof(sent.email.id, &code))
        .await;
    assert!(matches!(late, Err(VerifyCodeError::InvalidCode)));
}

/// S-17: a live key neither sets nor reads nor has a clock, and other Apps do not follow.
#[tokio::test]
async fn only_the_test_environment_follows() {
    let harness = Harness::new().await;
    let (test, live, stranger) = (
        harness.test().await,
        harness.live().await,
        harness.stranger().await,
    );
    for refused in [
        harness.service.set_test_clock(&live, advance(1)).await,
        harness.service.read_test_clock(&live).await,
        harness.service.reset_test_clock(&live).await,
    ] {
        assert!(matches!(refused, Err(TestEnvError::NotFound)));
    }
    set(&harness, &test, advance(1_000)).await;
    for caller in [&live, &stranger] {
        let user = harness.user(caller, ADA).await;
        assert_eq!(user.profile.user.created_at, START);
    }
    let user = harness.user(&test, ADA).await;
    assert_eq!(user.profile.user.created_at, at(1_000));
    let World { app_id, .. } = test.world;
    let app = harness
        .service
        .show_app(Principal::cli(), app_id)
        .await
        .unwrap();
    assert_eq!(app.test_clock.revision, 1);
}

#[tokio::test]
async fn a_clock_can_be_read_and_reset() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let reading = |now, frozen, is_set| ClockReading {
        now: at(now),
        frozen,
        is_set,
    };
    let read = async || harness.service.read_test_clock(&test).await.unwrap();
    assert_eq!(read().await, reading(0, false, false));
    let frozen = set(&harness, &test, freeze(START.unix() + 50)).await;
    assert_eq!(frozen, reading(50, true, true));
    harness.pass(7);
    assert_eq!(read().await, reading(50, true, true));
    let back = harness.service.reset_test_clock(&test).await.unwrap();
    assert_eq!(back, reading(7, false, false));
    assert_eq!(
        harness.user(&test, ADA).await.profile.user.created_at,
        at(7)
    );
}

/// Parallel advances add up.
#[tokio::test]
async fn parallel_advances_add_up() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let advances = (0..20).map(|_| set(&harness, &test, advance(10)));
    futures_util::future::join_all(advances).await;
    let reading = harness.service.read_test_clock(&test).await.unwrap();
    assert_eq!(reading.now, at(200));
}

/// The clock that moves; the other one stands still.
#[derive(Debug, Clone, Copy)]
enum Moved {
    Test,
    Machine,
}

impl Moved {
    async fn by(self, harness: &Harness, seconds: i64) {
        match self {
            Self::Test => {
                let test = harness.test().await;
                set(harness, &test, advance(seconds)).await;
            }
            Self::Machine => harness.pass(seconds),
        }
    }
}

const HOST: &str = "hooks.example.com";
const DAY: i64 = 86_400;

/// Whether the effect that a line of the page describes occurs when one of the clocks moves.
async fn takes_place(what: &str, harness: &Harness, moved: Moved) -> bool {
    let test = harness.test().await;
    let service = &harness.service;
    match what {
        "Codes and links expire" => {
            let (sent, code) = harness.fresh_code(&test, ADA).await;
            moved.by(harness, 600).await;
            harness.verify(&test, sent.email.id, &code).await.is_err()
        }
        "Sessions and their JWTs expire" => {
            let issued = harness.sign_in(&test, ADA, 5).await;
            moved.by(harness, 300).await;
            let session = harness.by_token(&test, &issued.token).await;
            let jwt = harness.by_jwt(&test, &issued.jwt).await;
            assert_eq!(session.is_err(), jwt.is_err());
            session.is_err()
        }
        "Authenticator apps: which code is right" => {
            let user = harness.user(&test, ADA).await.profile.user.id;
            let created = harness.new_totp(&test, user).await;
            moved.by(harness, 120).await;
            let later = crate::totps::shown_at(&created, at(120));
            let code = crate::totps::code(user, &later);
            harness.try_totp(&test, code).await.is_ok()
        }
        "Send limits of an address or number" => {
            for _ in 0..6 {
                harness.login(&test, ADA).await;
                set(harness, &test, advance(20)).await;
            }
            moved.by(harness, 600).await;
            let login = crate::harness::login(ADA);
            service.login_or_create_by_email(&test, login).await.is_ok()
        }
        "`created_at` of users and events" => {
            moved.by(harness, 1_000).await;
            let user = harness.user(&test, ADA).await.profile.user;
            service.sequence_all().await.unwrap();
            let query = ListEvents::default();
            let page = service.list_events(&test, &query).await.unwrap();
            let event = &page.events.last().unwrap().event;
            assert_eq!(event.created_at, user.created_at);
            user.created_at == at(1_000)
        }
        "An `Idempotency-Key` is remembered for 24 hours" => {
            let run = crate::idempotency::runs(service, &test).await;
            let answer = crate::idempotency::decided(b"answer");
            service.end_run(&run, answer).await.unwrap();
            moved.by(harness, DAY).await;
            let begun = crate::idempotency::begin(service, &test, "body").await;
            matches!(begun.unwrap(), Begun::Run(_))
        }
        "Webhooks: the waits between attempts, and `Retry-After`" => {
            harness.receiver(HOST, &["user.created"]).await;
            harness.webhooks.answer(HOST, 503, Some(Seconds(600)));
            harness.user(&test, ADA).await;
            assert_eq!(harness.flow().await, 1);
            moved.by(harness, 599).await;
            assert_eq!(harness.flow().await, 0);
            moved.by(harness, 1).await;
            harness.flow().await == 1
        }
        "Webhooks: how long an endpoint has been failing, and when it is disabled for it" => {
            let (id, _) = harness.receiver(HOST, &["user.created"]).await;
            harness.webhooks.answer(HOST, 500, None);
            for number in 0..12 {
                harness
                    .user(&test, &format!("user{number}@example.com"))
                    .await;
            }
            assert_eq!(harness.flow().await, 12);
            moved.by(harness, 5 * DAY).await;
            harness.user(&test, ADA).await;
            harness.flow().await;
            let shown = service
                .show_webhook(Principal::cli(), harness.app.id.into(), id)
                .await
                .unwrap();
            shown.endpoint.disabled.is_some()
        }
        "Webhooks: first attempts, replays and held deliveries, 50 a second" => {
            let (id, _) = harness.receiver(HOST, &["user.created"]).await;
            service.sequence_all().await.unwrap();
            service
                .disable_webhook(Principal::cli(), harness.app.id.into(), id)
                .await
                .unwrap();
            let enabled = service
                .enable_webhook(Principal::cli(), harness.app.id.into(), id, Resume::All)
                .await;
            enabled.unwrap();
            for number in 0..51 {
                harness
                    .user(&test, &format!("user{number}@example.com"))
                    .await;
            }
            service.sequence_all().await.unwrap();
            service
                .disable_webhook(Principal::cli(), harness.app.id.into(), id)
                .await
                .unwrap();
            let enabled = service
                .enable_webhook(Principal::cli(), harness.app.id.into(), id, Resume::All)
                .await;
            enabled.unwrap();
            assert_eq!(harness.flow().await, 50);
            moved.by(harness, 1).await;
            harness.flow().await == 1
        }
        "Webhooks: `webhook-timestamp`, and the times of attempts and deliveries" => {
            let (id, _) = harness.receiver(HOST, &["user.created"]).await;
            moved.by(harness, 1_000).await;
            harness.user(&test, ADA).await;
            harness.flow().await;
            let sent = harness.webhooks.sent_to(HOST).remove(0);
            let sent_at: i64 = header(&sent, "webhook-timestamp").parse().unwrap();
            let delivery = harness.deliveries(id).await.remove(0);
            assert_eq!(delivery.created_at.unix(), sent_at);
            let shown = service
                .show_delivery(Principal::cli(), harness.app.id.into(), id, delivery.id)
                .await;
            assert_eq!(shown.unwrap().1[0].at.unix(), sent_at);
            sent_at == START.unix() + 1_000
        }
        "Webhooks: how long two secrets overlap" => {
            let (id, first) = harness.receiver(HOST, &["user.created"]).await;
            let second = service
                .rotate_webhook_secret(Principal::cli(), harness.app.id.into(), id, 60)
                .await;
            let second = SigningSecret::parse(second.unwrap().expose()).unwrap();
            moved.by(harness, 3_600).await;
            harness.user(&test, ADA).await;
            harness.flow().await;
            let sent = harness.webhooks.sent_to(HOST).remove(0);
            assert!(is_signed_by(&sent, &[&second]) != is_signed_by(&sent, &[&second, &first]));
            is_signed_by(&sent, &[&second])
        }
        "Messages are delivered, and `slow@vestry.test` waits five seconds" => {
            harness.login(&test, "slow@vestry.test").await;
            moved.by(harness, 5).await;
            harness.deliver().await;
            captured(harness, &test).await == 1
        }
        "`created_at` of captured messages" => {
            moved.by(harness, 1_000).await;
            harness.login(&test, ADA).await;
            harness.newest_to(&test, ADA).await.created_at == at(1_000)
        }
        "Captured messages are deleted after seven days" => {
            harness.login(&test, ADA).await;
            harness.deliver().await;
            moved.by(harness, 7 * DAY + 1).await;
            harness.sweep().await;
            captured(harness, &test).await == 0
        }
        "Charts of the console" => {
            harness.user(&test, ADA).await;
            harness.service.write_activity().await;
            moved.by(harness, DAY).await;
            let (by, range) = (Principal::cli(), ActivityRange::Day);
            let found = harness.service.activity(by, test.world, range).await;
            found.unwrap().counts.is_empty()
        }
        "Events are deleted after their retention" => {
            harness.user(&test, ADA).await;
            service.sequence_all().await.unwrap();
            moved.by(harness, 7 * DAY + 1).await;
            harness.sweep().await;
            let query = ListEvents::default();
            let page = service.list_events(&test, &query).await.unwrap();
            page.events.is_empty()
        }
        "A new signing key starts to sign after five minutes" => {
            let issued = harness.sign_in(&test, ADA, 10_080).await;
            service
                .rotate_signing_key(Principal::cli(), test.world)
                .await
                .unwrap();
            moved.by(harness, 300).await;
            // The keys are cached for at most a second.
            let other = harness.other_process();
            let command = VerifySession {
                session_token: Some(issued.token.clone()),
                ..VerifySession::default()
            };
            let verified = crate::harness::verify(&other, &test, command).await;
            let kid = |jwt| crate::jwt::header(jwt)["kid"].clone();
            kid(&verified.unwrap().jwt) != kid(&issued.jwt)
        }
        "A test clock that is not set again is given up after seven days" => {
            moved.by(harness, 7 * DAY).await;
            service.read_test_clock(&test).await.unwrap().now == harness.now()
        }
        other => panic!("no test covers {other:?}"),
    }
}

async fn captured(harness: &Harness, caller: &Caller) -> usize {
    let all = FindMessages::default();
    let found = harness.service.captured_messages(caller, all).await;
    found.unwrap().len()
}

/// Each line of docs/test-environment.md names the clock that its subject follows, and it does not follow the other one.
#[tokio::test]
async fn the_page_names_the_right_clock() {
    let page = include_str!("../../../../docs/test-environment.md");
    let lines = page.lines().filter_map(|line| line.strip_suffix(" |"));
    let lines = lines.filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let lines: Vec<_> = lines
        .filter(|(_, clock)| ["test", "machine"].contains(clock))
        .collect();
    assert_eq!(lines.len(), 18);
    for (what, clock) in lines {
        for moved in [Moved::Test, Moved::Machine] {
            let harness = Harness::new().await;
            let test = harness.test().await;
            set(&harness, &test, freeze(START.unix())).await;
            let follows = matches!(
                (clock, moved),
                ("test", Moved::Test) | ("machine", Moved::Machine)
            );
            let found = takes_place(what, &harness, moved).await;
            assert_eq!(found, follows, "{what}, when {moved:?} moves");
        }
    }
}
