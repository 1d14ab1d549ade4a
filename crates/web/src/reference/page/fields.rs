//! Tables of an object's fields.

use serde_json::Value;

use super::html::{Html, anchor};
use super::text;

const SCHEMAS: &str = "#/components/schemas/";

/// Whether a schema is shown at its call; all others have a section of their own.
pub(super) fn belongs_to_one_call(name: &str) -> bool {
    name.ends_with("Request") || name.ends_with("Response")
}

/// The schema that a reference points to; any other schema is returned unchanged.
pub(super) fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    name_of(schema)
        .and_then(|name| document.pointer(&format!("/components/schemas/{name}")))
        .unwrap_or(schema)
}

/// The parameter or response that a reference points to; any other value is returned unchanged.
pub(super) fn component<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let place = value.get("$ref").and_then(Value::as_str);
    place
        .and_then(|place| document.pointer(place.strip_prefix('#')?))
        .unwrap_or(value)
}

/// The schema name in a reference.
pub(super) fn name_of(schema: &Value) -> Option<&str> {
    schema
        .get("$ref")
        .and_then(Value::as_str)?
        .strip_prefix(SCHEMAS)
}

/// A table with one row per field.
pub(super) fn table(page: &mut Html, document: &Value, schema: &Value) {
    let properties = resolved(document, schema)
        .get("properties")
        .and_then(Value::as_object);
    let Some(properties) = properties.filter(|properties| !properties.is_empty()) else {
        return;
    };
    let required = resolved(document, schema)
        .get("required")
        .and_then(Value::as_array);
    page.raw("<div class=\"tail\"><table>\n<tr><th>Field</th><th>Type</th><th>Meaning</th></tr>\n");
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
    let (needed, optional): (Vec<_>, Vec<_>) = properties
        .iter()
        .partition(|(name, _)| is_required(name.as_str()));
    for (name, field) in needed.into_iter().chain(optional) {
        let meaning = text(field, "/description");
        row(page, name, field, is_required(name), meaning);
    }
    page.raw("</table></div>\n");
}

/// The row of a field or parameter: name, type, bounds and meaning.
pub(super) fn row(page: &mut Html, name: &str, schema: &Value, is_required: bool, meaning: &str) {
    page.raw("<tr><td>");
    page.code(name);
    if is_required {
        page.raw(" <span class=\"required\">required</span>");
    }
    page.raw("</td><td>");
    kind(page, schema);
    page.raw("</td><td>");
    page.prose(meaning);
    let bounds = bounds(schema);
    if !bounds.is_empty() {
        page.raw("<span class=\"soft\">");
        page.text(&bounds.join("; "));
        page.raw("</span>");
    }
    page.raw("</td></tr>\n");
}

fn kind(page: &mut Html, schema: &Value) {
    if let Some(name) = name_of(schema) {
        return page.link(&anchor("object", name), name);
    }
    if let Some(choices) = schema.get("oneOf").and_then(Value::as_array) {
        for (index, choice) in choices.iter().enumerate() {
            page.raw(if index == 0 { "" } else { " or " });
            kind(page, choice);
        }
        return;
    }
    match schema.get("type") {
        Some(Value::String(name)) if name == "array" => {
            page.raw("array of ");
            kind(page, schema.get("items").unwrap_or(&Value::Null));
        }
        Some(Value::String(name)) => page.text(name),
        Some(Value::Array(names)) => {
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
            page.text(&names.join(" or "));
        }
        _ => page.raw("any"),
    }
}

fn bounds(schema: &Value) -> Vec<String> {
    let number = |name: &str| schema.get(name).filter(|value| value.is_number());
    let mut bounds = Vec::new();
    match (number("minimum"), number("maximum")) {
        (Some(least), Some(most)) => bounds.push(format!("{least} to {most}")),
        (Some(least), None) => bounds.push(format!("at least {least}")),
        (None, Some(most)) => bounds.push(format!("at most {most}")),
        (None, None) => {}
    }
    if let Some(most) = number("maxLength") {
        bounds.push(format!("at most {most} characters"));
    }
    if let Some(most) = number("maxItems") {
        bounds.push(format!("at most {most} items"));
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        bounds.push(format!("matches {pattern}"));
    }
    if let Some(names) = schema.get("enum").and_then(Value::as_array) {
        let names: Vec<String> = names.iter().map(Value::to_string).collect();
        bounds.push(format!("one of {}", names.join(", ")));
    }
    if let Some(default) = schema.get("default") {
        bounds.push(format!("default {default}"));
    }
    bounds
}
