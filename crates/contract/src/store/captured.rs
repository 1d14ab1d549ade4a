//! Captured messages of test worlds.

use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::message::{CapturedMessage, compared_recipient};
use vestry_ports::store::{CapturedFilter, Store};

use super::stage::Stage;
use crate::samples::ODD_TEXTS;

impl Stage {
    async fn capture(&mut self, world: World, to: &str) -> CapturedMessage {
        let message = self.samples.captured(world, to);
        in_tx!(self.store, |tx| tx.captured().insert(&message).await);
        message
    }

    async fn captured(&self, world: World, filter: &CapturedFilter) -> Vec<CapturedMessage> {
        in_view!(self.store, |view| view
            .captured()
            .list(&world, filter)
            .await)
    }

    async fn all_captured(&self, world: World) -> Vec<CapturedMessage> {
        let all = CapturedFilter {
            limit: 1_000,
            ..CapturedFilter::default()
        };
        self.captured(world, &all).await
    }
}

/// Every field of a message is read back unchanged, newest first.
pub async fn messages_come_back_newest_first(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let messages = ODD_TEXTS.map(|to| stage.samples.captured(world, to));
    for message in stage.samples.shuffled(&messages) {
        in_tx!(stage.store, |tx| tx.captured().insert(message).await);
    }
    let mut expected = Vec::from(messages);
    expected.reverse();
    assert_eq!(stage.all_captured(world).await, expected);
}

/// Messages of one second are listed in the order of arrival, newest first, and `after` follows that order.
///
/// A test that requests two codes takes the first of the list for the second one.
pub async fn messages_of_one_second_keep_their_order(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    stage.samples.stop_clock();
    let mut messages = Vec::new();
    for _ in 0..10 {
        messages.push(stage.capture(world, "ada@example.com").await);
    }
    messages.reverse();
    assert_eq!(stage.all_captured(world).await, messages);
    for (newer, message) in messages.iter().enumerate() {
        let filter = CapturedFilter {
            after: Some(message.id),
            limit: 100,
            ..CapturedFilter::default()
        };
        let found = stage.captured(world, &filter).await;
        assert_eq!(Some(found.as_slice()), messages.get(..newer));
    }
}

/// A second capture of the same job is ignored, and the first one stays.
pub async fn a_job_is_captured_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let first = stage.capture(world, "ada@example.com").await;
    let again = CapturedMessage {
        id: first.id,
        ..stage.samples.captured(world, "ada@example.com")
    };
    for message in [&first, &again] {
        in_tx!(stage.store, |tx| tx.captured().insert(message).await);
        let all = stage.all_captured(world).await;
        assert_eq!(all.as_slice(), std::slice::from_ref(&first));
    }
}

/// Attack 5: a recipient is found under every spelling of the address and nothing else: no wildcard, no look-alike.
pub async fn the_recipient_is_compared_as_an_address(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut of_one = Vec::new();
    for to in ["a_b@fa\u{df}.example", "A_B@xn--fa-hia.example"] {
        of_one.insert(0, stage.capture(world, to).await);
    }
    let mut of_others = Vec::new();
    for to in ["axb@fa\u{df}.example", "a_b@fass.example", "+14155552671"] {
        of_others.push((to, vec![stage.capture(world, to).await]));
    }
    let mut cases = of_others;
    cases.push(("a_B@FA\u{df}.example", of_one));
    cases.extend(["%", "a_b@fa\u{df}.example%", ""].map(|to| (to, Vec::new())));
    for (to, expected) in cases {
        let filter = CapturedFilter {
            to: Some(compared_recipient(to)),
            limit: 10,
            ..CapturedFilter::default()
        };
        assert_eq!(stage.captured(world, &filter).await, expected, "{to:?}");
    }
}

/// The kind is compared exactly.
pub async fn the_kind_is_compared_exactly(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let message = stage.capture(world, "ada@example.com").await;
    for (kind, expected) in [
        ("otp", vec![message]),
        ("OTP", vec![]),
        ("magic_link", vec![]),
    ] {
        let filter = CapturedFilter {
            kind: Some(kind.to_owned()),
            limit: 10,
            ..CapturedFilter::default()
        };
        assert_eq!(stage.captured(world, &filter).await, expected, "{kind}");
    }
}

/// `after` lists messages newer than a given one, even if that one was deleted; `limit` keeps the newest.
pub async fn messages_after_one_are_listed(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut messages = Vec::new();
    for _ in 0..6 {
        messages.push(stage.capture(world, "ada@example.com").await);
    }
    let nowhere = stage.samples.captured(world, "").id;
    messages.push(stage.capture(world, "ada@example.com").await);
    let third = messages.get(2).map(|message| message.id);
    messages.reverse();
    for (after, limit, expected) in [
        (None, 3, messages.get(..3)),
        (None, 100, messages.get(..)),
        (third, 100, messages.get(..4)),
        (third, 2, messages.get(..2)),
        (Some(nowhere), 100, messages.get(..1)),
        (None, 0, messages.get(..0)),
    ] {
        let filter = CapturedFilter {
            after,
            limit,
            ..CapturedFilter::default()
        };
        let found = stage.captured(world, &filter).await;
        assert_eq!(Some(found.as_slice()), expected, "at most {limit}");
    }
}

/// All conditions of a filter must match.
pub async fn all_parts_of_a_filter_count(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let early = stage.capture(world, "ada@example.com").await;
    stage.capture(world, "tom@example.com").await;
    let wanted = stage.capture(world, "ada@example.com").await;
    let newest = stage.capture(world, "ada@example.com").await;
    stage.capture(world, "tom@example.com").await;
    let mut filter = CapturedFilter {
        to: Some("ada@example.com".to_owned()),
        kind: Some("otp".to_owned()),
        after: Some(early.id),
        limit: 10,
    };
    assert_eq!(
        stage.captured(world, &filter).await,
        [newest.clone(), wanted]
    );
    filter.limit = 1;
    assert_eq!(stage.captured(world, &filter).await, [newest]);
    filter.kind = Some("invite".to_owned());
    assert_eq!(stage.captured(world, &filter).await, []);
}

/// A world sees and clears only its own messages; the same id may exist in several worlds (I11).
pub async fn messages_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let [stranger, other, _] = stage.strangers(world).await;
    let first = stage.capture(world, "ada@example.com").await;
    stage.capture(world, "tom@example.com").await;
    assert_eq!(stage.all_captured(stranger).await, []);
    let twin = CapturedMessage {
        id: first.id,
        ..stage.samples.captured(stranger, "ada@example.com")
    };
    in_tx!(stage.store, |tx| tx.captured().insert(&twin).await);
    for (world, expected) in [(other, 0), (world, 2), (world, 0)] {
        let cleared = in_tx!(stage.store, |tx| tx.captured().clear(&world).await);
        assert_eq!(cleared, expected);
    }
    assert_eq!(stage.all_captured(world).await, []);
    assert_eq!(stage.all_captured(stranger).await, [twin]);
}

/// A sweep deletes the messages of all worlds that were captured before the given time, and returns how many.
pub async fn a_sweep_deletes_old_messages(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let [other, ..] = stage.strangers(world).await;
    stage.capture(world, "old@example.com").await;
    stage.capture(other, "old@example.com").await;
    let first = stage.capture(world, "first@example.com").await;
    let second = stage.capture(other, "second@example.com").await;
    let before = first.created_at;
    for expected in [2, 0] {
        let swept = in_tx!(stage.store, |tx| tx.captured().sweep(before).await);
        assert_eq!(swept, expected);
    }
    assert_eq!(stage.all_captured(world).await, [first]);
    assert_eq!(stage.all_captured(other).await, [second]);
}
