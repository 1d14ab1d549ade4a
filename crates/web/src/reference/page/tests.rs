use serde_json::json;

use super::*;
use crate::API;

/// Everything in the document is escaped as text.
#[test]
fn the_document_cannot_inject_markup() {
    let evil = "</p><script>alert(1)</script><img src=x onerror='y' id=\"z\">&";
    let document = json!({
        "info": {"version": evil, "description": evil},
        "paths": {evil: {"get": {
            "tags": [evil], "summary": evil, "description": evil, "operationId": evil,
            "parameters": [{"name": evil, "in": "query", "required": true, "description": evil, "schema": {"type": evil, "pattern": evil}}],
            "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Evil"}}}},
            "responses": {"200": {"description": evil, "content": {"application/json": {"schema": {"$ref": format!("#/components/schemas/{evil}")}}}},
                evil: {"description": evil}},
        }}},
        "components": {"schemas": {"Evil": {
            "description": evil,
            "properties": {evil: {"type": ["string", evil], "description": evil, "examples": [evil], "default": evil}},
        }, evil: {"enum": [evil]}}},
    });
    let page = render(&document, &[]);
    assert!(
        !page.contains("<script") && !page.contains("<img"),
        "{page}"
    );
    assert!(
        !page.contains("onerror='") && !page.contains("id=\"z\""),
        "{page}"
    );
    assert!(
        page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"),
        "{page}"
    );
}

/// Every call is on the page with its path, and every link on the page resolves.
#[test]
fn the_page_shows_every_call_and_has_no_dead_link() {
    let document: Value = serde_json::from_str(API.openapi()).unwrap();
    let page = API.page(render);
    let paths = document.get("paths").and_then(Value::as_object).unwrap();
    assert!(paths.len() > 15, "{}", paths.len());
    for path in paths.keys() {
        assert!(page.contains(&format!("<code>{path}</code>")), "{path}");
    }
    let targets: Vec<&str> = page
        .split("href=\"#")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert!(targets.len() > 50, "{}", targets.len());
    for target in targets {
        assert!(page.contains(&format!("id=\"{target}\"")), "{target}");
    }
}

#[test]
fn prose_renders_code_and_strong() {
    let mut html = Html::default();
    html.prose("**A & b.** `x < **y**` c\n\nd");
    assert_eq!(
        html.into_string(),
        "<p><strong>A &amp; b.</strong> <code>x &lt; **y**</code> c</p>\n<p>d</p>\n"
    );
}
