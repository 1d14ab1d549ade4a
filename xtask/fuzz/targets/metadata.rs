//! Metadata: two JSON objects separated by a zero byte; the second is merged into the first (API-13, API-14).

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value};
use vestry_domain::metadata::Metadata;
use vestry_fuzz::input::part;

fuzz_target!(|data: &[u8]| {
    let (object, change) = part(data);
    let Ok(object) = serde_json::from_slice::<Map<String, Value>>(object) else {
        return;
    };
    let Ok(metadata) = Metadata::new(object) else {
        return;
    };
    let text = serde_json::to_string(metadata.as_object()).unwrap();
    let stored = Metadata::stored(serde_json::from_str(&text).unwrap());
    assert_eq!(stored, metadata, "stored and read again");
    let Ok(change) = serde_json::from_slice::<Map<String, Value>>(change) else {
        return;
    };
    let Ok(merged) = metadata.merged(&change) else {
        return;
    };
    if change.is_empty() {
        assert!(merged.as_object().is_empty(), "cleared");
        return;
    }
    for (key, value) in merged.as_object() {
        let expected = match change.get(key) {
            Some(changed) => changed,
            None => &metadata.as_object()[key],
        };
        assert_eq!(value, expected, "{key}");
    }
    for (key, value) in &change {
        assert_eq!(
            merged.as_object().contains_key(key),
            !value.is_null(),
            "{key}"
        );
    }
    for key in metadata.as_object().keys() {
        assert!(
            merged.as_object().contains_key(key) || change.contains_key(key),
            "{key}"
        );
    }
    assert_eq!(merged.merged(&change), Ok(merged), "merged twice");
});
