//! Runs of requests with an idempotency key, with time and faults controlled by the test.

use std::sync::Arc;

use vestry_app::idempotency::{BeginRunError, Begun, KeyedRequest, Outcome, Run};
use vestry_app::identity::users::CreateUser;
use vestry_app::kernel::fault::Fault;
use vestry_app::{Caller, Refusal, Service};
use vestry_domain::Secret;
use vestry_domain::idempotency::{IdempotencyKey, LEASE};

use crate::rig::Rig;

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

async fn create(rig: &Rig, run: &Arc<Run>, caller: &Caller) -> Result<(), Refusal> {
    let command = CreateUser {
        email: Some("ada@example.com".to_owned()),
        ..CreateUser::default()
    };
    let caller = caller.in_run(Arc::clone(run));
    let created = rig.service.create_user(&caller, command).await;
    created.map(drop)
}

/// Whether a user has the address.
async fn is_there(rig: &Rig, caller: &Caller) -> bool {
    let command = CreateUser {
        email: Some("ada@example.com".to_owned()),
        ..CreateUser::default()
    };
    matches!(
        rig.other_process().create_user(caller, command).await,
        Err(Refusal::Taken(field)) if field == "email"
    )
}

/// R13: a duplicate, in this process or another, is refused while the run's lease lasts. Then a single one takes over.
#[tokio::test]
async fn r13_a_run_holds_its_key_until_its_lease_ends() {
    let rig = Rig::new().await;
    let (test, other) = (rig.test().await, rig.other_process());
    runs(&rig.service, &test).await;
    rig.pass(LEASE.0 - 1);
    for service in [&rig.service, &other] {
        let refused = begin(service, &test, "body").await;
        assert!(matches!(refused, Err(BeginRunError::Running)));
        let refused = begin(service, &test, "another body").await;
        assert!(matches!(refused, Err(BeginRunError::Reused)));
    }
    rig.pass(1);
    let refused = begin(&other, &test, "another body").await;
    assert!(matches!(refused, Err(BeginRunError::Reused)));
    let run = runs(&other, &test).await;
    let refused = begin(&rig.service, &test, "body").await;
    assert!(matches!(refused, Err(BeginRunError::Running)));
    other.end_run(&run, decided(b"answer")).await.unwrap();
    assert_eq!(replayed(&rig.service, &test).await, b"answer");
}

/// R13: a process that dies between its work and its response has committed nothing, so the next run does the work.
#[tokio::test]
async fn r13_a_run_that_dies_before_its_answer_has_done_nothing() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let run = runs(&rig.service, &test).await;
    create(&rig, &run, &test).await.unwrap();
    drop(run);
    rig.pass(LEASE.0);
    let run = runs(&rig.other_process(), &test).await;
    create(&rig, &run, &test).await.unwrap();
    rig.service.end_run(&run, decided(b"answer")).await.unwrap();
    assert_eq!(replayed(&rig.service, &test).await, b"answer");
    assert!(is_there(&rig, &test).await);
}

/// R13: a stalled run that resumes after it was replaced rolls back its work, and its response is not sent.
#[tokio::test]
async fn r13_a_replaced_run_rolls_back_its_work() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let silent = runs(&rig.service, &test).await;
    rig.pass(LEASE.0);
    let other = rig.other_process();
    let run = runs(&other, &test).await;
    create(&rig, &silent, &test).await.unwrap();
    let ended = rig.service.end_run(&silent, decided(b"late")).await;
    assert!(matches!(ended, Err(Fault::LostRace)));
    create(&rig, &run, &test).await.unwrap();
    other.end_run(&run, decided(b"answer")).await.unwrap();
    assert_eq!(replayed(&rig.service, &test).await, b"answer");
}

/// If the commit fails, no response is sent and the key is free at once.
#[tokio::test]
async fn a_response_that_cannot_be_stored_is_not_sent() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let run = runs(&rig.service, &test).await;
    create(&rig, &run, &test).await.unwrap();
    rig.fake.lose_commits(1);
    let ended = rig.service.end_run(&run, decided(b"answer")).await;
    assert!(matches!(ended, Err(Fault::LostRace)));
    let run = runs(&rig.service, &test).await;
    create(&rig, &run, &test).await.unwrap();
    rig.service.end_run(&run, decided(b"answer")).await.unwrap();
    assert!(is_there(&rig, &test).await);
}

/// A failure leaves nothing. An undecided refusal keeps what it has written, and the key is free.
#[tokio::test]
async fn a_failed_run_leaves_nothing_and_an_undecided_one_keeps_its_writes() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let run = runs(&rig.service, &test).await;
    create(&rig, &run, &test).await.unwrap();
    rig.service.end_run(&run, Outcome::Failed).await.unwrap();
    let run = runs(&rig.service, &test).await;
    create(&rig, &run, &test).await.unwrap();
    let ended = rig.service.end_run(&run, Outcome::Undecided).await;
    ended.unwrap();
    runs(&rig.service, &test).await;
    assert!(is_there(&rig, &test).await);
}

/// A run that renews its lease keeps its key however long it takes. A run that lost its key is notified and does not regain it.
#[tokio::test]
async fn a_long_run_keeps_its_key() {
    let rig = Rig::new().await;
    let (test, other) = (rig.test().await, rig.other_process());
    let run = runs(&rig.service, &test).await;
    for _ in 0..10 {
        rig.pass(LEASE.0 - 1);
        assert!(rig.service.renew_lease(&run).await.unwrap());
        let refused = begin(&other, &test, "body").await;
        assert!(matches!(refused, Err(BeginRunError::Running)));
    }
    rig.pass(LEASE.0);
    let next = runs(&other, &test).await;
    assert!(!rig.service.renew_lease(&run).await.unwrap());
    assert!(other.renew_lease(&next).await.unwrap());
}

/// The sweeper deletes expired keys, and only those.
#[tokio::test]
async fn expired_keys_are_swept() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let run = runs(&rig.service, &test).await;
    rig.service.end_run(&run, decided(b"answer")).await.unwrap();
    rig.pass(86_399);
    rig.service.run_sweeper(std::future::ready(())).await;
    assert_eq!(replayed(&rig.service, &test).await, b"answer");
    rig.pass(1);
    runs(&rig.service, &test).await;
}
