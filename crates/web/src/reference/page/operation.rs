//! One API call on the reference page.

use serde_json::Value;

use super::html::{Html, anchor};
use super::{example, fields, text};

/// A method of a path, as described in the document.
pub(super) struct Operation<'a> {
    path: &'a str,
    method: String,
    described: &'a Value,
}

impl<'a> Operation<'a> {
    /// All operations of a document, in document order.
    pub(super) fn all(document: &'a Value) -> impl Iterator<Item = Self> {
        let paths = document.get("paths").and_then(Value::as_object);
        paths.into_iter().flatten().flat_map(|(path, item)| {
            let methods = item.as_object().into_iter().flatten();
            methods.map(move |(method, described)| Self {
                path,
                method: method.to_uppercase(),
                described,
            })
        })
    }

    pub(super) const fn path(&self) -> &'a str {
        self.path
    }

    pub(super) fn tag(&self) -> &'a str {
        text(self.described, "/tags/0")
    }

    pub(super) fn summary(&self) -> &'a str {
        text(self.described, "/summary")
    }

    pub(super) fn anchor(&self) -> String {
        anchor("call", text(self.described, "/operationId"))
    }

    pub(super) fn render(&self, page: &mut Html, document: &Value) {
        page.raw("<section>\n");
        page.heading(3, &self.anchor(), self.summary());
        page.raw("<p class=\"route\"><span class=\"method ");
        page.text(&self.method.to_lowercase());
        page.raw("\">");
        page.text(&self.method);
        page.raw("</span> ");
        page.code(self.path);
        page.raw("</p>\n");
        page.prose(text(self.described, "/description"));
        self.parameters(page, document);
        self.request(page, document);
        self.success(page, document);
        self.refusals(page, document);
        page.raw("<h4>Try it</h4>\n<pre><code>");
        page.text(&example::curl(
            document,
            &self.method,
            self.path,
            self.described,
        ));
        page.raw("</code></pre>\n</section>\n");
    }

    fn parameters(&self, page: &mut Html, document: &Value) {
        let Some(parameters) = self.described.get("parameters").and_then(Value::as_array) else {
            return;
        };
        page.raw("<h4>Parameters</h4>\n<div class=\"tail\"><table>\n<tr><th>Name</th><th>Type</th><th>Meaning</th></tr>\n");
        for parameter in parameters {
            let parameter = fields::component(document, parameter);
            let is_required = parameter
                .get("required")
                .is_some_and(|required| required == true);
            let meaning = format!(
                "In the {}. {}",
                text(parameter, "/in"),
                text(parameter, "/description")
            );
            let schema = parameter.get("schema").unwrap_or(&Value::Null);
            fields::row(
                page,
                text(parameter, "/name"),
                schema,
                is_required,
                &meaning,
            );
        }
        page.raw("</table></div>\n");
    }

    fn request(&self, page: &mut Html, document: &Value) {
        let Some(schema) = self
            .described
            .pointer("/requestBody/content/application~1json/schema")
        else {
            return;
        };
        page.raw("<h4>Request body</h4>\n");
        page.prose(text(fields::resolved(document, schema), "/description"));
        fields::table(page, document, schema);
    }

    fn success(&self, page: &mut Html, document: &Value) {
        page.raw("<h4>200</h4>\n");
        page.prose(text(self.described, "/responses/200/description"));
        let Some(schema) = self
            .described
            .pointer("/responses/200/content/application~1json/schema")
        else {
            return;
        };
        match fields::name_of(schema) {
            Some(name) if !fields::belongs_to_one_call(name) => {
                page.raw("<p>The body is one ");
                page.link(&anchor("object", name), name);
                page.raw(".</p>\n");
            }
            _ => fields::table(page, document, schema),
        }
    }

    fn refusals(&self, page: &mut Html, document: &Value) {
        let responses = self.described.get("responses").and_then(Value::as_object);
        page.raw("<h4>Errors</h4>\n<div class=\"tail\"><table>\n<tr><th>Status</th><th>Codes</th></tr>\n");
        let refusals = responses
            .into_iter()
            .flatten()
            .filter(|(status, _)| *status != "200");
        for (status, response) in refusals {
            page.raw("<tr><td>");
            page.text(status);
            page.raw("</td><td>");
            page.prose(text(fields::component(document, response), "/description"));
            page.raw("</td></tr>\n");
        }
        page.raw("</table></div>\n");
    }
}
