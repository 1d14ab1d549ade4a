use std::collections::BTreeSet;

use serde_json::{Value, json};
use vestry_domain::event::EventKind;
use vestry_edge::Api;

use crate::API;

fn value() -> Value {
    serde_json::from_str(API.openapi()).unwrap()
}

/// The component that a reference points to, or the value itself.
fn shared<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    value["$ref"].as_str().map_or(value, |place| {
        document.pointer(place.trim_start_matches('#')).unwrap()
    })
}

fn operations(document: &Value) -> Vec<(String, Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let operations = paths.flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (format!("{method} {path}"), operation.clone()))
    });
    operations.collect()
}

fn schemas(document: &Value) -> Vec<(String, Value)> {
    let schemas = document["components"]["schemas"]
        .as_object()
        .unwrap()
        .iter();
    schemas
        .map(|(name, schema)| (name.clone(), schema.clone()))
        .collect()
}

#[test]
fn every_call_has_a_unique_id_and_a_summary() {
    let document = value();
    let operations = operations(&document);
    let names: BTreeSet<&str> = operations
        .iter()
        .filter_map(|(_, operation)| operation["operationId"].as_str())
        .collect();
    assert_eq!(names.len(), operations.len());
    for (call, operation) in &operations {
        assert!(
            operation["summary"]
                .as_str()
                .is_some_and(|summary| summary.len() > 5),
            "{call}"
        );
        assert_eq!(
            operation["tags"].as_array().map(Vec::len),
            Some(1),
            "{call}"
        );
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let parameter = shared(&document, parameter);
            assert!(parameter["description"].is_string(), "{call}: {parameter}");
        }
    }
}

#[test]
fn every_call_describes_its_errors() {
    let document = value();
    for (call, operation) in operations(&document) {
        let responses = operation["responses"].as_object().unwrap();
        let redirects = |status: &str| ["302", "303"].contains(&status);
        let mut expected = vec!["400", "405", "500", "503"];
        assert!(
            responses
                .keys()
                .any(|status| status == "200" || redirects(status)),
            "{call}"
        );
        if operation["security"] != json!([]) {
            expected.extend(["401", "403", "429"]);
        }
        if operation.get("requestBody").is_some() {
            expected.extend(["413", "415"]);
        }
        if call.contains('{') {
            expected.push("404");
        }
        for status in expected {
            assert!(responses.contains_key(status), "{call}: {status}");
        }
        for (status, response) in responses
            .iter()
            .filter(|(status, _)| *status != "200" && !redirects(status))
        {
            let response = shared(&document, response);
            let schema = &response["content"]["application/json"]["schema"];
            assert_eq!(
                schema,
                &json!({"$ref": "#/components/schemas/Error"}),
                "{call}: {status}"
            );
            let retries = ["429", "503"].contains(&status.as_str());
            assert_eq!(
                response["headers"].get("Retry-After").is_some(),
                retries || (status == "409" && takes_a_key(&operation)),
                "{call}: {status}"
            );
        }
    }
}

fn takes_a_key(operation: &Value) -> bool {
    let mut parameters = operation["parameters"].as_array().into_iter().flatten();
    parameters.any(|parameter| parameter["$ref"] == "#/components/parameters/Idempotency-Key")
}

/// Every call that may change something accepts a key, except those listed here, and describes the error for a reused key.
#[test]
fn calls_that_change_something_take_an_idempotency_key() {
    let mut without = BTreeSet::new();
    let document = value();
    for (call, operation) in operations(&document) {
        if !takes_a_key(&operation) {
            assert!(
                operation["responses"]["200"]["headers"]
                    .get("Idempotent-Replayed")
                    .is_none()
            );
            without.insert(call);
            continue;
        }
        for status in ["200", "400", "409"] {
            let response = shared(&document, &operation["responses"][status]);
            let headers = &response["headers"];
            assert!(
                headers.get("Idempotent-Replayed").is_some(),
                "{call}: {status}"
            );
        }
        let conflict = shared(&document, &operation["responses"]["409"]);
        let description = conflict["description"].as_str();
        assert!(
            description.is_some_and(|description| description.contains("idempotency_key_reused")),
            "{call}"
        );
    }
    without.retain(|call| !call.starts_with("get ") && !call.contains("/v1/test/"));
    assert_eq!(
        without.iter().map(String::as_str).collect::<Vec<_>>(),
        [
            // From a browser, without an API key.
            "post /v1/auth/oauth/callback/{oauthcb_id}",
            "post /v1/auth/passwords/strength_check",
            "post /v1/auth/sessions/verify",
            "post /v1/auth/totps/recovery_codes",
            "post /v1/auth/users/search",
        ]
    );
}

/// Responses are described completely; requests may have further fields.
#[test]
fn responses_are_closed_and_requests_are_open() {
    for (name, schema) in schemas(&value()) {
        // Further members of a JWK depend on its kind and cannot be limited here. Those of `OauthUser` are providers, and
        // `EventEnvelope` is the common part of all event types.
        let is_open = ["Jwk", "OauthUser", "EventEnvelope"].contains(&name.as_str());
        if schema["type"] != "object" || is_open {
            continue;
        }
        let is_sent = name.ends_with("Request") || name.ends_with("Input");
        let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        assert_eq!(is_closed, !is_sent, "{name}");
    }
}

#[test]
fn every_reference_resolves() {
    let document = value();
    let text = document.to_string();
    let references: BTreeSet<&str> = text
        .split("\"$ref\":\"#")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert!(references.len() > 30, "{}", references.len());
    for reference in references {
        assert!(document.pointer(reference).is_some(), "{reference}");
    }
}

#[test]
fn an_optional_body_is_not_described_as_null() {
    let document = value();
    let body = &document["paths"]["/v1/auth/sessions/delete_all"]["delete"]["requestBody"];
    assert_eq!(body["required"], json!(false));
    assert_eq!(
        body["content"]["application/json"]["schema"],
        json!({"$ref": "#/components/schemas/SessionDeleteAllRequest"})
    );
    let body = &document["paths"]["/v1/auth/users/create"]["post"]["requestBody"];
    assert_eq!(body["required"], json!(true));
}

#[test]
fn the_document_is_the_same_every_time() {
    static AGAIN: Api = Api::new(crate::description, &[crate::endpoints]);
    let text = API.openapi();
    assert_eq!(text, AGAIN.openapi());
    assert!(text.ends_with("}\n") && !text.ends_with("\n\n"));
}

/// EV-C2: each event type is described as a webhook, whose schema has that type.
#[test]
fn ev_c2_every_event_type_is_a_webhook() {
    let document = value();
    let webhooks = document["webhooks"].as_object().unwrap();
    let described: BTreeSet<&str> = webhooks.keys().map(String::as_str).collect();
    let all: BTreeSet<&str> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(described, all);
    for (name, item) in webhooks {
        let operation = &item["post"];
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let reference = schema["$ref"].as_str().unwrap();
        let event = document
            .pointer(reference.strip_prefix('#').unwrap())
            .unwrap();
        assert!(
            event.to_string().contains(&format!("\"{name}\"")),
            "{reference}: {name}"
        );
        let headers = operation["parameters"].as_array().unwrap();
        assert_eq!(headers.len(), 3, "{name}");
    }
}

/// SDK-7: errors are described once for all calls that return them, and the App's API fits into 400 kB.
#[test]
fn sdk_7_responses_are_shared() {
    let document = value();
    for (call, operation) in operations(&document) {
        for (status, response) in operation["responses"].as_object().unwrap() {
            let is_error = status.starts_with(['4', '5']);
            assert_eq!(response.get("$ref").is_some(), is_error, "{call}: {status}");
        }
    }
    let length = document.to_string().len();
    assert!(length <= 400_000, "{length}");
}

/// SDK-8: each call has a name for client libraries that no other call has, or a reason why they leave it out.
#[test]
fn sdk_8_every_call_has_a_place_in_client_libraries() {
    let document = value();
    let mut names = BTreeSet::new();
    for (call, operation) in operations(&document) {
        if let Some(reason) = operation["x-sdk-skip"].as_str() {
            assert!(!reason.is_empty(), "{call}");
            continue;
        }
        let name = operation["x-sdk-name"].as_str();
        let name = name.unwrap_or_else(|| panic!("no place in client libraries: {call}"));
        assert!(names.insert(name.to_owned()), "two calls {name}");
        let repeated = operation["x-idempotency"].as_str().unwrap();
        assert!(["key", "safe", "never"].contains(&repeated), "{call}");
        assert_eq!(repeated == "key", takes_a_key(&operation), "{call}");
        assert!(repeated != "safe" || !call.starts_with("delete"), "{call}");
        let Some(page) = operation.get("x-sdk-page") else {
            continue;
        };
        let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"];
        let fields = &shared(&document, schema)["properties"];
        let items = &fields[page["items"].as_str().unwrap()];
        assert_eq!(items["type"], "array", "{call}");
        assert_eq!(fields["has_more"]["type"], "boolean", "{call}");
        let next = page["next"].as_str().unwrap();
        assert!(next == "last_id" || fields.get(next).is_some(), "{call}");
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        let sent = &shared(&document, body)["properties"];
        let mut parameters = operation["parameters"].as_array().into_iter().flatten();
        assert!(
            sent.get(page["cursor"].as_str().unwrap()).is_some()
                || parameters.any(|parameter| parameter["name"] == page["cursor"]),
            "{call}"
        );
    }
    // Each resource is an object, so none has the name of a call.
    for name in &names {
        let resource = format!("{name}.");
        assert!(
            !names.iter().any(|other| other.starts_with(&resource)),
            "{name}"
        );
    }
}

/// SDK-9: every list of words and every object within another has a name, and `allOf` defines a property once.
#[test]
fn sdk_9_schemas_within_schemas_have_names() {
    let document = value();
    for (name, schema) in schemas(&document) {
        let parts = schema["allOf"].as_array().cloned();
        let mut properties = BTreeSet::new();
        for part in parts.clone().unwrap_or_default() {
            let part = shared(&document, &part);
            for property in part["properties"].as_object().unwrap().keys() {
                assert!(properties.insert(property.clone()), "{name}: {property}");
            }
        }
        for part in parts.unwrap_or_else(|| vec![schema.clone()]) {
            for (property, value) in part["properties"].as_object().into_iter().flatten() {
                assert_named(value, &format!("{name}.{property}"));
            }
        }
    }
}

fn assert_named(schema: &Value, place: &str) {
    let words = schema["enum"].as_array().map_or(0, Vec::len);
    // A single word is a constant.
    assert!(words <= 1, "{place}");
    assert!(schema.get("properties").is_none(), "{place}");
    for name in ["oneOf", "anyOf", "allOf"] {
        for choice in schema[name].as_array().into_iter().flatten() {
            assert_named(choice, place);
        }
    }
    if let Some(items) = schema.get("items") {
        assert_named(items, place);
    }
}
