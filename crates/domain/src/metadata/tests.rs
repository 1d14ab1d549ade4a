//! Limits of metadata. Merge rules are tested where users are updated.

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

/// API-15.
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
fn a_whole_object_keeps_its_nulls() {
    let sent = json!({ "a": null, "b": { "c": null } });
    let metadata = Metadata::new(object(sent.clone())).unwrap();
    assert_eq!(Value::Object(metadata.as_object().clone()), sent);
    // They are ordinary keys: a merge leaves them alone or deletes them.
    let merged = metadata.merged(&object(json!({ "d": 1 }))).unwrap();
    assert_eq!(merged.as_object().get("a"), Some(&Value::Null));
    let merged = metadata.merged(&object(json!({ "a": null }))).unwrap();
    assert_eq!(merged.as_object().get("a"), None);
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
