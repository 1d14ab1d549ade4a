//! The size limit of the cache.

use vestry_contract::samples::Samples;
use vestry_domain::Environment;
use vestry_domain::envelope::Sealed;
use vestry_domain::signing_key::Algorithm;

use super::*;

fn key(samples: &mut Samples, algorithm: Algorithm) -> SigningKey {
    let now = samples.tick();
    SigningKey {
        id: samples.id(now),
        world: World::new(samples.id(now), Environment::Test),
        algorithm,
        public_jwk: serde_json::Value::Null,
        private: Sealed {
            key_version: 1,
            bytes: Vec::new(),
        },
        created_at: now,
        active_from: now,
    }
}

fn opened() -> OpenKey {
    let (half, _) = PrivateHalf::generate(Algorithm::EdDSA).unwrap();
    OpenKey::new(String::new(), half)
}

#[test]
fn a_cached_key_is_found_by_world_kid_and_algorithm() {
    let mut samples = Samples::fresh();
    let keys = OpenKeys::default();
    let kept = key(&mut samples, Algorithm::EdDSA);
    keys.keep(&kept, opened());
    assert!(keys.get(&kept).is_some());
    let stranger = key(&mut samples, Algorithm::EdDSA);
    let elsewhere = SigningKey {
        world: stranger.world,
        ..kept.clone()
    };
    let other_algorithm = SigningKey {
        algorithm: Algorithm::ES256,
        ..kept.clone()
    };
    for other in [stranger, elsewhere, other_algorithm] {
        assert!(keys.get(&other).is_none());
    }
}

#[test]
fn the_cache_never_exceeds_its_bound_and_keeps_the_newest_key() {
    let mut samples = Samples::fresh();
    let keys = OpenKeys::default();
    for _ in 0..MAX_SIZE + 50 {
        let newest = key(&mut samples, Algorithm::EdDSA);
        keys.keep(&newest, opened());
        assert!(keys.get(&newest).is_some());
    }
    assert_eq!(keys.0.read().unwrap().len(), MAX_SIZE);
}
