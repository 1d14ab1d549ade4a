//! Event work of a process outside its requests.

use vestry_app::Caller;
use vestry_app::delivery::events::{EventPage, ListEvents, ListEventsError};
use vestry_domain::event::{Event, EventKind};
use vestry_domain::ids::EventId;

use crate::harness::Harness;

async fn read(harness: &Harness, caller: &Caller, after: Option<EventId>) -> EventPage {
    let query = ListEvents {
        after,
        limit: Some(1000),
        ..ListEvents::default()
    };
    harness.service.list_events(caller, &query).await.unwrap()
}

fn places(events: &[Event]) -> Vec<(i64, i64)> {
    let places = events.iter().map(|event| (event.log, event.position));
    places.collect()
}

/// If a database has lost events that a process saw, it continues as another log and says where the previous one ended.
#[tokio::test]
async fn e_9_a_rolled_back_database_is_noticed() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.user(&test, "ann@example.com").await;
    harness.service.sequence_all().await.unwrap();
    let survived = read(&harness, &test, None).await;
    let last = survived.events.last().unwrap().clone();
    let kept = harness.fake.kept();
    harness.user(&test, "bob@example.com").await;
    harness.service.sequence_all().await.unwrap();
    let seen = read(&harness, &test, Some(last.event.id)).await;
    let lost = seen.events.last().unwrap().event.id;
    harness.fake.set_back(kept);
    harness.user(&test, "cat@example.com").await;
    harness.service.sequence_all().await.unwrap();
    let page = read(&harness, &test, Some(last.event.id)).await;
    let first = &page.events[0];
    assert_eq!(first.event.kind, EventKind::LogRestarted);
    let expected = format!(r#"{{"previous_log":1,"lost_after":"{}"}}"#, last.event.id);
    assert_eq!(first.event.data, expected);
    let from = last.position + 1;
    let expected: Vec<_> = (from..from + 4).map(|position| (2, position)).collect();
    assert_eq!(places(&page.events), expected);
    let query = ListEvents {
        after: Some(lost),
        ..ListEvents::default()
    };
    let refused = harness.service.list_events(&test, &query).await;
    assert!(matches!(refused, Err(ListEventsError::CursorUnknown)));
    // It is reported once, by one process.
    harness.user(&test, "dan@example.com").await;
    harness.other_process().sequence_all().await.unwrap();
    harness.user(&test, "eve@example.com").await;
    harness.service.sequence_all().await.unwrap();
    let page = read(&harness, &test, Some(last.event.id)).await;
    let restarts = page.events.iter();
    let restarts = restarts.filter(|event| event.event.kind == EventKind::LogRestarted);
    assert_eq!(restarts.count(), 1);
}

/// The same if the log has grown past what was seen, with other events at its positions.
#[tokio::test]
async fn e_9_other_events_at_known_positions_are_noticed() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.service.sequence_all().await.unwrap();
    let kept = harness.fake.kept();
    harness.user(&test, "ann@example.com").await;
    harness.service.sequence_all().await.unwrap();
    harness.fake.set_back(kept);
    let other = harness.other_process();
    for name in ["bob", "cat", "dan"] {
        harness.user(&test, &format!("{name}@example.com")).await;
    }
    other.sequence_all().await.unwrap();
    harness.user(&test, "eve@example.com").await;
    harness.service.sequence_all().await.unwrap();
    let page = read(&harness, &test, None).await;
    let restarted = page.events.iter();
    let restarted = restarted.filter(|event| event.event.kind == EventKind::LogRestarted);
    assert_eq!(restarted.count(), 1);
    let logs: Vec<_> = page.events.iter().map(|event| event.log).collect();
    assert!(logs.is_sorted() && logs.last() == Some(&2), "{logs:?}");
    let positions: Vec<_> = page.events.iter().map(|event| event.position).collect();
    let expected: Vec<_> = (1..=i64::try_from(positions.len()).unwrap()).collect();
    assert_eq!(positions, expected);
}

/// An event is stored if and only if its change is, whatever fails.
#[tokio::test]
async fn e_1_a_failure_at_any_step_emits_all_or_nothing() {
    for operations in 0.. {
        let harness = Harness::new().await;
        let test = harness.test().await;
        harness.service.sequence_all().await.unwrap();
        let before = read(&harness, &test, None).await.events.len();
        harness.fake.fail_after(operations);
        let command = vestry_app::identity::users::CreateUser {
            email: Some("ann@example.com".to_owned()),
            ..Default::default()
        };
        let created = harness.service.create_user(&test, command).await;
        let was_reached = !harness.fake.has_yet_to_fail();
        harness.fake.fail_after(None);
        harness.service.sequence_all().await.unwrap();
        let emitted = read(&harness, &test, None).await.events.len() - before;
        let expected = if created.is_ok() { 3 } else { 0 };
        assert_eq!(emitted, expected, "after {operations} operations");
        if !was_reached {
            return;
        }
    }
}

/// A failing step assigns all positions or none, and the next step assigns the rest (E-2).
#[tokio::test]
async fn e_2_a_sequencer_that_fails_at_any_step_leaves_no_gap() {
    for operations in 0.. {
        let harness = Harness::new().await;
        let test = harness.test().await;
        harness.user(&test, "ann@example.com").await;
        harness.fake.fail_after(operations);
        drop(harness.service.sequence_all().await);
        let was_reached = !harness.fake.has_yet_to_fail();
        harness.fake.fail_after(None);
        harness.user(&test, "bob@example.com").await;
        harness.service.sequence_all().await.unwrap();
        let events = read(&harness, &test, None).await.events;
        let positions: Vec<_> = events.iter().map(|event| event.position).collect();
        let expected: Vec<_> = (1..=i64::try_from(positions.len()).unwrap()).collect();
        assert_eq!(positions, expected, "after {operations} operations");
        let mut ids: Vec<_> = events.iter().map(|event| event.event.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), positions.len());
        if !was_reached {
            return;
        }
    }
}

/// If events are pruned while a page is read, the page has everything after the cursor or the cursor is refused.
#[tokio::test]
async fn e_9_a_prune_between_two_reads_of_a_page_is_noticed() {
    let mut refused = 0;
    for kinds in [vec![], vec![EventKind::UserCreated]] {
        for reads in 0..6 {
            let harness = Harness::new().await;
            let test = harness.test().await;
            for name in ["ann", "bob", "cat", "dan"] {
                harness.user(&test, &format!("{name}@example.com")).await;
            }
            harness.service.sequence_all().await.unwrap();
            let all = read(&harness, &test, None).await.events;
            let query = ListEvents {
                after: Some(all[2].event.id),
                kinds: kinds.clone(),
                ..ListEvents::default()
            };
            let expected = harness.service.list_events(&test, &query).await.unwrap();
            assert!(expected.events.len() > 1);
            harness.fake.prune_after(reads, test.world, all[8].position);
            match harness.service.list_events(&test, &query).await {
                Ok(page) => assert_eq!(page.events, expected.events, "after {reads} reads"),
                Err(ListEventsError::CursorUnknown) => refused += 1,
                Err(error) => panic!("after {reads} reads: {error}"),
            }
        }
    }
    assert!(refused > 0);
}
