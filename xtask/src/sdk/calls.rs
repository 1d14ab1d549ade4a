//! What the templates of the operation layer are filled with.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::document::{Document, schema_name};

/// The methods of a client, and the resources they belong to.
pub(super) fn model(document: &Document) -> Value {
    let operations = document.operations();
    let calls: Vec<Call<'_>> = operations
        .iter()
        .filter_map(|(path, method, operation)| Call::new(document, path, method, operation))
        .collect();
    let mut resources: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for call in &calls {
        let (mut resource, _) = call.split();
        resources
            .entry(resource)
            .or_default()
            .push(call.described());
        // A resource of resources only, such as `otps.sms`.
        while let Some((parent, _)) = resource.rsplit_once('.') {
            resources.entry(parent).or_default();
            resource = parent;
        }
    }
    let names: Vec<&str> = resources.keys().copied().collect();
    // A class is defined before those that use it.
    let mut described: Vec<(usize, Value)> = resources
        .iter()
        .map(|(path, calls)| {
            let mut members = named(path);
            let children = names.iter().filter(|name| parent(name) == Some(path));
            members.insert(
                "children".into(),
                children.map(|name| named(name)).collect(),
            );
            members.insert("calls".into(), calls.clone().into());
            (path.split('.').count(), members.into())
        })
        .collect();
    described.sort_by_key(|(depth, _)| usize::MAX - depth);
    let resources: Vec<Value> = described
        .into_iter()
        .map(|(_, resource)| resource)
        .collect();
    let roots: Vec<Map<String, Value>> = names
        .iter()
        .filter(|name| parent(name).is_none())
        .map(|name| named(name))
        .collect();
    let calls: Vec<Value> = calls.iter().map(Call::described).collect();
    json!({ "calls": calls, "resources": resources, "roots": roots })
}

fn parent(resource: &str) -> Option<&str> {
    resource.rsplit_once('.').map(|(parent, _)| parent)
}

/// The names of a resource in each language.
fn named(path: &str) -> Map<String, Value> {
    let name = path.rsplit('.').next().unwrap_or(path);
    let mut members = Map::new();
    members.insert("path".into(), path.into());
    members.insert("name".into(), name.into());
    members.insert("camel".into(), camel(name).into());
    members.insert("class".into(), pascal(path).into());
    members.insert("doc".into(), format!("Calls of `{path}`.").into());
    members
}

/// One operation.
struct Call<'a> {
    document: &'a Document,
    name: &'a str,
    path: &'a str,
    method: &'a str,
    operation: &'a Value,
}

/// A parameter or a field of the request.
struct Field<'a> {
    name: &'a str,
    schema: &'a Value,
    description: &'a str,
    is_required: bool,
}

impl<'a> Call<'a> {
    fn new(
        document: &'a Document,
        path: &'a str,
        method: &'a str,
        operation: &'a Value,
    ) -> Option<Self> {
        let name = operation.get("x-sdk-name")?.as_str()?;
        Some(Self {
            document,
            name,
            path,
            method,
            operation,
        })
    }

    /// The resource and the verb.
    fn split(&self) -> (&'a str, &'a str) {
        self.name.rsplit_once('.').unwrap_or(("", self.name))
    }

    fn text(&self, pointer: &str) -> &'a str {
        let text = self.operation.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_default()
    }

    /// The parameters in a place. Redirects are for browsers that open the URL themselves.
    fn parameters(&self, place: &str) -> Vec<Field<'a>> {
        let parameters = self.operation.get("parameters").and_then(Value::as_array);
        let parameters = parameters.into_iter().flatten();
        let parameters = parameters.map(|parameter| self.document.resolved(parameter));
        let fields = parameters.filter_map(|parameter| {
            let text = |name| parameter.get(name).and_then(Value::as_str);
            let is_there = text("in")? == place && text("name")? != "redirect";
            is_there.then_some(Field {
                name: text("name")?,
                schema: parameter.get("schema")?,
                description: text("description").unwrap_or_default(),
                is_required: parameter.get("required") == Some(&Value::Bool(true)),
            })
        });
        fields.collect()
    }

    /// The schema of the body.
    fn body(&self) -> Option<&'a Value> {
        self.operation
            .pointer("/requestBody/content/application~1json/schema")
    }

    fn result(&self) -> &'a Value {
        let place = "/responses/200/content/application~1json/schema";
        self.operation.pointer(place).unwrap_or(&Value::Null)
    }

    /// The fields of the body or, if there is none, of the query.
    fn fields(&self) -> Vec<Field<'a>> {
        let Some(body) = self.body() else {
            return self.parameters("query");
        };
        let body = self.document.resolved(body);
        let required = body.get("required").and_then(Value::as_array);
        let properties = body.get("properties").and_then(Value::as_object);
        let fields = properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| Field {
                name,
                schema,
                description: text(schema, "description"),
                is_required: required.is_some_and(|names| names.iter().any(|known| known == name)),
            });
        fields.collect()
    }

    fn described(&self) -> Value {
        let (_, verb) = self.split();
        let ids = self.parameters("path");
        let ids: Vec<Value> = ids
            .iter()
            .map(|id| {
                let pattern = text(id.schema, "pattern");
                json!({ "name": id.name, "pattern": pattern, "regex": format!("/{pattern}/") })
            })
            .collect();
        let sends = match (self.body(), self.parameters("query").is_empty()) {
            (Some(_), _) => "body",
            (None, false) => "query",
            (None, true) => "nothing",
        };
        let mut members = Map::new();
        let mut insert = |name: &str, value: Value| members.insert(name.to_owned(), value);
        insert("name", self.name.into());
        insert("verb", verb.into());
        insert("camel", camel(verb).into());
        insert("pascal", pascal(verb).into());
        insert(
            "constant",
            self.name.replace('.', "_").to_uppercase().into(),
        );
        let parts: Vec<String> = self.name.split('.').map(camel).collect();
        insert("camel_path", parts.join(".").into());
        insert("method", self.method.to_uppercase().into());
        insert("path", self.path.into());
        insert("ids", ids.into());
        insert("idempotency", self.text("/x-idempotency").into());
        insert("sends", sends.into());
        let page = self.page();
        insert("page", page.clone());
        members.extend(self.typescript(&page));
        members.extend(self.python(&page));
        members.into()
    }

    /// The pages of a list, with the field that identifies an item.
    fn page(&self) -> Value {
        let Some(page) = self.operation.get("x-sdk-page") else {
            return Value::Null;
        };
        let mut page = page.clone();
        let item = self.document.resolved(self.item(&page));
        let has_id = item.pointer("/properties/id").is_some() || item.get("oneOf").is_some();
        let id = if has_id { "id" } else { "user_id" };
        if let Value::Object(page) = &mut page {
            page.insert("id".to_owned(), id.into());
        }
        page
    }

    /// The schema of the items of a page.
    fn item(&self, page: &Value) -> &'a Value {
        let result = self.document.resolved(self.result());
        let fields = result.get("properties");
        let items = fields.and_then(|fields| fields.get(text(page, "items"))?.get("items"));
        items.unwrap_or(&Value::Null)
    }

    fn typescript(&self, page: &Value) -> Map<String, Value> {
        let ids = self.parameters("path");
        let ids: Vec<String> = ids.iter().map(|id| camel(id.name)).collect();
        let mut parameters: Vec<String> = ids.iter().map(|id| format!("{id}: string")).collect();
        let fields = self.fields();
        let is_needed = fields.iter().any(|field| field.is_required)
            || self.operation.pointer("/requestBody/required") == Some(&Value::Bool(true));
        let kind = match self.body() {
            Some(body) => format!("T.{}", schema_name(body).unwrap_or("unknown")),
            None => {
                let fields = fields.iter().map(|field| {
                    let mark = if field.is_required { "" } else { "?" };
                    format!("{}{mark}: {}", field.name, typescript_type(field.schema))
                });
                format!("{{ {} }}", fields.collect::<Vec<_>>().join("; "))
            }
        };
        let takes_any = self.body().is_some() || !fields.is_empty();
        if takes_any {
            let default = if is_needed { "" } else { " = {}" };
            parameters.push(format!("params: {kind}{default}"));
        }
        let options = match self.text("/x-idempotency") {
            "key" => "KeyOptions",
            _ => "CallOptions",
        };
        parameters.push(format!("options: {options} = {{}}"));
        let mut lines = vec![self.text("/summary").to_owned()];
        let description = self.text("/description").replace("*/", "* /");
        if !description.is_empty() {
            lines.push(String::new());
            lines.extend(description.lines().map(str::to_owned));
        }
        let documented = fields.iter().filter(|_| self.body().is_none());
        lines.extend(documented.map(|field| {
            let text = field.description.replace('\n', " ");
            format!("@param params.{} {text}", field.name)
        }));
        let mut members = Map::new();
        let mut insert = |name: &str, value: Value| members.insert(name.to_owned(), value);
        insert("ts_parameters", parameters.join(", ").into());
        insert("ts_ids", ids.join(", ").into());
        insert(
            "ts_params",
            if takes_any { "params" } else { "undefined" }.into(),
        );
        let result = schema_name(self.result()).unwrap_or("unknown");
        insert("ts_result", format!("T.{result}").into());
        insert("ts_doc", lines.into());
        let item = schema_name(self.item(page)).unwrap_or("unknown");
        insert("ts_item", format!("T.{item}").into());
        members
    }

    fn python(&self, page: &Value) -> Map<String, Value> {
        let ids = self.parameters("path");
        let mut parameters = vec!["self".to_owned()];
        parameters.extend(ids.iter().map(|id| format!("{}: str", id.name)));
        let fields = self.fields();
        if !fields.is_empty() {
            parameters.push("*".to_owned());
        }
        let (required, optional): (Vec<&Field<'_>>, Vec<&Field<'_>>) =
            fields.iter().partition(|field| field.is_required);
        let typed = |field: &Field<'_>| {
            let kind = python_type(self.document, field.schema);
            (python_name(field.name), kind)
        };
        parameters.extend(required.into_iter().map(|field| {
            let (name, kind) = typed(field);
            format!("{name}: {kind}")
        }));
        parameters.extend(optional.into_iter().map(|field| {
            let (name, kind) = typed(field);
            let kind = kind.trim_end_matches(" | None");
            format!("{name}: {kind} | None = None")
        }));
        let options = match self.text("/x-idempotency") {
            "key" => "KeyOptions",
            _ => "CallOptions",
        };
        parameters.push(format!("**options: Unpack[{options}]"));
        let sent = fields
            .iter()
            .map(|field| format!("{:?}: {}", field.name, python_name(field.name)));
        let sent = sent.collect::<Vec<_>>().join(", ");
        let cursor = text(page, "cursor");
        let again = fields.iter().map(|field| match field.name == cursor {
            true => format!("{cursor}=cursor"),
            false => format!("{0}={0}", python_name(field.name)),
        });
        let again = ids.iter().map(|id| id.name.to_owned()).chain(again);
        let again = again.collect::<Vec<_>>().join(", ");
        let next = match text(page, "next") {
            "last_id" => "None".to_owned(),
            next => format!("found.{next}"),
        };
        let result = schema_name(self.result()).unwrap_or("Any");
        let choices = self.document.resolved(self.result()).get("oneOf");
        let choices = choices
            .and_then(Value::as_array)
            .filter(|_| result != "Event");
        let kind = match choices {
            Some(choices) => {
                let names = choices.iter().filter_map(schema_name);
                let names = names.map(|name| format!("models.{name}"));
                names.collect::<Vec<_>>().join(" | ")
            }
            None => python_model(result),
        };
        let mut members = Map::new();
        let mut insert = |name: &str, value: Value| members.insert(name.to_owned(), value);
        insert("py_parameters", parameters.join(", ").into());
        let ids: String = ids.iter().map(|id| format!("{},", id.name)).collect();
        insert("py_ids", ids.into());
        insert("py_params", format!("{{{sent}}}").into());
        insert("py_again", again.into());
        insert("py_next", next.into());
        insert("py_result", kind.into());
        insert("py_doc", self.docstring(&fields).into());
        let item = schema_name(self.item(page)).unwrap_or("Any");
        insert("py_item", python_model(item).into());
        members
    }

    fn docstring(&self, fields: &[Field<'_>]) -> String {
        const INDENT: &str = "        ";
        let mut lines = vec![format!("{}.", self.text("/summary"))];
        let description = self.text("/description");
        if !description.is_empty() {
            lines.push(String::new());
            lines.extend(description.lines().map(str::to_owned));
        }
        let described: Vec<_> = fields
            .iter()
            .filter(|field| !field.description.is_empty())
            .collect();
        if !described.is_empty() {
            lines.extend([String::new(), "Args:".to_owned()]);
            lines.extend(described.into_iter().map(|field| {
                let text = field.description.replace('\n', " ");
                format!("    {}: {text}", python_name(field.name))
            }));
        }
        let text = lines
            .join("\n")
            .replace('\\', "\\\\")
            .replace("\"\"\"", "''");
        let mut shown = String::new();
        for (number, line) in text.lines().enumerate() {
            if number > 0 {
                shown.push('\n');
                shown.push_str(if line.is_empty() { "" } else { INDENT });
            }
            shown.push_str(line);
        }
        if shown.contains('\n') {
            shown.push('\n');
            shown.push_str(INDENT);
        } else if shown.ends_with('"') {
            shown.push(' ');
        }
        shown
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// `loginOrCreate` for `login_or_create`.
fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| name + &pascal(word))
}

/// `OtpsEmail` for `otps.email`.
fn pascal(name: &str) -> String {
    let words = name.split(['.', '_']).map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    words.collect()
}

/// The name of a parameter. `from` is a keyword.
fn python_name(name: &str) -> String {
    match name {
        "from" => "from_".to_owned(),
        _ => name.to_owned(),
    }
}

/// The place of a model.
fn python_model(name: &str) -> String {
    match name {
        "Event" => "Event".to_owned(),
        _ => format!("models.{name}"),
    }
}

/// The names in `type`.
fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn typescript_type(schema: &Value) -> &'static str {
    match types(schema).first() {
        Some(&"integer" | &"number") => "number",
        Some(&"boolean") => "boolean",
        _ => "string",
    }
}

/// The type of a parameter in Python. Lists of words are open, and objects may be models or mappings.
fn python_type(document: &Document, schema: &Value) -> String {
    if let Some(choices) = schema.get("oneOf").and_then(Value::as_array) {
        let mut kinds: Vec<String> = Vec::new();
        for choice in choices {
            let kind = python_type(document, choice);
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        return kinds.join(" | ");
    }
    if let Some(name) = schema_name(schema) {
        return match document.resolved(schema).get("properties") {
            Some(_) => format!("{} | Mapping[str, Any]", python_model(name)),
            None => "str".to_owned(),
        };
    }
    let kinds: Vec<String> = types(schema)
        .into_iter()
        .map(|kind| match kind {
            "string" => "str".to_owned(),
            "integer" => "int".to_owned(),
            "number" => "float".to_owned(),
            "boolean" => "bool".to_owned(),
            "null" => "None".to_owned(),
            "array" => {
                let items = schema.get("items").unwrap_or(&Value::Null);
                format!("Sequence[{}]", python_type(document, items))
            }
            "object" => "Mapping[str, Any]".to_owned(),
            _ => "Any".to_owned(),
        })
        .collect();
    match kinds.is_empty() {
        true => "Any".to_owned(),
        false => kinds.join(" | "),
    }
}
