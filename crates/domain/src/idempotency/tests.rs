use super::*;
use crate::Environment;
use crate::ids::{AppId, Id, ManagementKeyId};

#[test]
fn visible_ascii_of_up_to_255_characters_is_a_key() {
    for good in ["!", "~", "order-17/4", &"k".repeat(255)] {
        assert!(IdempotencyKey::parse(good.as_bytes()).is_ok(), "{good}");
    }
    let too_long = "k".repeat(256);
    for bad in ["", " ", "a b", "a\tb", "a\u{7f}", "ké", "a\n", &too_long] {
        let refused = IdempotencyKey::parse(bad.as_bytes()).unwrap_err();
        assert_eq!(refused, IdempotencyKey::refused(), "{bad:?}");
        assert_eq!(refused.param, HEADER);
    }
    assert!(IdempotencyKey::parse(b"a\xffb").is_err());
}

#[test]
fn a_digest_belongs_to_one_key_of_one_world_and_management_key() {
    let at = Timestamp::from_unix(1_800_000_000);
    let world = |random, environment| World::new(AppId::new(at, [random; 16]), environment);
    let (one, other) = (
        IdempotencyKey::parse(b"one").unwrap(),
        IdempotencyKey::parse(b"other").unwrap(),
    );
    let here = world(1, Environment::Test);
    let digest = one.digest(&here, None);
    assert_eq!(digest, one.clone().digest(&here, None));
    let by = |random| Some(ManagementKeyId::new(at, [random; 16]));
    for different in [
        other.digest(&here, None),
        one.digest(&world(1, Environment::Live), None),
        one.digest(&world(2, Environment::Test), None),
        one.digest(&here, by(1)),
    ] {
        assert_ne!(digest, different);
    }
    assert_eq!(one.digest(&here, by(1)), one.digest(&here, by(1)));
    assert_ne!(one.digest(&here, by(1)), one.digest(&here, by(2)));
}

#[test]
fn a_key_is_not_printed() {
    let key = IdempotencyKey::parse(b"order-17").unwrap();
    assert!(!format!("{key:?}").contains("order"));
}

/// A lease survives one failed renewal.
const _: () = assert!(LEASE.0 >= 2 * RENEWED_EVERY.0);
