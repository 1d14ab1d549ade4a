//! An example call to copy and paste.

use serde_json::{Map, Value};

use super::fields::resolved;

/// The call as a `curl` command, with a body built from the examples of its fields.
pub(super) fn curl(document: &Value, method: &str, path: &str, operation: &Value) -> String {
    let mut lines = vec![format!(
        "curl -X {method} \"$VESTRY_URL{path}{}\"",
        query(operation)
    )];
    let keyed = operation
        .get("security")
        .and_then(Value::as_array)
        .is_some_and(|schemes| !schemes.is_empty());
    if keyed {
        lines.push("-H \"Authorization: Bearer $VESTRY_KEY\"".to_owned());
    }
    if let Some(schema) = operation.pointer("/requestBody/content/application~1json/schema") {
        let body = Value::Object(body(resolved(document, schema)));
        lines.push("-H \"Content-Type: application/json\"".to_owned());
        lines.push(format!("-d '{body}'"));
    }
    lines.join(" \\\n  ")
}

/// The query with only the required parameters.
fn query(operation: &Value) -> String {
    let parameters = operation.get("parameters").and_then(Value::as_array);
    let required = parameters.into_iter().flatten().filter(|parameter| {
        parameter.get("in").is_some_and(|place| place == "query")
            && parameter
                .get("required")
                .is_some_and(|required| required == true)
    });
    let pairs: Vec<String> = required
        .filter_map(|parameter| parameter.get("name").and_then(Value::as_str))
        .map(|name| format!("{name}={{{name}}}"))
        .collect();
    if pairs.is_empty() {
        String::new()
    } else {
        format!("?{}", pairs.join("&"))
    }
}

/// Required fields, and fields with an example. A field without an example is filled with its own name.
fn body(schema: &Value) -> Map<String, Value> {
    let mut body = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    for (name, field) in properties.into_iter().flatten() {
        let example = field.pointer("/examples/0").cloned();
        let is_required = required.is_some_and(|names| names.iter().any(|known| known == name));
        let value = example.or_else(|| is_required.then(|| Value::String(format!("{{{name}}}"))));
        body.extend(value.map(|value| (name.clone(), value)));
    }
    if body.is_empty() {
        let first = properties.and_then(|properties| properties.keys().next());
        body.extend(first.map(|name| (name.clone(), Value::String(format!("{{{name}}}")))));
    }
    body
}
