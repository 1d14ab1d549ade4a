use serde_json::json;

use super::*;
use crate::Environment;
use crate::ids::Id;
use crate::signing::PayloadHash;

fn id<I: Id>(number: u8) -> I {
    I::new(Timestamp::from_unix(1_800_000_000), [number; 16])
}

fn event() -> AuditEvent {
    AuditEvent {
        world: World::new(id(1), Environment::Live),
        wallet_id: id(2),
        action: AuditAction::Rpc,
        detail: "personal_sign".to_owned(),
        actor: Actor::ApiKey(id(3)),
        result: Some(ResultHash([7; 32])),
        payload: Some(PayloadHash([8; 32])),
        request_id: Some("req-1".to_owned()),
        at: Timestamp::from_unix(1_800_000_000),
    }
}

fn entry(sequence: i64, event: AuditEvent, previous: [u8; 32]) -> AuditEntry {
    entry_in(Format::V2, sequence, event, previous)
}

fn entry_in(format: Format, sequence: i64, event: AuditEvent, previous: [u8; 32]) -> AuditEntry {
    let (id, chain) = (id(4), id(5));
    AuditEntry {
        id,
        chain,
        sequence,
        format,
        hash: AuditEntry::digest(format, id, chain, sequence, &event, &previous),
        event,
        previous,
        mac: Mac {
            key_version: 1,
            tag: vec![0; 32],
        },
    }
}

#[test]
fn every_action_round_trips() {
    for action in AuditAction::ALL {
        assert_eq!(action.as_str().parse::<AuditAction>().unwrap(), action);
    }
    assert!("sign".parse::<AuditAction>().is_err());
}

#[test]
fn an_entry_follows_only_its_predecessor() {
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
fn every_field_is_hashed() {
    type Edit = fn(&mut AuditEntry);
    let edits: [(&str, Edit); 15] = [
        ("id", |entry| entry.id = id(9)),
        ("chain", |entry| entry.chain = id(9)),
        ("sequence", |entry| entry.sequence = 3),
        ("app", |entry| entry.event.world.app_id = id(9)),
        ("environment", |entry| {
            entry.event.world.environment = Environment::Test;
        }),
        ("wallet", |entry| entry.event.wallet_id = id(9)),
        ("action", |entry| {
            entry.event.action = AuditAction::SignMessage;
        }),
        ("detail", |entry| entry.event.detail.clear()),
        ("key", |entry| entry.event.actor = Actor::ApiKey(id(9))),
        ("actor", |entry| {
            entry.event.actor = Actor::ManagementKey(id(3))
        }),
        ("result", |entry| entry.event.result = None),
        ("payload", |entry| entry.event.payload = None),
        ("request", |entry| entry.event.request_id = None),
        ("format", |entry| entry.format = Format::V1),
        ("time", |entry| entry.event.at = Timestamp::from_unix(0)),
    ];
    for (field, edit) in edits {
        let mut edited = entry(2, event(), [1; 32]);
        edit(&mut edited);
        let sequence = edited.sequence - 1;
        assert!(!edited.follows(sequence, &[1; 32]), "{field} is not hashed");
    }
}

/// The hash covers the documented text, whatever the order of the fields.
#[test]
fn a_result_is_hashed_as_documented() {
    let fields = json!({"signature": "0xaa", "encoding": "hex"});
    let signed = Signed {
        fields: fields.as_object().unwrap().clone(),
        payload: PayloadHash([7; 32]),
    };
    let text = r#"{"encoding":"hex","signature":"0xaa"}"#;
    let expected: [u8; 32] = Sha256::digest(text).into();
    assert_eq!(ResultHash::of(&signed), ResultHash(expected));
}

/// Entries written before the second format existed are still read the same way.
#[test]
fn entries_in_the_first_format_stay_valid() {
    let event = AuditEvent {
        payload: None,
        request_id: None,
        ..event()
    };
    let old = entry_in(Format::V1, 1, event, [0; 32]);
    assert!(old.follows(0, &[0; 32]));
    let mut added = old.clone();
    added.event.payload = Some(PayloadHash([8; 32]));
    assert!(!added.follows(0, &[0; 32]));
    let mut added = old.clone();
    added.event.request_id = Some("req_1".to_owned());
    assert!(!added.follows(0, &[0; 32]));
    let hex = data_encoding::HEXLOWER.encode(&old.hash);
    assert_eq!(
        hex,
        "3e72fb88459c580470fb089b2898d16f86b320f55331b65d4d59f095fafd4f55"
    );
    for format in [Format::V1, Format::V2] {
        assert_eq!(Format::from_number(format.number()), Some(format));
    }
    assert_eq!(Format::from_number(3), None);
}
