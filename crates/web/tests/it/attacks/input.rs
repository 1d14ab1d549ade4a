//! Attack 26: input that nobody would send.

use serde_json::{Map, Value, json};
use vestry_contract::rng::{Rng, seed};

use crate::rig::{Api, described, on_both};

on_both! {
    attack_26_no_input_breaks_an_endpoint
}

/// Values of every kind, the ugly ones first.
fn value(rng: &mut Rng) -> Value {
    let texts = [
        "",
        "\u{0}",
        "\u{feff}",
        "../../etc/passwd",
        "' OR 1=1 --",
        "{{7*7}}",
        "%00",
        "\u{202e}",
        "a\r\nBcc: evil@example.com",
        "user_000000000000000000000000000",
        "email_zzzzzzzzzzzzzzzzzzzzzzzzzzz",
        "+15005550006",
        "ada@example.com",
        "0x",
        "eyJhbGciOiJub25lIn0.e30.",
        "𝕒𝕕𝕒@example.com",
        "1e400",
    ];
    match rng.below(12) {
        0 => Value::Null,
        1 => json!(rng.next().is_multiple_of(2)),
        2 => json!(-1),
        3 => json!(i64::MAX),
        4 => json!(u64::MAX),
        5 => json!(1.5),
        6 => json!("x".repeat(rng.below(5_000))),
        7 => json!([[], {}, null]),
        8 => json!({"$ne": null, "a": {"b": {"c": [1]}}}),
        9 => json!("e\u{301}".repeat(rng.below(2_000))),
        _ => json!(texts[rng.below(texts.len())]),
    }
}

/// No panic, no 500, on any endpoint, whatever its fields hold; and a body that is no JSON at all.
async fn attack_26_no_input_breaks_an_endpoint(api: &Api) {
    const ROUNDS: usize = 40;
    let mut rng = Rng::from_seed(seed());
    for operation in described().all() {
        let mut path = operation.path.clone();
        for (name, id) in [
            ("{user_id}", "user"),
            ("{wallet_id}", "wallet"),
            ("{app_id}", "app"),
        ] {
            path = path.replace(name, &format!("{id}_000000000000000000000000000"));
        }
        for _ in 0..ROUNDS {
            let answer = if operation.has_body && rng.below(8) > 0 {
                let mut body = Map::new();
                for field in &operation.fields {
                    if rng.below(3) > 0 {
                        body.insert(field.clone(), value(&mut rng));
                    }
                }
                api.test()
                    .send(&operation.method, &path, Some(Value::Object(body)))
                    .await
            } else {
                let mut bytes = vec![0; rng.below(64)];
                rng.fill(&mut bytes);
                let client = api.test().header("Content-Type", "application/json");
                client.send_bytes(&operation.method, &path, &bytes).await
            };
            assert!(
                answer.status < 500,
                "{} {path}: {}",
                operation.method,
                answer.text
            );
        }
    }
}
