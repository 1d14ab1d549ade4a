//! Replays: resending missed events to an endpoint at a rate that it can handle.

use std::collections::BTreeSet;

use vestry_app::platform::replays::ReplaySelection;
use vestry_app::platform::webhooks::Resume;
use vestry_app::{Principal, Refusal};
use vestry_domain::Timestamp;
use vestry_domain::ids::{EventId, WebhookEndpointId};
use vestry_domain::webhook::{DeliveryState, Replay};

use crate::harness::Harness;
use crate::webhooks::header;

const HOST: &str = "hooks.example.com";
const DAY: i64 = 86_400;

impl Harness {
    /// Creates users; returns the endpoint's events about them, oldest first.
    async fn emitted_for_users(&self, id: WebhookEndpointId, users: usize) -> Vec<EventId> {
        let test = self.test().await;
        for number in 0..users {
            self.user(&test, &format!("user{number}@example.com")).await;
        }
        self.service.sequence_all().await.unwrap();
        let mut deliveries = self.deliveries(id).await;
        deliveries.sort_by_key(|delivery| delivery.position);
        deliveries
            .iter()
            .map(|delivery| delivery.event_id)
            .collect()
    }

    async fn replay(
        &self,
        id: WebhookEndpointId,
        wanted: ReplaySelection,
    ) -> Result<Replay, Refusal> {
        self.service
            .replay_missed(Principal::cli(), self.app.id.into(), id, wanted)
            .await
    }

    /// The newest replay of an endpoint.
    async fn newest_replay(&self, id: WebhookEndpointId) -> Replay {
        let listed = self
            .service
            .list_replays(Principal::cli(), self.app.id.into(), id)
            .await
            .unwrap();
        listed.into_iter().next().unwrap()
    }

    /// Sends for the given seconds; returns the number sent in each.
    async fn flow_for(&self, seconds: usize) -> Vec<usize> {
        let mut sent = Vec::new();
        for _ in 0..seconds {
            sent.push(self.flow().await);
            self.pass(1);
        }
        sent
    }

    /// The events that were sent as replays, once for each time.
    fn replayed(&self) -> Vec<EventId> {
        let sent = self.webhooks.sent_to(HOST).into_iter();
        let replays = sent.filter(|request| header(request, "vestry-replay") == "true");
        replays
            .map(|request| header(&request, "webhook-id").parse().unwrap())
            .collect()
    }
}

fn range(after: EventId) -> ReplaySelection {
    ReplaySelection::Range { after, until: None }
}

/// Abandoned deliveries are sent again, once, and delivered ones are not. A second request finds nothing until those are abandoned too.
#[tokio::test]
async fn wh_1_abandoned_deliveries_are_sent_again() {
    let harness = Harness::new().await;
    let (id, _) = harness.receiver(HOST, &["user.created"]).await;
    harness.emitted_for_users(id, 1).await;
    harness.flow().await;
    let begin = harness.now();
    harness.webhooks.answer(HOST, 500, None);
    let test = harness.test().await;
    harness.user(&test, "late@example.com").await;
    for _ in 0..12 {
        harness.flow().await;
        harness.pass(DAY);
    }
    assert!(harness.states(id).await.contains(&DeliveryState::Exhausted));
    harness.webhooks.answer(HOST, 200, None);
    let late = harness
        .replay(id, ReplaySelection::FailedSince(harness.now()))
        .await;
    assert_eq!(late.unwrap().count, 0);
    harness.flow().await;
    for (count, replayed) in [(1, 1), (0, 1)] {
        // Replays of one second are listed in no particular order.
        harness.pass(1);
        let asked = harness
            .replay(id, ReplaySelection::FailedSince(begin))
            .await
            .unwrap();
        assert_eq!((asked.count, asked.done, asked.ended_at), (count, 0, None));
        harness.flow().await;
        assert_eq!(harness.replayed().len(), replayed);
        let ended = harness.newest_replay(id).await;
        assert_eq!((ended.id, ended.done), (asked.id, count));
        assert_eq!(ended.ended_at, Some(harness.now()));
    }
    assert_eq!(harness.deliveries(id).await.len(), 3);
}

/// A range of the log is sent again, 50 a second, and new events take precedence.
#[tokio::test]
async fn a_range_of_the_log_is_replayed_at_a_limited_rate() {
    let harness = Harness::new().await;
    let (id, _) = harness.receiver(HOST, &["user.created"]).await;
    let events = harness.emitted_for_users(id, 120).await;
    harness.flow().await;
    let asked = harness.replay(id, range(events[0])).await.unwrap();
    assert_eq!(asked.count, 119);
    assert_eq!(harness.flow_for(4).await, [50, 50, 19, 0]);
    let replayed: BTreeSet<_> = harness.replayed().into_iter().collect();
    assert_eq!(replayed, events[1..].iter().copied().collect());
    assert_eq!(harness.replayed().len(), 119);
    assert_eq!(harness.newest_replay(id).await.done, 119);

    let until = Some(events[13]);
    let after = events[10];
    let some = harness
        .replay(id, ReplaySelection::Range { after, until })
        .await;
    assert_eq!(some.unwrap().count, 3);
    harness.flow().await;
    assert_eq!(harness.replayed()[119..].len(), 3);
}

/// More events than one step handles: the steps run in sequence, and none is due before the previous one is sent.
#[tokio::test]
async fn a_long_replay_takes_several_steps() {
    let harness = Harness::new().await;
    let (id, _) = harness.receiver(HOST, &["user.created"]).await;
    let events = harness.emitted_for_users(id, 620).await;
    harness.flow().await;
    harness.replay(id, range(events[0])).await.unwrap();
    let sent = harness.flow_for(14).await;
    assert!(sent.iter().all(|sent| *sent <= 50), "{sent:?}");
    assert_eq!(sent.iter().sum::<usize>(), 619);
    let replayed: BTreeSet<_> = harness.replayed().into_iter().collect();
    assert_eq!(replayed.len(), 619);
}

/// An invalid replay is refused, and nothing is stored.
#[tokio::test]
async fn invalid_replays_are_refused() {
    let harness = Harness::new().await;
    let (id, _) = harness.receiver(HOST, &["user.created"]).await;
    let events = harness.emitted_for_users(id, 3).await;
    let unknown: EventId = "event_1srOrx2ZWZBpBUvZwXKQmoEYga2".parse().unwrap();
    let until = Some(unknown);
    for wanted in [
        range(unknown),
        ReplaySelection::Range {
            after: events[0],
            until,
        },
    ] {
        let refused = harness.replay(id, wanted).await;
        assert!(matches!(refused, Err(Refusal::NotFound("event"))));
    }
    let until = Some(events[0]);
    let backwards = ReplaySelection::Range {
        after: events[1],
        until,
    };
    let refused = harness.replay(id, backwards).await;
    assert!(matches!(refused, Err(Refusal::Invalid(invalid)) if invalid.param == "until"));
    let not_now = async |wanted| match harness.replay(id, wanted).await {
        Err(Refusal::NotNow(why)) => why,
        other => panic!("{other:?}"),
    };
    harness
        .service
        .disable_webhook(Principal::cli(), harness.app.id.into(), id)
        .await
        .unwrap();
    assert!(not_now(range(events[0])).await.contains("disabled"));
    let listed = harness
        .service
        .list_replays(Principal::cli(), harness.app.id.into(), id)
        .await
        .unwrap();
    assert_eq!(listed, []);
    let enabled = harness
        .service
        .enable_webhook(Principal::cli(), harness.app.id.into(), id, Resume::All)
        .await;
    enabled.unwrap();
    harness.replay(id, range(events[0])).await.unwrap();
    assert!(not_now(range(events[0])).await.contains("running"));
}

/// Whatever fails during a replay, each of its events is queued for the endpoint exactly once.
#[tokio::test]
async fn wh_1_no_failure_of_a_replay_skips_or_duplicates_an_event() {
    for operations in 0.. {
        let harness = Harness::new().await;
        let (id, _) = harness.receiver(HOST, &["user.created"]).await;
        let events = harness.emitted_for_users(id, 4).await;
        harness.flow().await;
        harness.replay(id, range(events[0])).await.unwrap();
        harness.fake.fail_after(operations);
        let sent = harness.service.send_due().await;
        let was_reached = !harness.fake.has_yet_to_fail();
        harness.fake.fail_after(None);
        harness.flow_for(120).await;
        assert_eq!(
            harness.deliveries(id).await.len(),
            7,
            "after {operations:?}, {sent:?}"
        );
        assert_eq!(harness.newest_replay(id).await.done, 3);
        if !was_reached {
            return;
        }
    }
}

/// Two processes run one replay: each event is queued for the endpoint once.
#[tokio::test]
async fn two_processes_share_a_replay() {
    let harness = Harness::new().await;
    let (id, _) = harness.receiver(HOST, &["user.created"]).await;
    let events = harness.emitted_for_users(id, 30).await;
    harness.flow().await;
    harness.replay(id, range(events[0])).await.unwrap();
    let other = harness.other_process();
    let (one, two) = tokio::join!(harness.service.send_due(), other.send_due());
    assert_eq!(one.unwrap() + two.unwrap(), 29);
    assert_eq!(harness.replayed().len(), 29);
}

/// A replay pauses while its endpoint is disabled, and resumes afterwards; it ends when the endpoint is deleted.
#[tokio::test]
async fn wh_10_wh_12_a_replay_pauses_and_ends_with_its_endpoint() {
    let harness = Harness::new().await;
    let (id, _) = harness.receiver(HOST, &["user.created"]).await;
    let events = harness.emitted_for_users(id, 5).await;
    harness.flow().await;
    harness.replay(id, range(events[0])).await.unwrap();
    harness
        .service
        .disable_webhook(Principal::cli(), harness.app.id.into(), id)
        .await
        .unwrap();
    harness.flow_for(20).await;
    assert_eq!(harness.replayed(), []);
    let enabled = harness
        .service
        .enable_webhook(Principal::cli(), harness.app.id.into(), id, Resume::All)
        .await;
    enabled.unwrap();
    harness.flow_for(11).await;
    assert_eq!(harness.replayed().len(), 4);
    harness.replay(id, range(events[0])).await.unwrap();
    harness
        .service
        .remove_webhook(Principal::cli(), harness.app.id.into(), id)
        .await
        .unwrap();
    harness.flow_for(2).await;
    assert_eq!(harness.replayed().len(), 4);
}

/// Held deliveries are sent 50 a second once the endpoint is enabled, oldest first. New events do not wait for them.
#[tokio::test]
async fn held_deliveries_are_sent_at_a_limited_rate() {
    let harness = Harness::new().await;
    let (id, _) = harness.receiver(HOST, &["user.created"]).await;
    harness.emitted_for_users(id, 120).await;
    harness
        .service
        .disable_webhook(Principal::cli(), harness.app.id.into(), id)
        .await
        .unwrap();
    harness.pass(10);
    let enabled = harness
        .service
        .enable_webhook(Principal::cli(), harness.app.id.into(), id, Resume::All)
        .await;
    enabled.unwrap();
    let test = harness.test().await;
    harness.user(&test, "new@example.com").await;
    assert_eq!(harness.flow_for(4).await, [51, 50, 20, 0]);
    assert!(
        harness
            .states(id)
            .await
            .iter()
            .all(|state| *state == DeliveryState::Delivered)
    );
}

/// A replay that finds nothing ends with its first step.
#[tokio::test]
async fn a_replay_of_nothing_ends_at_once() {
    let harness = Harness::new().await;
    let (id, _) = harness.receiver(HOST, &["user.created"]).await;
    let begin = Timestamp::from_unix(0);
    harness
        .replay(id, ReplaySelection::FailedSince(begin))
        .await
        .unwrap();
    assert_eq!(harness.flow().await, 0);
    let replay = harness.newest_replay(id).await;
    assert_eq!((replay.count, replay.done), (0, 0));
    assert!(replay.ended_at.is_some());
}
