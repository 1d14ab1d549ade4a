use std::collections::BTreeSet;

use super::*;
use crate::Environment;
use crate::ids::Id;

fn id<I: Id>(number: u8) -> I {
    I::new(Timestamp::from_unix(1_800_000_000), [number; 16])
}

fn event() -> ControlEvent {
    let key: ApiKeyId = id(3);
    ControlEvent {
        world: World::new(id(1), Environment::Live),
        actor: Actor::ApiKey(id(2)),
        action: ControlAction::ApiKeyCreate,
        subject: key.into(),
        detail: Detail::default().with("kind", "secret").text(),
        outcome: Outcome::Done,
        request_id: Some("req-1".to_owned()),
        at: Timestamp::from_unix(1_800_000_000),
    }
}

fn entry(sequence: i64, event: ControlEvent, previous: [u8; 32]) -> ControlEntry {
    let (id, chain) = (id(4), id(5));
    ControlEntry {
        id,
        chain,
        sequence,
        hash: ControlEntry::digest(id, chain, sequence, &event, &previous),
        event,
        previous,
        mac: Mac {
            key_version: 1,
            tag: vec![0; 32],
        },
    }
}

#[test]
fn every_word_round_trips() {
    for action in ControlAction::ALL {
        assert_eq!(action.as_str().parse(), Ok(*action));
    }
    for kind in SubjectKind::ALL {
        assert_eq!(kind.as_str().parse(), Ok(*kind));
    }
    for outcome in Outcome::ALL {
        assert_eq!(outcome.as_str().parse(), Ok(*outcome));
    }
    let names: BTreeSet<_> = ControlAction::ALL.iter().map(|it| it.as_str()).collect();
    assert_eq!(names.len(), ControlAction::ALL.len(), "duplicate name");
    assert!("api_key.creat".parse::<ControlAction>().is_err());
}

#[test]
fn aud_2_an_entry_follows_only_its_predecessor() {
    let first = entry(1, event(), [0; 32]);
    let second = entry(2, event(), first.hash);
    assert!(first.follows(0, &[0; 32]));
    assert!(second.follows(1, &first.hash));
    assert!(!second.follows(0, &first.hash), "a gap");
    assert!(!second.follows(1, &[0; 32]), "wrong predecessor");
    assert!(!second.follows(i64::MAX, &first.hash), "largest number");
}

/// No field can be changed without changing the hash, including the position.
#[test]
fn aud_2_every_field_is_hashed() {
    type Edit = fn(&mut ControlEntry);
    let edits: [(&str, Edit); 14] = [
        ("id", |entry| entry.id = id(9)),
        ("chain", |entry| entry.chain = id(9)),
        ("sequence", |entry| entry.sequence = 3),
        ("app", |entry| entry.event.world.app_id = id(9)),
        ("environment", |entry| {
            entry.event.world.environment = Environment::Test;
        }),
        ("kind of actor", |entry| {
            entry.event.actor = Actor::PublicToken(id(2));
        }),
        ("actor", |entry| entry.event.actor = Actor::ApiKey(id(9))),
        ("action", |entry| {
            entry.event.action = ControlAction::ApiKeyRevoke;
        }),
        ("kind of subject", |entry| {
            entry.event.subject.kind = SubjectKind::App;
        }),
        ("subject", |entry| entry.event.subject.id.clear()),
        ("detail", |entry| entry.event.detail.clear()),
        ("outcome", |entry| entry.event.outcome = Outcome::Refused),
        ("request", |entry| entry.event.request_id = None),
        ("time", |entry| entry.event.at = Timestamp::from_unix(0)),
    ];
    for (field, edit) in edits {
        let mut edited = entry(2, event(), [1; 32]);
        edit(&mut edited);
        let sequence = edited.sequence - 1;
        assert!(!edited.follows(sequence, &[1; 32]), "{field} is not hashed");
    }
}

/// Names are sorted, unchanged values are omitted, and no detail exceeds its maximum length.
#[test]
fn a_detail_is_short_and_in_order() {
    let long = "x".repeat(300);
    let detail = Detail::default()
        .changed("b", json!(1), json!(2))
        .changed("a", json!(false), json!(true))
        .changed("same", json!([1]), json!([1]));
    assert_eq!(
        detail.text(),
        r#"{"a":{"from":false,"to":true},"b":{"from":1,"to":2}}"#
    );
    assert_eq!(Detail::default().text(), "{}");

    let text = Detail::default().with("long", long.clone()).text();
    let hash = hash_of(&json!(long).to_string());
    assert_eq!(text, json!({"long": {"sha256": hash}}).to_string());

    let many = |length: usize, names: u32| {
        let value = "y".repeat(length);
        let details = (0..names).fold(Detail::default(), |detail, number| {
            detail.with(&format!("name_{number:03}"), value.clone())
        });
        details.text()
    };
    let named: Value = serde_json::from_str(&many(200, 20)).unwrap();
    assert_eq!(named["names"][19], "name_019");
    let hashed: Value = serde_json::from_str(&many(1, 1_000)).unwrap();
    assert_eq!(hashed["sha256"].as_str().map(str::len), Some(64));
    for (length, names) in [(200, 9), (200, 20), (250, 500), (0, 200)] {
        assert!(many(length, names).len() <= MAX_DETAIL);
    }
}
