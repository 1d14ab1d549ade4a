//! Webhooks: what is sent where, what is retried, what is not sent any longer, and which secrets sign.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use vestry_app::operators::OperatorChange;
use vestry_app::platform::webhooks::{
    EndpointChange, ListedEndpoint, NewEndpoint, Replayed, Resume,
};
use vestry_app::{Principal, Refusal, Service};
use vestry_contract::race::race;
use vestry_contract::rng::{self, Rng};
use vestry_domain::event::{EventKind, TEST};
use vestry_domain::ids::{EventId, WebhookEndpointId};
use vestry_domain::message::MessageKind;
use vestry_domain::operator::{Grants, Role};
use vestry_domain::test_clock::ClockChange;
use vestry_domain::timestamp::Seconds;
use vestry_domain::webhook::{
    Delivery, DeliveryState, DisabledReason, EndpointState, SigningSecret, signatures,
};
use vestry_domain::{Environment, Timestamp};
use vestry_ports::store::{DeliveryFilter, EventFilter, PositionRange};
use vestry_ports::webhooks::WebhookRequest;

use crate::harness::Harness;
use crate::operators::joined;

const HOST: &str = "hooks.example.com";
const DAY: i64 = 86_400;
/// Seconds from one attempt to the next.
const WAITS: [i64; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

fn endpoint(host: &str, types: &[&str]) -> NewEndpoint {
    NewEndpoint {
        url: format!("https://{host}/events"),
        name: None,
        types: types.iter().map(|name| (*name).to_owned()).collect(),
        enabled: true,
    }
}

impl Harness {
    /// An endpoint for these types in the test environment, and its secret.
    pub(crate) async fn receiver(
        &self,
        host: &str,
        types: &[&str],
    ) -> (WebhookEndpointId, SigningSecret) {
        let world = self.world(Environment::Test);
        let added = self
            .service
            .add_webhook(Principal::cli(), world, endpoint(host, types))
            .await;
        let (listed, secret) = added.unwrap();
        let secret = SigningSecret::parse(secret.expose()).unwrap();
        (listed.endpoint.id, secret)
    }

    /// Sequences all events and sends due deliveries.
    pub(crate) async fn flow(&self) -> usize {
        self.service.sequence_all().await.unwrap();
        self.service.send_due().await.unwrap()
    }

    async fn endpoint(&self, id: WebhookEndpointId) -> ListedEndpoint {
        self.service
            .show_webhook(Principal::cli(), self.app.id.into(), id)
            .await
            .unwrap()
    }

    pub(crate) async fn deliveries(&self, id: WebhookEndpointId) -> Vec<Delivery> {
        let all = DeliveryFilter::default();
        let found =
            self.service
                .list_deliveries(Principal::cli(), self.app.id.into(), id, all, 1000);
        found.await.unwrap()
    }

    pub(crate) async fn states(&self, id: WebhookEndpointId) -> Vec<DeliveryState> {
        let found = self.deliveries(id).await;
        found.iter().map(|delivery| delivery.state).collect()
    }

    /// The types of events of the test environment, oldest first.
    async fn emitted(&self) -> Vec<EventKind> {
        self.service.sequence_all().await.unwrap();
        let query = vestry_app::delivery::events::ListEvents {
            limit: Some(1000),
            ..Default::default()
        };
        let test = self.test().await;
        let page = self.service.list_events(&test, &query).await.unwrap();
        page.events.iter().map(|event| event.event.kind).collect()
    }
}

pub(crate) fn header<'a>(request: &'a WebhookRequest, name: &str) -> &'a str {
    let mut headers = request.headers.iter();
    let found = headers.find(|(known, _)| *known == name);
    found.map_or("", |(_, value)| value)
}

fn kinds(requests: &[WebhookRequest]) -> Vec<String> {
    let kind = |request: &WebhookRequest| {
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        body["type"].as_str().unwrap().to_owned()
    };
    requests.iter().map(kind).collect()
}

/// Whether exactly the given secrets signed it.
pub(crate) fn is_signed_by(request: &WebhookRequest, secrets: &[&SigningSecret]) -> bool {
    let at: i64 = header(request, "webhook-timestamp").parse().unwrap();
    let secrets: Vec<_> = secrets.iter().map(|secret| (*secret).clone()).collect();
    let id = header(request, "webhook-id");
    let expected = signatures(&secrets, id, Timestamp::from_unix(at), &request.body);
    header(request, "webhook-signature") == expected
}

/// The time of a queue scan grows with the number of queues. An endpoint that is signalled during a scan does not wait for it.
#[tokio::test]
async fn wh_4_a_queue_scan_delays_no_endpoint() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.receiver(HOST, &["user.created"]).await;
    harness.service.sequence_all().await.unwrap();
    let (looks, has_looked) = oneshot::channel();
    harness.store.before_next_view(async move {
        looks.send(()).unwrap();
        pending().await
    });
    let service = Arc::clone(&harness.service);
    let working = tokio::spawn(async move { service.run_webhooks(pending()).await });
    has_looked.await.unwrap();
    harness.user(&test, "ann@example.com").await;
    harness.service.sequence_all().await.unwrap();
    let sent = async {
        while harness.webhooks.sent_to(HOST).is_empty() {
            tokio::task::yield_now().await;
        }
    };
    let sent = tokio::time::timeout(Duration::from_secs(10), sent).await;
    assert!(sent.is_ok(), "nothing is sent during the scan");
    working.abort();
}

/// A matching event is sent once, signed, in the form that a reader of the log sees.
#[tokio::test]
async fn wh_1_a_matching_event_is_sent() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.service.sequence_all().await.unwrap();
    let (all, secret) = harness.receiver(HOST, &["*"]).await;
    let (some, _) = harness.receiver("users.example.com", &["user.*"]).await;
    harness
        .receiver("wallets.example.com", &["wallet.exported"])
        .await;
    harness.user(&test, "ann@example.com").await;
    harness.flow().await;
    let sent = harness.webhooks.sent_to(HOST);
    let emitted: Vec<_> = harness.emitted().await;
    let emitted: Vec<_> = emitted.into_iter().map(EventKind::as_str).collect();
    // Its own creation comes first; earlier events are not sent.
    let from = emitted
        .iter()
        .position(|kind| *kind == "webhook_endpoint.created");
    assert_eq!(kinds(&sent), emitted[from.unwrap()..]);
    let query = vestry_app::delivery::events::ListEvents::default();
    let page = harness.service.list_events(&test, &query).await.unwrap();
    for request in &sent {
        assert!(is_signed_by(request, &[&secret]));
        let id: EventId = header(request, "webhook-id").parse().unwrap();
        let mut events = page.events.iter();
        let event = events.find(|event| event.event.id == id).unwrap();
        assert_eq!(request.body, event.json().unwrap().as_bytes());
        assert_eq!(header(request, "vestry-attempt"), "1");
    }
    assert_eq!(
        kinds(&harness.webhooks.sent_to("users.example.com")),
        ["user.created"]
    );
    assert!(harness.webhooks.sent_to("wallets.example.com").is_empty());
    assert_eq!(harness.states(some).await, [DeliveryState::Delivered]);
    assert!(
        harness
            .endpoint(all)
            .await
            .endpoint
            .last_success_at
            .is_some()
    );
    assert_eq!(harness.flow().await, 0);
}

/// A type that is written on demand is written only while an endpoint names it.
#[tokio::test]
async fn types_named_by_an_endpoint_are_written() {
    let harness = Harness::new().await;
    let count = async || {
        let emitted = harness.emitted().await.into_iter();
        emitted
            .filter(|kind| *kind == EventKind::MessageSent)
            .count()
    };
    let send = async |number: usize, expected: usize| {
        let test = harness.test().await;
        harness
            .fresh_code(&test, &format!("user{number}@example.com"))
            .await;
        assert_eq!(count().await, expected, "message {number}");
    };
    harness
        .receiver("all.example.com", &["*", "message.*"])
        .await;
    send(1, 0).await;
    let (id, _) = harness.receiver(HOST, &["message.sent"]).await;
    harness.pass(60);
    send(2, 1).await;
    harness.service.send_due().await.unwrap();
    assert_eq!(kinds(&harness.webhooks.sent_to(HOST)), ["message.sent"]);
    assert!(
        !kinds(&harness.webhooks.sent_to("all.example.com")).contains(&"message.sent".to_owned())
    );
    harness
        .service
        .disable_webhook(Principal::cli(), harness.app.id.into(), id)
        .await
        .unwrap();
    harness.pass(60);
    send(3, 1).await;
    harness
        .service
        .enable_webhook(Principal::cli(), harness.app.id.into(), id, Resume::All)
        .await
        .unwrap();
    harness.pass(60);
    send(4, 2).await;
    harness
        .service
        .remove_webhook(Principal::cli(), harness.app.id.into(), id)
        .await
        .unwrap();
    harness.pass(60);
    send(5, 2).await;
}

/// Ten attempts over three days, and nothing after that.
#[tokio::test]
async fn wh_1_a_failed_delivery_is_attempted_ten_times() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.set(&[("webhook_disable_after_days", "0")]).await;
    let (id, _) = harness.receiver(HOST, &["user.created"]).await;
    harness.webhooks.answer(HOST, 500, None);
    harness.user(&test, "ann@example.com").await;
    assert_eq!(harness.flow().await, 1);
    let mut waits = Vec::new();
    loop {
        let delivery = harness.deliveries(id).await.remove(0);
        let Some(next) = delivery.next_attempt_at() else {
            assert_eq!(delivery.state, DeliveryState::Exhausted);
            break;
        };
        let wait = next.unix() - harness.now().unix();
        harness.pass(wait - 1);
        assert_eq!(harness.flow().await, 0, "attempted too early");
        harness.pass(1);
        assert_eq!(harness.flow().await, 1);
        waits.push(wait);
    }
    assert_eq!(waits.len(), WAITS.len());
    for (wait, planned) in waits.iter().zip(WAITS) {
        assert!(
            (planned * 9 / 10..=planned * 11 / 10).contains(wait),
            "{waits:?}"
        );
    }
    let sent = harness.webhooks.sent_to(HOST);
    let first = header(&sent[0], "webhook-id");
    for (request, number) in sent.iter().zip(1..) {
        assert_eq!(header(request, "webhook-id"), first);
        assert_eq!(header(request, "vestry-attempt"), number.to_string());
    }
    let delivery = harness.deliveries(id).await.remove(0);
    let shown = harness
        .service
        .show_delivery(Principal::cli(), harness.app.id.into(), id, delivery.id)
        .await;
    let (_, attempts) = shown.unwrap();
    let numbers: Vec<_> = attempts.iter().map(|attempt| attempt.number).collect();
    assert_eq!(numbers, (1..=10).collect::<Vec<_>>());
    assert!(attempts.iter().all(|attempt| attempt.status == Some(500)));
}

/// An endpoint's `Retry-After` is honoured, up to a day.
#[tokio::test]
async fn a_busy_endpoint_is_left_alone() {
    for (asked, left) in [(600, 600), (1_000_000_000, DAY)] {
        let harness = Harness::new().await;
        let test = harness.test().await;
        let (id, _) = harness.receiver(HOST, &["user.created"]).await;
        harness.webhooks.answer(HOST, 503, Some(Seconds(asked)));
        harness.user(&test, "ann@example.com").await;
        harness.flow().await;
        let next = harness.deliveries(id).await[0].next_attempt_at().unwrap();
        assert_eq!(next.unix() - harness.now().unix(), left);
    }
}

/// The current time on the clock of the test environment.
async fn world_now(harness: &Harness) -> i64 {
    let test = harness.test().await;
    let reading = harness.service.read_test_clock(&test).await.unwrap();
    reading.now.unix()
}

async fn move_clock(harness: &Harness, change: ClockChange) {
    let test = harness.test().await;
    harness.service.set_test_clock(&test, change).await.unwrap();
}

fn advance(seconds: i64) -> ClockChange {
    ClockChange {
        advance_seconds: Some(seconds),
        ..ClockChange::default()
    }
}

fn show(now: i64, frozen: bool) -> ClockChange {
    ClockChange {
        now: Some(now),
        frozen: Some(frozen),
        ..ClockChange::default()
    }
}

/// Wherever the test clock stands, ahead or behind, frozen or running: advancing it by one retry delay makes exactly one attempt due.
#[tokio::test]
async fn wh_1_advancing_the_test_clock_by_a_delay_makes_one_attempt_due() {
    for (days, frozen) in [
        (7, false),
        (7, true),
        (-30, false),
        (-30, true),
        (365, false),
        (0, true),
    ] {
        let harness = Harness::new().await;
        let test = harness.test().await;
        harness.set(&[("webhook_disable_after_days", "0")]).await;
        let (id, _) = harness.receiver(HOST, &["user.created"]).await;
        harness.webhooks.answer(HOST, 500, None);
        move_clock(&harness, show(harness.now().unix() + days * DAY, frozen)).await;
        harness.user(&test, "ann@example.com").await;
        assert_eq!(
            harness.flow().await,
            1,
            "the first attempt, {days} days ahead"
        );
        for planned in WAITS {
            for _ in 0..3 {
                assert_eq!(harness.flow().await, 0, "nothing moved, {days} days ahead");
            }
            let delivery = harness.deliveries(id).await.remove(0);
            let next = delivery.next_attempt_at().expect("attempts are left");
            let wait = next.unix() - world_now(&harness).await;
            let bounds = planned * 9 / 10..=planned * 11 / 10;
            assert!(bounds.contains(&wait), "{wait} s instead of {planned} s");
            move_clock(&harness, advance(wait - 1)).await;
            assert_eq!(harness.flow().await, 0, "one second too early");
            move_clock(&harness, advance(1)).await;
            let other = harness.other_process();
            assert_eq!(other.send_due().await.unwrap(), 1, "after {wait} s");
            assert_eq!(harness.flow().await, 0);
        }
        assert_eq!(harness.states(id).await, [DeliveryState::Exhausted]);
        assert_eq!(harness.webhooks.sent_to(HOST).len(), 10);
    }
}

/// Real time does not end a retry delay in a test environment with a frozen clock.
#[tokio::test]
async fn a_frozen_test_clock_holds_retries_back() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.receiver(HOST, &["user.created"]).await;
    harness.webhooks.be_silent(HOST);
    move_clock(&harness, show(harness.now().unix(), true)).await;
    harness.user(&test, "ann@example.com").await;
    assert_eq!(harness.flow().await, 1);
    harness.pass(3 * DAY);
    assert_eq!(harness.flow().await, 0);
    // First attempts and replays do not wait for it.
    harness.user(&test, "bob@example.com").await;
    assert_eq!(harness.flow().await, 1);
    harness.service.reset_test_clock(&test).await.unwrap();
    assert_eq!(harness.flow().await, 2);
}

/// Attempts in flight are leased by real time: a jump of the test clock does not start them twice.
#[tokio::test]
async fn wh_9_a_jump_of_the_test_clock_ends_no_lease() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (id, _) = harness.receiver(HOST, &["user.created"]).await;
    harness.user(&test, "ann@example.com").await;
    harness.service.sequence_all().await.unwrap();
    harness.webhooks.hang(HOST);
    let service = Arc::clone(&harness.service);
    let sending = tokio::spawn(async move { service.send_due().await });
    while harness.webhooks.sent_to(HOST).is_empty() {
        tokio::task::yield_now().await;
    }
    move_clock(&harness, advance(7 * DAY)).await;
    let other = harness.other_process();
    // It would also wait for the response if it claimed the delivery.
    let taken = tokio::time::timeout(Duration::from_secs(10), other.send_due()).await;
    assert_eq!(taken.expect("it has nothing to send").unwrap(), 0);
    // Its process dies. The lease ends by real time, even in a test environment with a frozen clock.
    sending.abort();
    harness.webhooks.answer(HOST, 204, None);
    let now = world_now(&harness).await;
    move_clock(&harness, show(now, true)).await;
    harness.pass(59);
    assert_eq!(other.send_due().await.unwrap(), 0);
    harness.pass(1);
    assert_eq!(other.send_due().await.unwrap(), 1);
    assert_eq!(harness.states(id).await, [DeliveryState::Delivered]);
}

/// An endpoint counts as failing after a day, and is disabled after five, by the clock of its environment.
#[tokio::test]
async fn an_endpoint_fails_by_the_test_clock() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (id, _) = harness.receiver(HOST, &["user.created"]).await;
    harness.webhooks.answer(HOST, 500, None);
    move_clock(&harness, show(harness.now().unix(), true)).await;
    let count = async |kind| {
        let emitted = harness.emitted().await;
        emitted.iter().filter(|emitted| **emitted == kind).count()
    };
    for day in 0..7 {
        harness.user(&test, &format!("user{day}@example.com")).await;
        for _ in 0..24 {
            harness.flow().await;
            move_clock(&harness, advance(DAY / 24)).await;
        }
        if day == 0 {
            assert_eq!(count(EventKind::WebhookEndpointFailing).await, 0);
        }
        if day == 3 {
            assert_eq!(count(EventKind::WebhookEndpointFailing).await, 1);
        }
    }
    let endpoint = harness.endpoint(id).await.endpoint;
    assert_eq!(endpoint.disabled, Some(DisabledReason::Failing));
    assert_eq!(count(EventKind::WebhookEndpointDisabled).await, 1);
}

/// 410 disables the endpoint at once; pending deliveries are held, and sent when it is enabled.
#[tokio::test]
async fn wh_10_an_endpoint_that_is_gone_is_sent_nothing() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (id, _) = harness.receiver(HOST, &["user.created"]).await;
    harness.webhooks.answer(HOST, 410, None);
    harness.user(&test, "ann@example.com").await;
    harness.flow().await;
    let endpoint = harness.endpoint(id).await.endpoint;
    assert_eq!(endpoint.disabled, Some(DisabledReason::Gone));
    assert_eq!(
        harness.emitted().await.last(),
        Some(&EventKind::WebhookEndpointDisabled)
    );
    harness.user(&test, "bob@example.com").await;
    harness.pass(DAY);
    harness.flow().await;
    assert_eq!(harness.webhooks.sent_to(HOST).len(), 1);
    assert_eq!(harness.states(id).await, [DeliveryState::Held]);
    harness.webhooks.answer(HOST, 204, None);
    let enabled =
        harness
            .service
            .enable_webhook(Principal::cli(), harness.app.id.into(), id, Resume::All);
    assert_eq!(
        enabled.await.unwrap().endpoint.state(),
        EndpointState::Active
    );
    harness.flow().await;
    assert_eq!(harness.states(id).await, [DeliveryState::Delivered]);
}

/// Disabling holds pending deliveries; enabling sends or discards them.
#[tokio::test]
async fn held_deliveries_are_sent_or_discarded() {
    for (resume, state) in [
        (Resume::All, DeliveryState::Delivered),
        (Resume::Nothing, DeliveryState::Dropped),
    ] {
        let harness = Harness::new().await;
        let test = harness.test().await;
        let (id, _) = harness.receiver(HOST, &["user.created"]).await;
        harness.user(&test, "ann@example.com").await;
        harness.service.sequence_all().await.unwrap();
        let disabled = harness
            .service
            .disable_webhook(Principal::cli(), harness.app.id.into(), id)
            .await
            .unwrap();
        assert_eq!(disabled.endpoint.disabled, Some(DisabledReason::Operator));
        assert_eq!(harness.service.send_due().await.unwrap(), 0);
        assert_eq!(harness.states(id).await, [DeliveryState::Held]);
        harness
            .service
            .enable_webhook(Principal::cli(), harness.app.id.into(), id, resume)
            .await
            .unwrap();
        harness.flow().await;
        assert_eq!(harness.states(id).await, [state]);
        // A second call changes nothing.
        let before = harness.emitted().await.len();
        harness
            .service
            .enable_webhook(Principal::cli(), harness.app.id.into(), id, resume)
            .await
            .unwrap();
        assert_eq!(harness.emitted().await.len(), before);
    }
}

/// An endpoint without a success for a day is reported; after five days it is disabled.
#[tokio::test]
async fn an_endpoint_that_fails_for_days_is_disabled() {
    for (days, is_disabled) in [("5", true), ("0", false)] {
        let harness = Harness::new().await;
        let test = harness.test().await;
        harness.set(&[("webhook_disable_after_days", days)]).await;
        let (id, _) = harness.receiver(HOST, &["user.created"]).await;
        harness.webhooks.answer(HOST, 500, None);
        for day in 0..7 {
            harness.user(&test, &format!("user{day}@example.com")).await;
            for _ in 0..24 {
                harness.flow().await;
                harness.pass(DAY / 24);
            }
            let endpoint = harness.endpoint(id).await.endpoint;
            assert!(endpoint.failing_since.is_some());
            if day < 4 {
                assert_eq!(endpoint.state(), EndpointState::Failing, "day {day}");
            }
        }
        let endpoint = harness.endpoint(id).await.endpoint;
        assert_eq!(endpoint.disabled.is_some(), is_disabled);
        let emitted = harness.emitted().await;
        let count = |kind| emitted.iter().filter(|emitted| **emitted == kind).count();
        assert_eq!(count(EventKind::WebhookEndpointFailing), 1);
        let disabled = count(EventKind::WebhookEndpointDisabled);
        assert_eq!(disabled, usize::from(is_disabled));
    }
}

/// WH-11: owners and admins of the App are told once that an endpoint fails, and once that it was disabled. No other operator is.
#[tokio::test]
async fn wh_11_operators_are_told_about_a_failing_endpoint() {
    let harness = Harness::new().await;
    let other = harness.service.create_app(Principal::cli(), "Other");
    let (mine, other) = (harness.app.id, other.await.unwrap().id);
    for (name, role, app) in [
        ("owner", Role::Owner, None),
        ("admin", Role::Admin, Some(mine)),
        ("everywhere", Role::Admin, None),
        ("elsewhere", Role::Admin, Some(other)),
        ("developer", Role::Developer, Some(mine)),
        ("viewer", Role::Viewer, None),
    ] {
        let grants = Grants::new(role, app.map(|app| vec![app])).unwrap();
        joined(&harness, &format!("{name}@example.com"), grants).await;
    }
    let gone = Grants::new(Role::Admin, None).unwrap();
    let (gone, _) = joined(&harness, "gone@example.com", gone).await;
    harness
        .service
        .change_operator(Principal::cli(), gone, OperatorChange::Disable)
        .await
        .unwrap();
    harness.deliver().await;
    let before = harness.mailer.sent().len();
    let mails = || {
        let sent = harness.mailer.sent().split_off(before).into_iter();
        let sent = sent.map(|(_, mail)| {
            assert_eq!(mail.kind, MessageKind::OperatorNotice);
            assert!(mail.text.contains(HOST) && !mail.text.contains("http"));
            (mail.subject, mail.to)
        });
        let mut sent: Vec<_> = sent.collect();
        sent.sort();
        sent
    };
    let told = |subject: &str| {
        ["admin", "everywhere", "owner"]
            .map(|name| (subject.to_owned(), format!("{name}@example.com")))
            .to_vec()
    };
    let failing = told("A webhook endpoint of Demo is failing");
    let disabled = told("A webhook endpoint of Demo was disabled");

    let test = harness.test().await;
    let (id, _) = harness.receiver(HOST, &["user.created"]).await;
    harness.webhooks.answer(HOST, 500, None);
    let mut days = Vec::new();
    for day in 0..7 {
        harness.user(&test, &format!("user{day}@example.com")).await;
        for _ in 0..24 {
            harness.flow().await;
            harness.deliver().await;
            harness.pass(DAY / 24);
        }
        days.push(mails().len());
    }
    assert!(harness.endpoint(id).await.endpoint.disabled.is_some());
    assert_eq!(days[1], 3, "{days:?}");
    assert_eq!(mails(), [failing, disabled.clone()].concat());

    // Enabled and gone again and again: one mail a day.
    harness.webhooks.answer(HOST, 410, None);
    let again = async |name: &str| {
        let of = harness.app.id.into();
        let by = Principal::cli();
        let enabled = harness.service.enable_webhook(by, of, id, Resume::Nothing);
        enabled.await.unwrap();
        harness.user(&test, &format!("{name}@example.com")).await;
        harness.flow().await;
        harness.deliver().await;
        assert!(harness.endpoint(id).await.endpoint.disabled.is_some());
    };
    harness.pass(DAY);
    for name in ["ann", "ben", "cid"] {
        again(name).await;
        assert_eq!(mails().len(), 9);
    }
    harness.pass(DAY);
    again("dan").await;
    assert_eq!(mails().len(), 12);
}

/// Without mail the endpoint is disabled all the same.
#[tokio::test]
async fn wh_11_no_mail_is_written_without_a_transport() {
    let harness = Harness::without_mail().await;
    let owner = Grants::new(Role::Owner, None).unwrap();
    joined(&harness, "owner@example.com", owner).await;
    let test = harness.test().await;
    let (id, _) = harness.receiver(HOST, &["user.created"]).await;
    harness.webhooks.answer(HOST, 410, None);
    let waiting = harness.waiting().await;
    harness.user(&test, "ann@example.com").await;
    harness.flow().await;
    assert!(harness.endpoint(id).await.endpoint.disabled.is_some());
    assert_eq!(harness.waiting().await, waiting);
}

/// One success ends it.
#[tokio::test]
async fn a_success_ends_failing() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (id, _) = harness.receiver(HOST, &["user.created"]).await;
    harness.webhooks.answer(HOST, 500, None);
    harness.user(&test, "ann@example.com").await;
    for _ in 0..3 {
        harness.flow().await;
        harness.pass(3_600);
    }
    assert_eq!(
        harness.endpoint(id).await.endpoint.state(),
        EndpointState::Failing
    );
    harness.webhooks.answer(HOST, 200, None);
    harness.pass(3_600);
    harness.flow().await;
    assert_eq!(
        harness.endpoint(id).await.endpoint.state(),
        EndpointState::Active
    );
}

/// Both secrets sign while they overlap, and exactly one before and after.
#[tokio::test]
async fn wh_3_both_secrets_sign_while_they_overlap() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (id, first) = harness.receiver(HOST, &["user.created"]).await;
    let rotate = async |minutes| {
        let secret = harness.service.rotate_webhook_secret(
            Principal::cli(),
            harness.app.id.into(),
            id,
            minutes,
        );
        SigningSecret::parse(secret.await.unwrap().expose()).unwrap()
    };
    let mut number = 0;
    let mut sent = async || {
        number += 1;
        harness
            .user(&test, &format!("user{number}@example.com"))
            .await;
        harness.flow().await;
        harness.webhooks.sent_to(HOST).pop().unwrap()
    };
    assert!(is_signed_by(&sent().await, &[&first]));
    harness.pass(1);
    let second = rotate(60).await;
    assert!(is_signed_by(&sent().await, &[&second, &first]));
    harness.pass(3_599);
    assert!(is_signed_by(&sent().await, &[&second, &first]));
    harness.pass(1);
    assert!(is_signed_by(&sent().await, &[&second]));
    // A third one ends the oldest at once.
    let third = rotate(60).await;
    harness.pass(1);
    let fourth = rotate(60).await;
    assert!(is_signed_by(&sent().await, &[&fourth, &third]));
    harness.pass(1);
    let fifth = rotate(0).await;
    assert!(is_signed_by(&sent().await, &[&fifth]));
    assert_eq!(harness.endpoint(id).await.secrets.len(), 1);
    for minutes in [-1, 10_081] {
        let refused = harness.service.rotate_webhook_secret(
            Principal::cli(),
            harness.app.id.into(),
            id,
            minutes,
        );
        let Err(Refusal::Invalid(invalid)) = refused.await else {
            panic!("{minutes} minutes were accepted");
        };
        assert_eq!(invalid.param, "overlap_minutes");
    }
}

/// A deleted endpoint leaves no deliveries to attempt.
#[tokio::test]
async fn wh_12_a_deleted_endpoint_is_sent_nothing() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (id, _) = harness.receiver(HOST, &["user.created"]).await;
    harness.webhooks.answer(HOST, 500, None);
    harness.user(&test, "ann@example.com").await;
    harness.flow().await;
    harness.user(&test, "bob@example.com").await;
    harness.service.sequence_all().await.unwrap();
    harness
        .service
        .remove_webhook(Principal::cli(), harness.app.id.into(), id)
        .await
        .unwrap();
    harness.pass(DAY);
    assert_eq!(harness.flow().await, 0);
    assert_eq!(harness.webhooks.sent_to(HOST).len(), 1);
    let gone = harness
        .service
        .show_webhook(Principal::cli(), harness.app.id.into(), id)
        .await;
    assert!(matches!(gone, Err(Refusal::NotFound(_))));
}

/// A replay is another delivery of the same event, and is marked as such.
#[tokio::test]
async fn a_replay_is_marked() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (id, _) = harness.receiver(HOST, &["user.created"]).await;
    harness.user(&test, "ann@example.com").await;
    harness.flow().await;
    let first = harness.deliveries(id).await.remove(0);
    for what in [
        Replayed::Event(first.event_id),
        Replayed::Delivery(first.id),
    ] {
        let replayed =
            harness
                .service
                .replay_webhook(Principal::cli(), harness.app.id.into(), id, what);
        assert_ne!(replayed.await.unwrap().id, first.id);
        assert_eq!(harness.flow().await, 1);
    }
    let sent = harness.webhooks.sent_to(HOST);
    let marks: Vec<_> = sent
        .iter()
        .map(|request| header(request, "vestry-replay"))
        .collect();
    assert_eq!(marks, ["", "true", "true"]);
    let ids: Vec<_> = sent
        .iter()
        .map(|request| header(request, "webhook-id"))
        .collect();
    assert!(ids.iter().all(|id| *id == first.event_id.to_string()));
}

/// Pending deliveries use a changed URL; an update that changes nothing emits no event.
#[tokio::test]
async fn an_endpoint_can_be_changed() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (id, _) = harness.receiver(HOST, &["user.created"]).await;
    harness.user(&test, "ann@example.com").await;
    harness.service.sequence_all().await.unwrap();
    let change = EndpointChange {
        url: Some("https://new.example.com/".to_owned()),
        name: Some(Some("Orders".to_owned())),
        types: Some(vec!["user.*".to_owned()]),
    };
    let changed =
        harness
            .service
            .change_webhook(Principal::cli(), harness.app.id.into(), id, change.clone());
    let endpoint = changed.await.unwrap().endpoint;
    assert_eq!(endpoint.url.as_str(), "https://new.example.com/");
    assert_eq!(endpoint.name.as_deref(), Some("Orders"));
    harness.flow().await;
    assert_eq!(harness.webhooks.sent_to("new.example.com").len(), 1);
    let emitted = harness.emitted().await.len();
    harness
        .service
        .change_webhook(Principal::cli(), harness.app.id.into(), id, change)
        .await
        .unwrap();
    assert_eq!(harness.emitted().await.len(), emitted);
}

/// An invalid endpoint is refused with the field's name; URLs are unique, and there are twenty at most.
#[tokio::test]
async fn invalid_endpoints_are_refused() {
    let harness = Harness::new().await;
    let world = harness.world(Environment::Live);
    let new = |url: &str, name: Option<&str>, types: &[&str]| NewEndpoint {
        url: url.to_owned(),
        name: name.map(str::to_owned),
        ..endpoint(HOST, types)
    };
    let url = "https://hooks.example.com/";
    for (refused, param) in [
        (new("http://hooks.example.com/", None, &["*"]), "url"),
        (new(url, Some(""), &["*"]), "name"),
        (new(url, Some("a\nb"), &["*"]), "name"),
        (new(url, None, &["user.born"]), "types"),
        (new(url, None, &[]), "types"),
    ] {
        let Err(Refusal::Invalid(invalid)) = harness
            .service
            .add_webhook(Principal::cli(), world, refused)
            .await
        else {
            panic!("{param} was taken");
        };
        assert_eq!(invalid.param, param);
    }
    for number in 0..20 {
        let one = endpoint(&format!("h{number}.example.com"), &["*"]);
        harness
            .service
            .add_webhook(Principal::cli(), world, one)
            .await
            .unwrap();
    }
    let again = endpoint("h1.example.com", &["*", "*"]);
    let again = harness
        .service
        .add_webhook(Principal::cli(), world, again)
        .await;
    assert!(matches!(again, Err(Refusal::Duplicate(_))));
    let more =
        harness
            .service
            .add_webhook(Principal::cli(), world, endpoint("h20.example.com", &["*"]));
    assert!(matches!(more.await, Err(Refusal::Invalid(_))));
    assert_eq!(
        harness
            .service
            .list_webhooks(Principal::cli(), harness.app.id.into())
            .await
            .unwrap()
            .len(),
        20
    );
}

/// A test delivery is signed and leaves no record.
#[tokio::test]
async fn a_test_delivery_is_in_no_log() {
    let harness = Harness::new().await;
    let (id, secret) = harness.receiver(HOST, &["*"]).await;
    harness.flow().await;
    let emitted = harness.emitted().await.len();
    harness.webhooks.answer(HOST, 500, None);
    for kind in [None, Some(EventKind::SessionEnded)] {
        let tried = harness
            .service
            .try_webhook(Principal::cli(), harness.app.id.into(), id, kind)
            .await
            .unwrap();
        assert_eq!((tried.status, tried.error), (Some(500), None));
        let request = harness.webhooks.sent_to(HOST).pop().unwrap();
        assert!(is_signed_by(&request, &[&secret]));
        assert_eq!(kinds(&[request]), [kind.map_or(TEST, EventKind::as_str)]);
    }
    assert_eq!(harness.emitted().await.len(), emitted);
    assert_eq!(
        harness.endpoint(id).await.endpoint.state(),
        EndpointState::Active
    );
}

/// Whatever fails during sequencing, an event in the log has its delivery.
#[tokio::test]
async fn wh_1_no_failure_of_the_sequencer_loses_a_delivery() {
    for operations in 0.. {
        let harness = Harness::new().await;
        let test = harness.test().await;
        harness.receiver(HOST, &["user.created"]).await;
        harness.flow().await;
        harness.user(&test, "ann@example.com").await;
        harness.fake.fail_after(operations);
        let placed = harness.service.sequence_all().await;
        let was_reached = !harness.fake.has_yet_to_fail();
        harness.fake.fail_after(None);
        harness.flow().await;
        assert_eq!(
            harness.webhooks.sent_to(HOST).len(),
            1,
            "after {operations:?}, {placed:?}"
        );
        if !was_reached {
            return;
        }
    }
}

/// Two processes concurrently send due deliveries: each event once.
#[tokio::test]
async fn wh_1_two_processes_share_what_is_due() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.receiver(HOST, &["user.created"]).await;
    for number in 0..30 {
        harness
            .user(&test, &format!("user{number}@example.com"))
            .await;
    }
    harness.service.sequence_all().await.unwrap();
    let other = harness.other_process();
    let (one, two) = tokio::join!(harness.service.send_due(), other.send_due());
    assert_eq!(one.unwrap() + two.unwrap(), 30);
    assert_eq!(harness.webhooks.sent_to(HOST).len(), 30);
}

/// Records older than 30 days are deleted, held deliveries included, and so are expired secrets.
#[tokio::test]
async fn deliveries_are_kept_for_a_month() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (id, _) = harness.receiver(HOST, &["user.created"]).await;
    harness.user(&test, "ann@example.com").await;
    harness.flow().await;
    harness
        .service
        .disable_webhook(Principal::cli(), harness.app.id.into(), id)
        .await
        .unwrap();
    harness
        .service
        .rotate_webhook_secret(Principal::cli(), harness.app.id.into(), id, 0)
        .await
        .unwrap();
    harness.pass(29 * DAY);
    harness.sweep().await;
    assert_eq!(harness.deliveries(id).await.len(), 1);
    harness.pass(2 * DAY);
    harness.sweep().await;
    assert!(harness.deliveries(id).await.is_empty());
}

/// An event is kept as long as a delivery needs it.
#[tokio::test]
async fn retention_spares_events_with_pending_deliveries() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (id, _) = harness.receiver(HOST, &["user.created"]).await;
    harness
        .service
        .disable_webhook(Principal::cli(), harness.app.id.into(), id)
        .await
        .unwrap();
    let enabled = harness
        .service
        .enable_webhook(Principal::cli(), harness.app.id.into(), id, Resume::All)
        .await;
    enabled.unwrap();
    harness.user(&test, "ann@example.com").await;
    harness.service.sequence_all().await.unwrap();
    harness
        .service
        .disable_webhook(Principal::cli(), harness.app.id.into(), id)
        .await
        .unwrap();
    harness.pass(20 * DAY);
    harness.sweep().await;
    harness
        .service
        .enable_webhook(Principal::cli(), harness.app.id.into(), id, Resume::All)
        .await
        .unwrap();
    harness.flow().await;
    assert_eq!(kinds(&harness.webhooks.sent_to(HOST)), ["user.created"]);
}

/// How often an endpoint is changed while events are sent to it; the first number of EV-R5.
const RACES: usize = 50;

/// A change to an endpoint with deliveries in flight.
#[derive(Debug, Clone, Copy)]
enum Meanwhile {
    Rotate,
    Disable,
    Delete,
}

/// EV-R5: two processes send due deliveries, and one of them changes the endpoint at the same time.
///
/// In every order, nothing is lost (WH-3), no unsent delivery counts as delivered (WH-9), and nothing is sent that must not be (WH-10,
/// WH-12).
#[tokio::test]
async fn ev_r5_wh_3_wh_9_wh_10_changes_race_deliveries() {
    let mut rng = Rng::from_seed(rng::seed());
    let harness = Harness::new().await;
    for round in 0..rng::rounds(RACES) {
        let changes = [Meanwhile::Rotate, Meanwhile::Disable, Meanwhile::Delete];
        let meanwhile = changes[rng.below(3)];
        let mut raced = Raced::new(&harness, round).await;
        raced.race(meanwhile, &mut rng).await;
        raced.check(meanwhile).await;
        // Otherwise the rest would be sent in the next round.
        let removed = harness
            .service
            .remove_webhook(Principal::cli(), harness.app.id.into(), raced.id)
            .await;
        assert_eq!(removed.is_err(), matches!(meanwhile, Meanwhile::Delete));
    }
}

/// One endpoint and its pending deliveries.
struct Raced<'a> {
    harness: &'a Harness,
    processes: [Arc<Service>; 2],
    round: usize,
    host: String,
    id: WebhookEndpointId,
    /// Newest first.
    secrets: Vec<SigningSecret>,
    users: usize,
}

impl<'a> Raced<'a> {
    async fn new(harness: &'a Harness, round: usize) -> Self {
        let host = format!("round{round}.example.com");
        let (id, secret) = harness.receiver(&host, &["user.created"]).await;
        let mut raced = Self {
            harness,
            processes: [harness.service.clone(), harness.other_process()],
            round,
            host,
            id,
            secrets: vec![secret],
            users: 0,
        };
        for _ in 0..6 {
            raced.user().await;
        }
        raced
    }

    async fn user(&mut self) {
        let test = self.harness.test().await;
        self.users += 1;
        let email = format!("user{}-{}@example.com", self.users, self.round);
        self.harness.user(&test, &email).await;
        self.harness.service.sequence_all().await.unwrap();
    }

    fn sent(&self) -> Vec<WebhookRequest> {
        self.harness.webhooks.sent_to(&self.host)
    }

    async fn race(&mut self, meanwhile: Meanwhile, rng: &mut Rng) {
        let changes = rng.below(5);
        let (app, id) = (self.harness.app.id, self.id);
        let tasks = (0..5).map(|number| {
            let service = self.processes[number % 2].clone();
            async move {
                if number != changes {
                    service.send_due().await.unwrap();
                    return None;
                }
                match meanwhile {
                    Meanwhile::Rotate => {
                        let secret = service
                            .rotate_webhook_secret(Principal::cli(), app.into(), id, 60)
                            .await
                            .unwrap();
                        return Some(SigningSecret::parse(secret.expose()).unwrap());
                    }
                    Meanwhile::Disable => drop(
                        service
                            .disable_webhook(Principal::cli(), app.into(), id)
                            .await
                            .unwrap(),
                    ),
                    Meanwhile::Delete => service
                        .remove_webhook(Principal::cli(), app.into(), id)
                        .await
                        .unwrap(),
                }
                None
            }
        });
        for secret in race(tasks).await.into_iter().flatten() {
            self.secrets.insert(0, secret);
        }
    }

    /// Both processes send until nothing is due.
    async fn flow(&self) {
        for process in &self.processes {
            while process.send_due().await.unwrap() > 0 {}
        }
    }

    async fn check(&mut self, meanwhile: Meanwhile) {
        let about = format!("round {}: {meanwhile:?}", self.round);
        let during = self.sent().len();
        self.harness.pass(1);
        self.user().await;
        self.flow().await;
        match meanwhile {
            Meanwhile::Rotate => {
                let [new, old] = &self.secrets[..] else {
                    panic!("{about}");
                };
                let sent = self.sent();
                for request in &sent[..during] {
                    let is_either =
                        is_signed_by(request, &[old]) || is_signed_by(request, &[new, old]);
                    assert!(is_either, "{about}");
                }
                assert!(is_signed_by(sent.last().unwrap(), &[new, old]), "{about}");
                self.check_delivered(self.users, &about).await;
            }
            Meanwhile::Disable => {
                assert_eq!(self.sent().len(), during, "{about}: sent afterwards");
                let app = self.harness.app.id;
                let enabled = self.harness.service.enable_webhook(
                    Principal::cli(),
                    app.into(),
                    self.id,
                    Resume::All,
                );
                enabled.await.unwrap();
                self.flow().await;
                // Events that occurred while it was disabled are not sent.
                self.check_delivered(self.users - 1, &about).await;
            }
            Meanwhile::Delete => {
                assert_eq!(self.sent().len(), during, "{about}: sent afterwards");
                self.harness.pass(DAY);
                self.flow().await;
                assert_eq!(self.sent().len(), during, "{about}: sent a day later");
            }
        }
    }

    /// Asserts that exactly `count` events were delivered, and each was sent.
    async fn check_delivered(&self, count: usize, about: &str) {
        let delivered = self.harness.deliveries(self.id).await;
        assert_eq!(delivered.len(), count, "{about}");
        let all = self.sent();
        let sent: BTreeSet<_> = all
            .iter()
            .map(|request| header(request, "webhook-id"))
            .collect();
        for delivery in delivered {
            assert_eq!(delivery.state, DeliveryState::Delivered, "{about}");
            assert!(sent.contains(&*delivery.event_id.to_string()), "{about}");
        }
    }
}

/// With `event_addresses`, readers and endpoints see the address of an event's subject as long as it exists; the stored event has none
/// (E-5, E-6).
#[tokio::test]
async fn e_5_e_6_addresses_are_shown_and_not_stored() {
    let harness = Harness::new().await;
    let (id, _) = harness
        .receiver(HOST, &["email.added", "wallet.created"])
        .await;
    let test = harness.test().await;
    let user = harness.user(&test, "ann@example.com").await;
    harness.flow().await;
    harness.set(&[("event_addresses", "true")]).await;
    let address = user.wallets[0].public_address.clone();
    let shown = async || {
        let test = harness.test().await;
        let query = vestry_app::delivery::events::ListEvents::default();
        let page = harness.service.list_events(&test, &query).await.unwrap();
        for delivery in harness.deliveries(id).await {
            if !delivery.is_replay {
                let again = Replayed::Delivery(delivery.id);
                let replayed = harness.service.replay_webhook(
                    Principal::cli(),
                    harness.app.id.into(),
                    id,
                    again,
                );
                replayed.await.unwrap();
            }
        }
        harness.flow().await;
        let sent = harness.webhooks.sent_to(HOST);
        let mut data = Vec::new();
        for event in page.events {
            let alone = harness
                .service
                .get_event(&test, event.event.id)
                .await
                .unwrap();
            assert_eq!(alone, event);
            let json = event.json().unwrap();
            let mut requests = sent.iter().rev();
            if let Some(last) =
                requests.find(|request| header(request, "webhook-id") == event.event.id.to_string())
            {
                assert_eq!(last.body, json.as_bytes());
                let json: serde_json::Value = serde_json::from_str(&json).unwrap();
                data.push(json["data"].clone());
            }
        }
        data
    };
    let [email, wallet] = &shown().await[..] else {
        panic!("two events");
    };
    assert_eq!(email["email"], "ann@example.com");
    assert_eq!(wallet["public_address"], *address);
    let mut read = harness.ports.store.read().await.unwrap();
    let whole = PositionRange {
        from: 1,
        to: i64::MAX,
        descending: false,
    };
    let world = harness.world(Environment::Test);
    let open = EventFilter::default();
    let stored = read.events().page(&world, whole, &open, 1_000).await;
    for event in stored.unwrap() {
        let data = event.event.data;
        assert!(!data.contains("ann@") && !data.contains(&address), "{data}");
    }
    drop(read);
    let test = harness.test().await;
    let deleted = harness.service.delete_user(&test, user.profile.user.id);
    deleted.await.unwrap();
    for data in shown().await {
        let address = data.get("email").or(data.get("public_address"));
        assert_eq!(address, Some(&serde_json::Value::Null), "{data}");
    }
}

/// WH-5: attempts arrive in any order because of retries. A receiver that keeps the highest `(log, position)` of each object ends with the
/// current state.
#[tokio::test]
async fn wh_5_the_newest_event_is_known_by_its_position() {
    let mut rng = Rng::from_seed(rng::seed());
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (_, _) = harness
        .receiver(HOST, &["user.disabled", "user.enabled"])
        .await;
    let user = harness.user(&test, "ann@example.com").await.profile.user.id;
    let mut is_disabled = false;
    for _ in 0..30 {
        let status = if rng.below(3) == 0 { 200 } else { 500 };
        harness.webhooks.answer(HOST, status, None);
        let test = harness.test().await;
        if is_disabled {
            harness.service.enable_user(&test, user).await.unwrap();
        } else {
            harness
                .service
                .disable_user(&test, user, "a while")
                .await
                .unwrap();
        }
        is_disabled = !is_disabled;
        harness.flow().await;
        harness.pass(i64::try_from(rng.below(300)).unwrap());
    }
    harness.webhooks.answer(HOST, 200, None);
    for _ in 0..12 {
        harness.flow().await;
        harness.pass(DAY);
    }
    let places = harness.webhooks.sent_to(HOST).into_iter().map(|request| {
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        let place = (
            body["log"].as_i64().unwrap(),
            body["position"].as_i64().unwrap(),
        );
        (place, body["type"] == "user.disabled")
    });
    let places: Vec<_> = places.collect();
    assert!(
        !places.is_sorted(),
        "every attempt arrived in order: {places:?}"
    );
    let (_, says_disabled) = *places.iter().max().unwrap();
    assert_eq!(says_disabled, is_disabled);
}
