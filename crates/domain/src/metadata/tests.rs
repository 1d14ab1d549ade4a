//! Limits of metadata. The laws of merging are tested where updating a user uses them.

use serde_json::json;

use super::*;

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

fn nested(levels: usize) -> Value {
    (1..levels).fold(json!({}), |inner, _| json!({ "a": inner }))
}

#[test]
fn within_the_limits() {
    let keys: Map<String, Value> = (0..MAX_KEYS).map(|n| (n.to_string(), json!(n))).collect();
    let overhead = json!({ "a": "" }).to_string().len();
    for value in [
        json!({}),
        Value::Object(keys),
        nested(MAX_DEPTH),
        json!({ "a": "x".repeat(MAX_BYTES - overhead) }),
    ] {
        assert!(Metadata::new(object(value.clone())).is_ok(), "{value}");
    }
}

#[test]
fn over_the_limits() {
    let keys: Map<String, Value> = (0..=MAX_KEYS).map(|n| (n.to_string(), json!(n))).collect();
    let overhead = json!({ "a": "" }).to_string().len();
    let arrays = (1..=MAX_DEPTH).fold(json!([]), |inner, _| json!([inner]));
    for value in [
        Value::Object(keys),
        nested(MAX_DEPTH + 1),
        json!({ "a": arrays }),
        json!({ "a": "x".repeat(MAX_BYTES - overhead + 1) }),
        json!({ "a\0": 1 }),
        json!({ "a": ["\0"] }),
        json!({ "a": { "b\0": 1 } }),
    ] {
        let refused = Metadata::new(object(value)).expect_err("over a limit");
        assert_eq!(refused.param, "metadata");
    }
}

#[test]
fn a_null_key_is_an_absent_key() {
    let metadata = Metadata::new(object(json!({ "a": null, "b": { "c": null } }))).unwrap();
    assert_eq!(
        Value::Object(metadata.as_object().clone()),
        json!({ "b": { "c": null } })
    );
}

#[test]
fn merging_follows_the_users_document() {
    let stored = json!({ "a": 1, "b": { "x": 1, "y": 2 }, "c": [1, 2] });
    for (change, expected) in [
        (
            json!({ "d": 4 }),
            json!({ "a": 1, "b": { "x": 1, "y": 2 }, "c": [1, 2], "d": 4 }),
        ),
        (
            json!({ "b": { "x": 3 } }),
            json!({ "a": 1, "b": { "x": 3 }, "c": [1, 2] }),
        ),
        (
            json!({ "c": [3] }),
            json!({ "a": 1, "b": { "x": 1, "y": 2 }, "c": [3] }),
        ),
        (
            json!({ "a": null, "zz": null }),
            json!({ "b": { "x": 1, "y": 2 }, "c": [1, 2] }),
        ),
        (json!({}), json!({})),
    ] {
        let merged = Metadata::stored(object(stored.clone()))
            .merged(&object(change.clone()))
            .unwrap();
        assert_eq!(
            Value::Object(merged.as_object().clone()),
            expected,
            "after {change}"
        );
    }
}
