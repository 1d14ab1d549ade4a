//! Runs of requests with an idempotency key, with time and faults controlled by the test.

use std::sync::Arc;

use vestry_app::idempotency::{BeginRunError, Begun, KeyedRequest, Outcome, Run};
use vestry_app::identity::users::CreateUser;
use vestry_app::kernel::fault::Fault;
use vestry_app::{Caller, Refusal, Service};
use vestry_domain::Secret;
use vestry_domain::idempotency::{IdempotencyKey, LEASE};

use crate::harness::Harness;

fn request(body: &str) -> KeyedRequest {
    KeyedRequest {
        method: "POST".to_owned(),
        target: "/v1/auth/users/create".to_owned(),
        body: Secret::new(body.as_bytes().to_vec()),
    }
}

pub(crate) async fn begin(
    service: &Service,
    caller: &Caller,
    body: &str,
) -> Result<Begun, BeginRunError> {
    let key = IdempotencyKey::parse(b"order-17").unwrap();
    service.begin_run(caller, &key, &request(body)).await
}

pub(crate) async fn runs(service: &Service, caller: &Caller) -> Arc<Run> {
    match begin(service, caller, "body").await.unwrap() {
        Begun::Run(run) => run,
        Begun::Replay(_) => panic!("it ran before"),
    }
}

async fn replayed(service: &Service, caller: &Caller) -> Vec<u8> {
    match begin(service, caller, "body").await.unwrap() {
        Begun::Run(_) => panic!("it runs again"),
        Begun::Replay(answer) => answer.expose().clone(),
    }
}

pub(crate) fn decided(answer: &[u8]) -> Outcome {
    Outcome::Decided(Secret::new(answer.to_vec()))
}

async fn create(harness: &Harness, run: &Arc<Run>, caller: &Caller) -> Result<(), Refusal> {
    let command = CreateUser {
        email: Some("ada@example.com".to_owned()),
        ..CreateUser::default()
    };
    let caller = caller.in_run(Arc::clone(run));
    let created = harness.service.create_user(&caller, command).await;
    created.map(drop)
}

/// Whether a user has the address.
async fn is_there(harness: &Harness, caller: &Caller) -> bool {
    let command = CreateUser {
        email: Some("ada@example.com".to_owned()),
        ..CreateUser::default()
    };
    matches!(
        harness.other_process().create_user(caller, command).await,
        Err(Refusal::Taken(field)) if field == "email"
    )
}

/// R13: a duplicate, in this process or another, is refused while the run's lease lasts. Then a single one takes over.
#[tokio::test]
async fn r13_a_run_holds_its_key_until_its_lease_ends() {
    let harness = Harness::new().await;
    let (test, other) = (harness.test().await, harness.other_process());
    runs(&harness.service, &test).await;
    harness.pass(LEASE.0 - 1);
    for service in [&harness.service, &other] {
        let refused = begin(service, &test, "body").await;
        assert!(matches!(refused, Err(BeginRunError::Running)));
        let refused = begin(service, &test, "another body").await;
        assert!(matches!(refused, Err(BeginRunError::Reused)));
    }
    harness.pass(1);
    let refused = begin(&other, &test, "another body").await;
    assert!(matches!(refused, Err(BeginRunError::Reused)));
    let run = runs(&other, &test).await;
    let refused = begin(&harness.service, &test, "body").await;
    assert!(matches!(refused, Err(BeginRunError::Running)));
    other.end_run(&run, decided(b"answer")).await.unwrap();
    assert_eq!(replayed(&harness.service, &test).await, b"answer");
}

/// R13: a process that dies between its work and its response has committed nothing, so the next run does the work.
#[tokio::test]
async fn r13_a_run_that_dies_before_its_answer_has_done_nothing() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let run = runs(&harness.service, &test).await;
    create(&harness, &run, &test).await.unwrap();
    drop(run);
    harness.pass(LEASE.0);
    let run = runs(&harness.other_process(), &test).await;
    create(&harness, &run, &test).await.unwrap();
    harness
        .service
        .end_run(&run, decided(b"answer"))
        .await
        .unwrap();
    assert_eq!(replayed(&harness.service, &test).await, b"answer");
    assert!(is_there(&harness, &test).await);
}

/// R13: a stalled run that resumes after it was replaced rolls back its work, and its response is not sent.
#[tokio::test]
async fn r13_a_replaced_run_rolls_back_its_work() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let silent = runs(&harness.service, &test).await;
    harness.pass(LEASE.0);
    let other = harness.other_process();
    let run = runs(&other, &test).await;
    create(&harness, &silent, &test).await.unwrap();
    let ended = harness.service.end_run(&silent, decided(b"late")).await;
    assert!(matches!(ended, Err(Fault::LostRace)));
    create(&harness, &run, &test).await.unwrap();
    other.end_run(&run, decided(b"answer")).await.unwrap();
    assert_eq!(replayed(&harness.service, &test).await, b"answer");
}

/// If the commit fails, no response is sent and the key is free at once.
#[tokio::test]
async fn a_response_that_cannot_be_stored_is_not_sent() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let run = runs(&harness.service, &test).await;
    create(&harness, &run, &test).await.unwrap();
    harness.fake.lose_commits(1);
    let ended = harness.service.end_run(&run, decided(b"answer")).await;
    assert!(matches!(ended, Err(Fault::LostRace)));
    let run = runs(&harness.service, &test).await;
    create(&harness, &run, &test).await.unwrap();
    harness
        .service
        .end_run(&run, decided(b"answer"))
        .await
        .unwrap();
    assert!(is_there(&harness, &test).await);
}

/// A failure leaves nothing. An undecided refusal keeps what it has written, and the key is free.
#[tokio::test]
async fn a_failed_run_leaves_nothing_and_an_undecided_one_keeps_its_writes() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let run = runs(&harness.service, &test).await;
    create(&harness, &run, &test).await.unwrap();
    harness
        .service
        .end_run(&run, Outcome::Failed)
        .await
        .unwrap();
    let run = runs(&harness.service, &test).await;
    create(&harness, &run, &test).await.unwrap();
    let ended = harness.service.end_run(&run, Outcome::Undecided).await;
    ended.unwrap();
    runs(&harness.service, &test).await;
    assert!(is_there(&harness, &test).await);
}

/// A run that renews its lease keeps its key however long it takes. A run that lost its key is notified and does not regain it.
#[tokio::test]
async fn a_long_run_keeps_its_key() {
    let harness = Harness::new().await;
    let (test, other) = (harness.test().await, harness.other_process());
    let run = runs(&harness.service, &test).await;
    for _ in 0..10 {
        harness.pass(LEASE.0 - 1);
        assert!(harness.service.renew_lease(&run).await.unwrap());
        let refused = begin(&other, &test, "body").await;
        assert!(matches!(refused, Err(BeginRunError::Running)));
    }
    harness.pass(LEASE.0);
    let next = runs(&other, &test).await;
    assert!(!harness.service.renew_lease(&run).await.unwrap());
    assert!(other.renew_lease(&next).await.unwrap());
}

/// The sweeper deletes expired keys, and only those.
#[tokio::test]
async fn expired_keys_are_swept() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let run = runs(&harness.service, &test).await;
    harness
        .service
        .end_run(&run, decided(b"answer"))
        .await
        .unwrap();
    harness.pass(86_399);
    harness.service.run_sweeper(std::future::ready(())).await;
    assert_eq!(replayed(&harness.service, &test).await, b"answer");
    harness.pass(1);
    runs(&harness.service, &test).await;
}
