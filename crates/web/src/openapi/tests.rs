use std::collections::BTreeSet;

use serde_json::{Value, json};
use vestry_domain::event::EventKind;
use vestry_edge::Api;

use crate::API;

fn value() -> Value {
    serde_json::from_str(API.openapi()).unwrap()
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
            assert!(parameter["description"].is_string(), "{call}: {parameter}");
        }
    }
}

#[test]
fn every_call_describes_its_errors() {
    for (call, operation) in operations(&value()) {
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
    parameters.any(|parameter| parameter["name"] == "Idempotency-Key")
}

/// Every call that may change something accepts a key, except those listed here, and describes the error for a reused key.
#[test]
fn calls_that_change_something_take_an_idempotency_key() {
    let mut without = BTreeSet::new();
    for (call, operation) in operations(&value()) {
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
            let headers = &operation["responses"][status]["headers"];
            assert!(
                headers.get("Idempotent-Replayed").is_some(),
                "{call}: {status}"
            );
        }
        let description = operation["responses"]["409"]["description"].as_str();
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
