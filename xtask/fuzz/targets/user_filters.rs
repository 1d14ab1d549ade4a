//! Filters of `users/search`, as JSON. An accepted filter has a condition for each field.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use vestry_domain::search::{RawCondition, UserFilter};

/// The conditions of a body, as the edge hands them on.
fn conditions(fields: &[Value]) -> Vec<RawCondition> {
    let text = |field: &Value, name: &str| field[name].as_str().unwrap_or_default().to_owned();
    let conditions = fields.iter().map(|field| RawCondition {
        field: text(field, "field"),
        operator: text(field, "operator"),
        value: field.get("value").cloned(),
        values: field.get("values").and_then(Value::as_array).cloned(),
        second_value: field.get("second_value").cloned(),
    });
    conditions.collect()
}

fuzz_target!(|data: &[u8]| {
    let Ok(filters) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    let operator = filters["operator"].as_str().unwrap_or_default();
    let Some(fields) = filters["fields"].as_array() else {
        return;
    };
    let fields = conditions(fields);
    match UserFilter::parse(operator, &fields) {
        Ok(filter) => {
            assert_eq!(filter.conditions.len(), fields.len());
            let _ = filter.only_statuses();
        }
        Err(invalid) => assert!(invalid.param.starts_with("filters"), "{invalid:?}"),
    }
});
