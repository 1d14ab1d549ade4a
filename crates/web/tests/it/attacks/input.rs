//! Attack 26: malformed input.

use serde_json::{Map, Value, json};
use vestry_contract::rng::{Rng, seed};

use super::tenants::{Names, filler, own};
use crate::harness::{Api, described, on_both};

on_both! {
    attack_26_no_input_breaks_an_endpoint
}

/// Values of every kind, the worst ones first.
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
        "é",
        "日本",
        "+٣٤",
    ];
    // Mostly strings, because those are parsed.
    match rng.below(20) {
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

/// A valid value for a field, as far as one value can be valid everywhere.
fn right(names: &Names, field: &str) -> Option<Value> {
    let known = names.get(field).cloned().or_else(|| filler(field));
    known.or_else(|| match field {
        "email" => Some(json!("ada@example.com")),
        "phone_number" => Some(json!("+14155552671")),
        "expires_in" => Some(json!(5)),
        _ => None,
    })
}

/// A body with one odd field, all others being valid so that the request gets as far as that one; or with every field odd.
fn body(rng: &mut Rng, names: &Names, fields: &[String]) -> Value {
    let mut body = Map::new();
    let odd = rng.below(fields.len().max(1));
    let all_odd = rng.below(4) == 0;
    for (number, field) in fields.iter().enumerate() {
        if all_odd || number == odd {
            body.insert(field.clone(), value(rng));
        } else if let Some(right) = right(names, field) {
            body.insert(field.clone(), right);
        }
    }
    Value::Object(body)
}

/// No panic and no 500 on any endpoint, whatever its fields hold, nor for a body that is not JSON.
async fn attack_26_no_input_breaks_an_endpoint(api: &Api) {
    // On each store. `cargo xtask api-fuzz` sends thousands more.
    const ROUNDS: usize = 30;
    let mut rng = Rng::from_seed(seed());
    let names = own(api).await;
    for operation in described().all() {
        let mut path = operation.path.clone();
        for name in ["user", "wallet", "app"] {
            path = path.replace(
                &format!("{{{name}_id}}"),
                &format!("{name}_000000000000000000000000000"),
            );
        }
        for _ in 0..ROUNDS {
            let response = if operation.has_body && rng.below(8) > 0 {
                let body = body(&mut rng, &names, &operation.fields);
                api.test().send(&operation.method, &path, Some(body)).await
            } else {
                let mut bytes = vec![0; rng.below(64)];
                rng.fill(&mut bytes);
                let client = api.test().header("Content-Type", "application/json");
                client.send_bytes(&operation.method, &path, &bytes).await
            };
            assert!(
                response.status < 500,
                "attack 26: {} {path}: {}",
                operation.method,
                response.text
            );
        }
        // Send limits are not the subject of this test.
        api.pass(600);
    }
}
