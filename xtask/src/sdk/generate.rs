//! Runs the generators: pinned ones for types, our templates for the operation layer.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use minijinja::Environment;
use minijinja::value::Serde;
use serde_json::Value;

use super::Tools;
use super::calls;
use super::document::Document;
use crate::failure::{Context, Failure};
use crate::{process, project};

/// The files that a run generates, by their path in the repository.
pub(super) type Generated = BTreeMap<String, String>;

const TYPESCRIPT: &str = "sdk/typescript/src/generated";
const PYTHON: &str = "sdk/python/src/vestry/generated";

/// Generates everything in memory.
pub(super) fn generate(document: &Document, tools: &Tools) -> Result<Generated, Failure> {
    let home = project::target().join("sdk/generated");
    fs::create_dir_all(&home).context(format!("cannot create {}", home.display()))?;
    let mut generated = Generated::new();
    let (types, models, events) = thread::scope(|scope| {
        let types = scope.spawn(|| typescript_types(document, tools, &home));
        let models = scope.spawn(|| python_models(&document.for_python(), "models", tools, &home));
        let events = python_models(&document.for_python_events(), "events", tools, &home);
        let panicked = |_| Err(Failure::new("a generator panicked"));
        let types = types.join().unwrap_or_else(panicked);
        (types, models.join().unwrap_or_else(panicked), events)
    });
    generated.insert(format!("{TYPESCRIPT}/types.ts"), types?);
    generated.insert(format!("{PYTHON}/models.py"), models?);
    generated.insert(format!("{PYTHON}/events.py"), with_table(events?, document));
    let model = calls::model(document);
    for (file, template, is_async) in [
        (
            format!("{TYPESCRIPT}/operations.ts"),
            "operations.ts.jinja",
            false,
        ),
        (
            format!("{PYTHON}/operations.py"),
            "operations.py.jinja",
            false,
        ),
        (
            format!("{PYTHON}/async_operations.py"),
            "operations.py.jinja",
            true,
        ),
    ] {
        generated.insert(file, render(template, &model, is_async)?);
    }
    generated.insert(
        format!("{PYTHON}/__init__.py"),
        "\"\"\"Generated code.\"\"\"\n".to_owned(),
    );
    generated.insert(super::NAMES.to_owned(), names(document, &model));
    Ok(generated)
}

/// All public names that are generated: calls, then schemas.
fn names(document: &Document, model: &Value) -> String {
    let calls = model.get("calls").and_then(Value::as_array);
    let calls = calls.into_iter().flatten();
    let mut calls: Vec<String> = calls
        .filter_map(|call| {
            let name = call.get("name")?.as_str()?;
            let is_page = call.get("page").is_some_and(Value::is_object);
            Some(format!("{name}{}\n", if is_page { " (pages)" } else { "" }))
        })
        .collect();
    calls.sort();
    let schemas = document.schemas().into_iter();
    calls.extend(schemas.map(|name| format!("{name}\n")));
    calls.concat()
}

fn typescript_types(document: &Document, tools: &Tools, home: &Path) -> Result<String, Failure> {
    let input = write(home, "typescript.json", &document.for_typescript())?;
    let output = home.join("types.ts");
    let mut command = tools.node("openapi-typescript");
    command.arg(input).arg("--output").arg(&output).args([
        "--root-types",
        "--root-types-no-schema-prefix",
        "--default-non-nullable=false",
    ]);
    process::run_quietly(&mut command)?;
    read(&output)
}

fn python_models(
    document: &Value,
    name: &str,
    tools: &Tools,
    home: &Path,
) -> Result<String, Failure> {
    let input = write(home, &format!("{name}.json"), document)?;
    let output = home.join(format!("{name}.py"));
    let mut command = tools.python("datamodel-codegen");
    command
        // Its warnings are about versions to come.
        .env("PYTHONWARNINGS", "ignore")
        .arg("--input")
        .arg(input)
        .arg("--output")
        .arg(&output)
        .args([
            "--input-file-type",
            "openapi",
            "--openapi-scopes",
            "schemas",
        ])
        .args(["--output-model-type", "pydantic_v2.BaseModel"])
        .args(["--target-python-version", "3.11"])
        .args(["--base-class", "vestry._model.Model"])
        .args(["--enum-field-as-literal", "all", "--collapse-root-models"])
        .args(["--use-union-operator", "--use-standard-collections"])
        .args(["--use-schema-description", "--use-field-description"])
        .args(["--disable-timestamp", "--use-double-quotes"])
        .args(["--formatters", "builtin"]);
    process::run_quietly(&mut command)?;
    read(&output)
}

/// Adds the class of each event type, one for types that are not known yet, and their union.
fn with_table(mut events: String, document: &Document) -> String {
    events.push_str(UNKNOWN_EVENT);
    events.push_str("\n\nEVENTS: dict[str, type[EventEnvelope]] = {\n");
    for (kind, name) in document.events() {
        events.push_str(&format!("    \"{kind}\": {name},\n"));
    }
    events.push_str("}\n\nAnyEvent: TypeAlias = (\n");
    for (_, name) in document.events() {
        events.push_str(&format!("    {name}\n    | "));
    }
    events.push_str("UnknownEvent\n)\n");
    events.replace(
        "from typing import Literal\n",
        "from typing import Any, Literal, TypeAlias\n",
    )
}

const UNKNOWN_EVENT: &str = "

class UnknownEvent(EventEnvelope):
    \"\"\"
    An event of a type that this version does not know.
    \"\"\"

    type: str
    data: Any = None
";

fn render(template: &str, model: &Value, is_async: bool) -> Result<String, Failure> {
    let text = read(&project::root().join("sdk/templates").join(template))?;
    let mut model = model.clone();
    if let Value::Object(members) = &mut model {
        members.insert("is_async".to_owned(), is_async.into());
    }
    let rendered = Environment::new()
        .render_str(&text, Serde(model))
        .context(format!("cannot render {template}"))?;
    Ok(format!("{}\n", rendered.trim_end()))
}

fn write(home: &Path, name: &str, document: &Value) -> Result<PathBuf, Failure> {
    let file = home.join(name);
    fs::write(&file, document.to_string()).context(format!("cannot write {}", file.display()))?;
    Ok(file)
}

fn read(file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file).context(format!("cannot read {}", file.display()))
}
