//! `GET /docs`: the API reference for people, rendered from the same document that programs read.

mod example;
mod fields;
mod html;
mod operation;

use actix_web::HttpResponse;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY,
};
use actix_web::web::Data;
use serde_json::Value;
use vestry_edge::{Api, Code, Problem};

use html::{Html, anchor};
use operation::Operation;

pub(crate) const ERRORS: &[Code] = &[];

/// Allows only the page's own style sheet. The page has no script, and injected text could not become one.
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Get the API reference page
#[utoipa::path(
    get,
    path = "/docs",
    operation_id = "getDocs",
    tag = "Reference",
    responses((status = 200, description = "The page", body = String, content_type = "text/html"))
)]
pub(crate) async fn handle(api: Data<&'static Api>) -> Result<HttpResponse, Problem> {
    let response = HttpResponse::Ok()
        .content_type("text/html; charset=utf-8")
        .insert_header((CACHE_CONTROL, "public, max-age=300"))
        .insert_header((CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((REFERRER_POLICY, "no-referrer"))
        .insert_header((HeaderName::from_static("x-frame-options"), "DENY"))
        .body(api.page(render));
    Ok(response)
}

fn render(document: &Value, order: &[String]) -> String {
    let groups = groups(document, order);
    let objects = objects(document);
    let mut page = Html::default();
    page.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.raw("<title>Vestry API</title>\n<link rel=\"stylesheet\" href=\"/docs/style.css\">\n</head>\n<body>\n");
    navigation(&mut page, document, &groups, &objects);
    page.raw("<main>\n<h1>Vestry API</h1>\n");
    page.prose(text(document, "/info/description"));
    page.raw("<p class=\"soft\">Machine-readable: <a href=\"/openapi.json\">openapi.json</a> (OpenAPI 3.1).</p>\n");
    for (tag, operations) in &groups {
        page.heading(2, &anchor("group", tag), tag);
        for operation in operations {
            operation.render(&mut page, document);
        }
    }
    page.heading(2, "objects", "Objects");
    for (name, schema) in &objects {
        object(&mut page, document, name, schema);
    }
    page.raw("</main>\n</body>\n</html>\n");
    page.into_string()
}

fn navigation(
    page: &mut Html,
    document: &Value,
    groups: &[(&str, Vec<Operation<'_>>)],
    objects: &[(&str, &Value)],
) {
    page.raw("<nav>\n<strong>Vestry API</strong>\n<small>");
    page.text(text(document, "/info/version"));
    page.raw("</small>\n");
    for (tag, operations) in groups {
        page.raw("<h2>");
        page.text(tag);
        page.raw("</h2>\n<ul>\n");
        for operation in operations {
            page.raw("<li>");
            page.link(&operation.anchor(), operation.summary());
            page.raw("</li>\n");
        }
        page.raw("</ul>\n");
    }
    page.raw("<h2>Objects</h2>\n<ul>\n");
    for (name, _) in objects {
        page.raw("<li>");
        page.link(&anchor("object", name), name);
        page.raw("</li>\n");
    }
    page.raw("</ul>\n</nav>\n");
}

/// Operations grouped by tag, both in the order of the paths.
fn groups<'a>(document: &'a Value, order: &[String]) -> Vec<(&'a str, Vec<Operation<'a>>)> {
    let mut operations: Vec<Operation<'a>> = Operation::all(document).collect();
    operations.sort_by_key(|operation| {
        order
            .iter()
            .position(|path| path == operation.path())
            .unwrap_or(order.len())
    });
    let mut groups: Vec<(&'a str, Vec<Operation<'a>>)> = Vec::new();
    for operation in operations {
        let tag = operation.tag();
        match groups.iter_mut().find(|(known, _)| *known == tag) {
            Some((_, operations)) => operations.push(operation),
            None => groups.push((tag, vec![operation])),
        }
    }
    groups
}

/// Schemas that have a section of their own. Bodies of a single call are shown at that call.
fn objects(document: &Value) -> Vec<(&str, &Value)> {
    let schemas = document
        .pointer("/components/schemas")
        .and_then(Value::as_object);
    let named = schemas
        .into_iter()
        .flatten()
        .map(|(name, schema)| (name.as_str(), schema));
    named
        .filter(|(name, _)| !fields::belongs_to_one_call(name))
        .collect()
}

fn object(page: &mut Html, document: &Value, name: &str, schema: &Value) {
    page.raw("<section>\n");
    page.heading(3, &anchor("object", name), name);
    page.prose(text(schema, "/description"));
    match schema.pointer("/enum").and_then(Value::as_array) {
        Some(values) => {
            page.raw("<p>");
            for (index, value) in values.iter().filter_map(Value::as_str).enumerate() {
                page.raw(if index == 0 { "" } else { ", " });
                page.code(value);
            }
            page.raw("</p>\n");
        }
        None => fields::table(page, document, schema),
    }
    page.raw("</section>\n");
}

/// The string at a JSON pointer, or an empty one.
fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
