use vestry_domain::World;
use vestry_domain::ids::{AppId, EmailId, Id, SessionId, UserId};
use vestry_domain::session::{DeviceFingerprint, PERMISSIONS_BYTES, SessionLimits, SignIn};
use vestry_domain::timestamp::Seconds;
use vestry_domain::world::Environment;

use serde_json::json;

use super::*;

const START: Timestamp = Timestamp::from_unix(1_700_000_000);
/// Of what a device says of itself, in characters.
const MAX_TEXT: usize = 1024;

fn session() -> Session {
    let world = World::new(AppId::new(START, [1; 16]), Environment::Test);
    let factor = Factor {
        proof: Proof::EmailCode {
            email_id: EmailId::new(START, [1; 16]),
            email: "ada@example.com".to_owned(),
        },
        last_verified_at: START,
    };
    let sign_in = SignIn {
        user_id: UserId::new(START, [2; 16]),
        factor,
        device_fingerprint: DeviceFingerprint::default(),
    };
    let limits = SessionLimits {
        absolute: Seconds(10_000),
        idle: None,
    };
    let id = SessionId::new(START, [3; 16]);
    Session::start(id, world, sign_in, Seconds(300), limits, START)
}

/// The longest permissions, device and address a session can start with, with characters that JSON doubles and characters of
/// four bytes, fit into it; what it may hold besides is bounded to the byte.
#[test]
fn a_session_can_always_start_and_is_never_too_large_to_be_signed() {
    // An object's bytes are what counts, so one long permission stands for any that are accepted.
    let carried = vec!["x".repeat(PERMISSIONS_BYTES - 4)];
    assert_eq!(json!(carried).to_string().len(), PERMISSIONS_BYTES);
    for letter in ["\u{1F511}", "\"", "x"] {
        let text = letter.repeat(MAX_TEXT);
        let mut first = session();
        first.device_fingerprint = DeviceFingerprint::new(Some(text.clone()), Some(text)).unwrap();
        first.permissions.clone_from(&carried);
        first.factors = vec![Factor {
            proof: Proof::EmailLink {
                email_id: EmailId::new(START, [9; 16]),
                email: "\"".repeat(254),
            },
            last_verified_at: START,
        }];
        check_size(&first, "permissions").unwrap();
    }
}

/// The limit is exact, and the error names the given field.
#[test]
fn a_session_is_limited_to_the_byte() {
    let mut large = session();
    let base = SessionObject::of(&large).as_str().len();
    for (more, accepted) in [(0, true), (1, false)] {
        large.permissions = vec!["x".repeat(SESSION_BYTES - base - 2 + more)];
        assert_eq!(
            SessionObject::of(&large).as_str().len(),
            SESSION_BYTES + more
        );
        let outcome = check_size(&large, "session_jwt");
        assert_eq!(outcome.is_ok(), accepted);
        assert!(outcome.is_ok() || outcome.unwrap_err().param == "session_jwt");
    }
}

#[test]
fn an_ended_session_says_so() {
    let mut session = session();
    let object = json!(SessionObject::of(&session));
    assert_eq!(
        (&object["deleted"], &object["deleted_at"]),
        (&json!(false), &json!(0))
    );
    session.deleted_at = Some(START);
    let object = json!(SessionObject::of(&session));
    assert_eq!(
        (&object["deleted"], &object["deleted_at"]),
        (&json!(true), &json!(START))
    );
}
