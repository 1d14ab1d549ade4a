//! The API description as the generators of types read it.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Map, Value, json};

use crate::failure::{Context, Failure};
use crate::project;

/// Schemas of every client, although no call names them.
const ALWAYS: &[&str] = &["Error"];
const SCHEMAS: &str = "#/components/schemas/";

/// The API description in the repository.
pub(super) struct Document(Value);

impl Document {
    pub(super) fn read() -> Result<Self, Failure> {
        let file = project::root().join("docs/openapi.json");
        let text = fs::read_to_string(&file).context("cannot read docs/openapi.json")?;
        let value = serde_json::from_str(&text).context("docs/openapi.json")?;
        Ok(Self(value))
    }

    /// The operations that client libraries have: path, method and description.
    pub(super) fn operations(&self) -> Vec<(&str, &str, &Value)> {
        let paths = self.0.get("paths").and_then(Value::as_object);
        let operations = paths.into_iter().flatten().flat_map(|(path, item)| {
            let methods = item.as_object().into_iter().flatten();
            methods.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
        });
        operations
            .filter(|(_, _, operation)| operation.get("x-sdk-name").is_some())
            .collect()
    }

    /// The component that a reference points to, or the value itself.
    pub(super) fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        let place = value.get("$ref").and_then(Value::as_str);
        place
            .and_then(|place| self.0.pointer(place.strip_prefix('#')?))
            .unwrap_or(value)
    }

    fn schema(&self, name: &str) -> Option<&Value> {
        self.0.pointer("/components/schemas")?.get(name)
    }

    /// The names of all schemas that calls need, sorted.
    pub(super) fn schemas(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for name in ALWAYS {
            self.collect(&json!({ "$ref": format!("{SCHEMAS}{name}") }), &mut names);
        }
        for (_, _, operation) in self.operations() {
            for place in ["/requestBody", "/responses/200"] {
                let part = operation.pointer(place).unwrap_or(&Value::Null);
                self.collect(part, &mut names);
            }
        }
        names
    }

    /// Adds the schemas to which a part of the document refers, directly or through others.
    fn collect(&self, part: &Value, names: &mut BTreeSet<String>) {
        match part {
            Value::Object(members) => {
                if let Some(name) = schema_name(part)
                    && names.insert(name.to_owned())
                {
                    self.collect(self.schema(name).unwrap_or(&Value::Null), names);
                }
                members
                    .values()
                    .for_each(|value| self.collect(value, names));
            }
            Value::Array(values) => values.iter().for_each(|value| self.collect(value, names)),
            _ => {}
        }
    }

    /// The document for TypeScript: the schemas as they are.
    pub(super) fn for_typescript(&self) -> Value {
        with_schemas(self.described(&self.schemas()))
    }

    /// The document for Python's models of everything except events.
    ///
    /// Requests are left out, because their fields are parameters of methods.
    pub(super) fn for_python(&self) -> Value {
        let mut names = self.schemas();
        names.retain(|name| !is_of_event(name) && !name.ends_with("Request"));
        let mut schemas = Value::Object(self.described(&names));
        widen(&mut schemas);
        place_elsewhere(&mut schemas, |name| {
            (name == "Event").then(|| "vestry._event.Event".to_owned())
        });
        match schemas {
            Value::Object(schemas) => with_schemas(schemas),
            _ => Value::Null,
        }
    }

    /// The document for Python's models of events, which load on first use.
    pub(super) fn for_python_events(&self) -> Value {
        let mut names = self.schemas();
        names.retain(|name| name != "Event" && is_of_event(name));
        let words: BTreeSet<String> = {
            let mut all = BTreeSet::new();
            for name in &names {
                self.collect(self.schema(name).unwrap_or(&Value::Null), &mut all);
            }
            all.difference(&names).cloned().collect()
        };
        let (shared, words): (BTreeSet<String>, BTreeSet<String>) =
            words.into_iter().partition(|name| {
                let schema = self.schema(name);
                schema.is_some_and(|schema| schema.get("properties").is_some())
            });
        names.extend(words);
        let mut schemas = Value::Object(self.described(&names));
        widen(&mut schemas);
        place_elsewhere(&mut schemas, |name| {
            shared
                .contains(name)
                .then(|| format!("vestry.generated.models.{name}"))
        });
        match schemas {
            Value::Object(schemas) => with_schemas(schemas),
            _ => Value::Null,
        }
    }

    /// The types of events and the names of their schemas.
    pub(super) fn events(&self) -> Vec<(String, String)> {
        let names = self.schemas();
        let events = names.iter().filter_map(|name| {
            let parts = self.schema(name)?.get("allOf")?.as_array()?;
            let words = parts
                .iter()
                .find_map(|part| part.pointer("/properties/type/enum/0"))?;
            Some((words.as_str()?.to_owned(), name.clone()))
        });
        events.collect()
    }

    fn described(&self, names: &BTreeSet<String>) -> Map<String, Value> {
        let described = names
            .iter()
            .filter_map(|name| Some((name.clone(), self.schema(name)?.clone())));
        described.collect()
    }
}

/// Whether a schema is of an event or of the union of all events.
fn is_of_event(name: &str) -> bool {
    name.ends_with("EventData")
        || name.ends_with("Event")
        || ["EventEnvelope", "EventFactor"].contains(&name)
}

/// The schema name in a reference.
pub(super) fn schema_name(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix(SCHEMAS)
}

fn with_schemas(schemas: Map<String, Value>) -> Value {
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Vestry", "version": "1" },
        "paths": {},
        "components": { "schemas": schemas },
    })
}

/// Removes what a client must not insist on: bounds, formats, closed objects, and closed lists of words.
fn widen(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                match (name.as_str(), member) {
                    ("properties", Value::Object(properties)) => {
                        properties.values_mut().for_each(widen);
                    }
                    (_, member) => widen(member),
                }
            }
            for bound in BOUNDS {
                members.remove(*bound);
            }
            if members.get("additionalProperties") == Some(&Value::Bool(false)) {
                members.remove("additionalProperties");
            }
            let words = members.get("enum").and_then(Value::as_array);
            if words.is_some_and(|words| words.len() > 1) {
                let words = members.remove("enum");
                members.remove("type");
                let known = json!({ "type": "string", "enum": words });
                members.insert("anyOf".to_owned(), json!([known, { "type": "string" }]));
            }
        }
        Value::Array(values) => values.iter_mut().for_each(widen),
        _ => {}
    }
}

const BOUNDS: &[&str] = &[
    "pattern",
    "format",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "default",
    "examples",
];

/// Replaces references to schemas whose models are in other modules.
fn place_elsewhere(schema: &mut Value, place: impl Fn(&str) -> Option<String> + Copy) {
    if let Some(place) = schema_name(schema).and_then(place) {
        *schema = json!({ "customTypePath": place });
        return;
    }
    match schema {
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| place_elsewhere(member, place)),
        Value::Array(values) => values
            .iter_mut()
            .for_each(|value| place_elsewhere(value, place)),
        _ => {}
    }
}
