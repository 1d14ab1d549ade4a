//! Tests with our own tokens, and with all kinds of others.

mod attacks;
mod round_trips;
mod sealer;

use serde_json::{Map, Value, json};
use vestry_contract::samples::Samples;
use vestry_domain::Environment;

use super::*;
use sealer::TestSealer;

const ALGORITHMS: [Algorithm; 3] = [Algorithm::ES256, Algorithm::RS256, Algorithm::EdDSA];

/// A signer with one key per algorithm, all in one world.
struct Fixture {
    signer: JwtSigner,
    sealer: Arc<TestSealer>,
    keys: Vec<SigningKey>,
    samples: Samples,
}

impl Fixture {
    async fn new() -> Self {
        let sealer = Arc::new(TestSealer::default());
        let mut samples = Samples::fresh();
        let now = samples.tick();
        let mut fixture = Self {
            signer: JwtSigner::new(sealer.clone()),
            sealer,
            keys: Vec::new(),
            samples,
        };
        let world = World::new(fixture.samples.id(now), Environment::Live);
        for algorithm in ALGORITHMS {
            let key = fixture.generate(world, algorithm).await;
            fixture.keys.push(key);
        }
        fixture
    }

    async fn generate(&mut self, world: World, algorithm: Algorithm) -> SigningKey {
        let now = self.samples.tick();
        let id = self.samples.id(now);
        let generated = self.signer.generate(id, world, algorithm, now, now).await;
        generated.unwrap()
    }

    async fn token(&self, key: &SigningKey) -> String {
        self.sign(key, &claims()).await
    }

    async fn sign(&self, key: &SigningKey, claims: &Map<String, Value>) -> String {
        let claims = json!(claims).to_string();
        self.signer.sign(key, &claims).await.unwrap()
    }

    fn accepts(&self, token: &str) -> bool {
        match self.signer.authenticate(token, &self.keys) {
            Ok(_) => true,
            Err(TokenError::NotAuthentic) => false,
            Err(other) => panic!("{other:?}"),
        }
    }
}

fn claims() -> Map<String, Value> {
    let claims = json!({
        "iss": "https://auth.example.com/app", "sub": "user_1", "iat": 1, "exp": 2,
        "session": {"id": "sess_1", "factors": [{"type": "otp"}], "note": "Zoë 👩‍👩‍👧‍👦"},
    });
    match claims {
        Value::Object(claims) => claims,
        _ => unreachable!(),
    }
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn decoded(part: &str) -> Value {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}
