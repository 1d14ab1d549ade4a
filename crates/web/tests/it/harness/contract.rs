//! The API description, used to check every response.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use jsonschema::Validator;
use serde_json::{Value, json};

use super::{API, Response};

/// The description in a form that can be queried.
pub(crate) struct Described {
    pub(crate) document: Value,
    operations: Vec<Operation>,
    error: Arc<Validator>,
}

/// A method of a path.
pub(crate) struct Operation {
    /// The operationId.
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) is_keyed: bool,
    pub(crate) has_body: bool,
    /// Names of the fields of the body.
    pub(crate) fields: Vec<String>,
    responses: HashMap<u16, Contents>,
}

/// Schemas by content type; a redirect has no body, and the type `""`.
struct Contents(HashMap<String, Arc<Validator>>);

/// The description of the API under test.
pub(crate) fn described() -> &'static Described {
    static DESCRIBED: LazyLock<Described> = LazyLock::new(|| {
        let document = serde_json::from_str(API.openapi()).unwrap();
        Described::new(document)
    });
    &DESCRIBED
}

/// Panics unless the description allows the response to this request.
#[track_caller]
pub(super) fn check(method: &str, path: &str, response: &Response, is_limited: bool) {
    let shown = || format!("{method} {path}: {} {}", response.status, response.text);
    assert!(
        response.header("x-request-id").is_some(),
        "no X-Request-Id: {}",
        shown()
    );
    // A browser's preflight request is not a call of the API.
    if method == "OPTIONS" && response.status == 204 {
        assert!(response.text.is_empty(), "a body: {}", shown());
        return;
    }
    let path = path.split('?').next().unwrap();
    let operations = described().of_path(path);
    let operation = operations
        .iter()
        .find(|operation| operation.method == method);
    if method == "HEAD" {
        assert!(response.text.is_empty(), "a body for HEAD: {}", shown());
        return;
    }
    let contents = match operation {
        Some(operation) => operation.responses.get(&response.status),
        None => operations
            .iter()
            .find_map(|other| other.responses.get(&response.status)),
    };
    let kind = response.header("content-type").unwrap_or_default();
    let content_type = kind.split(';').next().unwrap();
    let schema = match contents {
        Some(contents) => contents.0.get(content_type),
        None if operations.is_empty() && [400, 404].contains(&response.status) => {
            Some(&described().error).filter(|_| content_type == "application/json")
        }
        None => panic!("not in the description: {}", shown()),
    };
    let schema = schema.unwrap_or_else(|| panic!("not with this content: {}", shown()));
    if (300..400).contains(&response.status) {
        assert!(response.header("location").is_some(), "{}", shown());
    }
    let body = if content_type == "application/json" {
        response.body.clone()
    } else {
        Value::String(response.text.clone())
    };
    if let Err(error) = schema.validate(&body) {
        panic!("{} at {}: {}", error, error.instance_path(), shown());
    }
    let is_page = content_type == "text/html";
    if response.status >= 400 {
        if !is_page {
            check_refusal_body(response);
        }
        check_refusal_headers(response);
    }
    let is_keyed = operations.iter().any(|operation| operation.is_keyed);
    let before_the_limit = ["missing_api_key", "invalid_api_key", "https_required"];
    let hidden = response.code() == "not_found" && response.param() == Some("route");
    let is_before =
        before_the_limit.contains(&response.code()) || (is_page && response.status == 401);
    if is_limited && is_keyed && !hidden && !is_before {
        for name in [
            "x-ratelimit-limit",
            "x-ratelimit-remaining",
            "x-ratelimit-reset",
        ] {
            let value = response
                .header(name)
                .unwrap_or_else(|| panic!("no {name}: {}", shown()));
            assert!(value.parse::<u64>().is_ok(), "{name}: {value}");
        }
    }
}

/// Asserts that the redundant parts of the error body agree.
#[track_caller]
fn check_refusal_body(response: &Response) {
    let body = &response.body;
    assert_eq!(body["status_code"], response.status, "{}", response.text);
    assert_eq!(
        body["error_type"], body["error"]["code"],
        "{}",
        response.text
    );
    assert_eq!(
        body["error_message"], body["error"]["message"],
        "{}",
        response.text
    );
    assert_eq!(
        body["request_id"].as_str(),
        response.header("x-request-id"),
        "{}",
        response.text
    );
}

/// Headers that are required for some kinds of refusals and absent from others.
#[track_caller]
fn check_refusal_headers(response: &Response) {
    let retry_after = response
        .header("retry-after")
        .map(|value| value.parse::<u64>().unwrap());
    // Waiting makes sense for a running duplicate, but not for another request with the same key.
    let is_twin = response.code() == "idempotency_key_reused" && retry_after.is_some();
    assert_eq!(
        retry_after.is_some(),
        [429, 503].contains(&response.status) || is_twin,
        "{}",
        response.text
    );
    assert_ne!(retry_after, Some(0));
    let challenged = response.header("www-authenticate").is_some();
    assert_eq!(challenged, response.status == 401, "{}", response.text);
    assert_eq!(
        response.header("allow").is_some(),
        response.status == 405,
        "{}",
        response.text
    );
}

impl Described {
    fn new(document: Value) -> Self {
        let mut validators = Validators {
            document: &document,
            built: HashMap::new(),
        };
        let mut operations = Vec::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                operations.push(Operation::new(&mut validators, path, method, operation));
            }
        }
        let error = json!({ "$ref": "#/components/schemas/Error" });
        let error = validators.of(&error);
        Self {
            document,
            operations,
            error,
        }
    }

    /// All operations of an App's own API.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Operation> {
        let operations = self.operations.iter();
        operations.filter(|operation| !operation.path.starts_with("/v1/manage"))
    }

    /// The operations of a path; a fixed segment takes precedence over a parameter.
    fn of_path(&self, path: &str) -> Vec<&Operation> {
        let exact: Vec<&Operation> = self
            .operations
            .iter()
            .filter(|operation| operation.path == path)
            .collect();
        if !exact.is_empty() {
            return exact;
        }
        self.operations
            .iter()
            .filter(|operation| operation.has_path(path))
            .collect()
    }
}

impl Operation {
    fn new(validators: &mut Validators<'_>, path: &str, method: &str, operation: &Value) -> Self {
        let document = validators.document;
        let responses = operation["responses"].as_object().unwrap().iter();
        let responses = responses.map(|(status, response)| {
            let place = response["$ref"].as_str();
            let shared = place.and_then(|place| document.pointer(place.trim_start_matches('#')));
            let content = shared.unwrap_or(response)["content"].as_object();
            let mut contents: HashMap<_, _> = content
                .into_iter()
                .flatten()
                .map(|(kind, content)| (kind.clone(), validators.of(&content["schema"])))
                .collect();
            if contents.is_empty() {
                let nothing = validators.of(&json!({ "const": "" }));
                contents.insert(String::new(), nothing);
            }
            (status.parse().unwrap(), Contents(contents))
        });
        Self {
            method: method.to_uppercase(),
            path: path.to_owned(),
            id: operation["operationId"].as_str().unwrap().to_owned(),
            is_keyed: !operation["security"].as_array().unwrap().is_empty(),
            // For JSON; forms posted by browsers do not concern clients.
            has_body: operation
                .pointer("/requestBody/content/application~1json")
                .is_some(),
            fields: fields(document, operation),
            responses: responses.collect(),
        }
    }

    fn has_path(&self, path: &str) -> bool {
        let (ours, theirs) = (self.path.split('/'), path.split('/'));
        ours.clone().count() == theirs.clone().count()
            && ours.zip(theirs).all(|(ours, theirs)| {
                ours == theirs || (ours.starts_with('{') && !theirs.is_empty())
            })
    }
}

fn fields(document: &Value, operation: &Value) -> Vec<String> {
    let schema = operation.pointer("/requestBody/content/application~1json/schema");
    let name = schema.and_then(|schema| schema["$ref"].as_str());
    let schema = name.and_then(|name| document.pointer(name.trim_start_matches('#')));
    let properties = schema.and_then(|schema| schema["properties"].as_object());
    properties
        .into_iter()
        .flatten()
        .map(|(name, _)| name.clone())
        .collect()
}

/// The validators of the schemas. Nearly all refusals have the same schema, and a validator takes as long to build as some tests run.
struct Validators<'a> {
    document: &'a Value,
    built: HashMap<String, Arc<Validator>>,
}

impl Validators<'_> {
    fn of(&mut self, schema: &Value) -> Arc<Validator> {
        let build = || Arc::new(validator(self.document, schema));
        let built = self.built.entry(schema.to_string()).or_insert_with(build);
        Arc::clone(built)
    }
}

/// A schema of the description, with everything that it references.
fn validator(document: &Value, schema: &Value) -> Validator {
    let mut schema = schema.clone();
    schema["components"] = document["components"].clone();
    jsonschema::draft202012::options()
        .should_validate_formats(true)
        .build(&schema)
        .unwrap()
}
