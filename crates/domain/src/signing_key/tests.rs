//! S-13: the next key is published before it is used, the old one until its last token has expired.

use super::*;
use crate::ids::{AppId, Id};
use crate::world::Environment;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix(1_700_000_000 + seconds)
}

fn key(number: u8, created: i64, active_from: i64) -> SigningKey {
    SigningKey {
        id: SigningKeyId::new(at(created), [number; 16]),
        world: World::new(AppId::new(at(0), [1; 16]), Environment::Test),
        algorithm: Algorithm::ES256,
        public_jwk: Value::Null,
        private: Sealed {
            key_version: 1,
            bytes: Vec::new(),
        },
        created_at: at(created),
        active_from: at(active_from),
    }
}

#[test]
fn s_13_rotation_overlaps_on_both_sides() {
    let keys = [key(1, 0, 0), key(2, 1_000, 1_300)];
    let lifetime = Seconds(300);
    for (now, signs, shown) in [
        (999, 0, 2),
        (1_299, 0, 2),
        (1_300, 1, 2),
        (1_899, 1, 2),
        (1_900, 1, 1),
        (9_999, 1, 1),
    ] {
        assert_eq!(active(&keys, at(now)), keys.get(signs), "signing at {now}");
        assert_eq!(
            published(&keys, lifetime, at(now)).len(),
            shown,
            "published at {now}"
        );
    }
}

#[test]
fn a_single_key_is_always_published() {
    let keys = [key(1, 0, 0)];
    assert_eq!(published(&keys, Seconds(300), at(1_000_000)).len(), 1);
}
