use serde_json::{Value, json};

use super::*;
use crate::ids::{Id, SessionId};
use crate::session::Proof;

fn id<I: Id>(number: u8) -> I {
    I::new(Timestamp::from_unix(1_800_000_000), [number; 16])
}

fn read(fact: &Fact) -> Value {
    serde_json::from_str(&fact.data()).unwrap()
}

#[test]
fn ev_c2_names_are_well_formed_and_unique() {
    for kind in EventKind::ALL {
        let name = kind.as_str();
        let (group, what) = name.split_once('.').unwrap();
        let is_word = |text: &str| text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        assert!(is_word(group) && is_word(what), "{name}");
        assert_eq!(kind.group(), group);
        assert_eq!(name.parse(), Ok(*kind));
        assert!(kind.text().ends_with('.'), "{name}");
    }
}

#[test]
fn e_5_a_fact_has_exactly_the_fields_of_its_kind() {
    let user: UserId = id(1);
    let factor = Proof::EmailCode {
        email_id: id(2),
        email: "ann@example.com".to_owned(),
    };
    let session: SessionId = id(3);
    let fact = Fact::session_created(user, session, factor);
    assert_eq!(
        read(&fact),
        json!({
            "user_id": user.to_string(),
            "session_id": session.to_string(),
            "factor": {"type": "otp", "delivery_channel": "email"},
        })
    );
    assert_eq!(
        (fact.kind, fact.user_id),
        (EventKind::SessionCreated, Some(user))
    );
    let names: Vec<_> = fact.kind.fields().iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["user_id", "session_id", "factor"]);
}

#[test]
fn long_lists_are_truncated_and_counted() {
    let ids: Vec<SessionId> = (0..200).map(id).collect();
    let fact = Fact::session_ended(Some(id(1)), ids, 200, EndReason::CredentialChanged);
    let data = fact.data();
    assert!(data.len() <= 4096, "{} bytes", data.len());
    let data = read(&fact);
    assert_eq!(data["session_ids"].as_array().unwrap().len(), MAX_IDS);
    assert_eq!(data["count"], 200);
}

#[test]
fn a_list_of_types_names_types_and_groups() {
    use EventKind::*;
    let cases: [(&[&str], &[EventKind]); 5] = [
        (&["user.created"], &[UserCreated]),
        (&["totp.*"], &[TotpAdded, TotpRemoved]),
        (
            &["totp.removed", "totp.*", "totp.removed"],
            &[TotpAdded, TotpRemoved],
        ),
        // Optional types are selected only by name.
        (&["message.*"], &[MessageFailed]),
        (
            &["message.*", "message.sent"],
            &[MessageFailed, MessageSent],
        ),
    ];
    for (names, expected) in cases {
        assert_eq!(
            kinds(names.iter().copied()),
            Ok(expected.to_vec()),
            "{names:?}"
        );
    }
    for bad in [
        "user.borne",
        "nobody.*",
        "*",
        "",
        "user",
        ".*",
        "user.*.*",
        "USER.CREATED",
    ] {
        let refused = kinds([bad]).unwrap_err();
        assert_eq!(refused.param, "types", "{bad}");
    }
    assert!(kinds(["user.created"; 20]).is_ok());
    assert_eq!(kinds(["user.created"; 21]).unwrap_err().param, "types");
}

#[test]
fn actors_round_trip_through_text() {
    for actor in [
        Actor::ApiKey(id(1)),
        Actor::PublicToken(id(2)),
        Actor::EndUser(id(3)),
        Actor::Cli,
        Actor::System,
    ] {
        let written = actor.id();
        assert_eq!(Actor::parse(actor.kind(), written.as_deref()), Ok(actor));
        assert!(Actor::KINDS.contains(&actor.kind()));
    }
    for (kind, id) in [
        ("api_key", None),
        ("cli", Some("key_1")),
        ("end_user", Some("key_1")),
        ("", None),
    ] {
        assert!(Actor::parse(kind, id).is_err(), "{kind} {id:?}");
    }
}
