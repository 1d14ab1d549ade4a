//! A form that was refused, with the reason and the field.

use actix_web::http::StatusCode;
use askama::filters::Safe;
use vestry_domain::Invalid;

use crate::filters::{drawn, escaped};

/// A message as a sentence begins.
pub(crate) fn capitalised(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// The reason why a form was refused.
pub(crate) struct Problems {
    /// What did not happen, as in `The key was not created.`
    pub(crate) title: &'static str,
    field: String,
    message: String,
}

impl Problems {
    /// A form that was not sent yet.
    pub(crate) const fn none() -> Self {
        Self {
            title: "",
            field: String::new(),
            message: String::new(),
        }
    }

    /// A field that was refused.
    pub(crate) fn of(title: &'static str, invalid: Invalid) -> Self {
        Self {
            title,
            field: invalid.param.into_owned(),
            message: capitalised(&invalid.message),
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self.is_none() {
            true => StatusCode::OK,
            false => StatusCode::BAD_REQUEST,
        }
    }

    fn is_none(&self) -> bool {
        self.message.is_empty()
    }

    /// The summary above the form, which leads to the field.
    pub(crate) fn summary(&self) -> Safe<String> {
        if self.is_none() {
            return Safe(String::new());
        }
        if self.field.is_empty() {
            let (title, message) = (self.title, escaped(&self.message));
            return Safe(format!(
                r#"<div class="summary" role="alert" tabindex="-1" autofocus id="errors" aria-labelledby="errors-title"><h2 id="errors-title">{title}</h2><p>{message}.</p></div>"#
            ));
        }
        let (title, field, message) = (self.title, escaped(&self.field), escaped(&self.message));
        Safe(format!(
            r##"<div class="summary" role="alert" tabindex="-1" autofocus id="errors" aria-labelledby="errors-title"><h2 id="errors-title">{title} Fix 1 field.</h2><ul><li><a href="#{field}">{message}</a></li></ul></div>"##
        ))
    }

    /// The attributes of a field that was refused; `hint` is the id of its description, if it has one.
    pub(crate) fn mark(&self, field: &str, hint: &str) -> Safe<String> {
        let is_wrong = !self.is_none() && self.field == field;
        Safe(match (is_wrong, hint) {
            (false, "") => String::new(),
            (false, hint) => format!(r#" aria-describedby="{hint}""#),
            (true, hint) => {
                format!(r#" aria-invalid="true" aria-describedby="{field}-error {hint}""#)
            }
        })
    }

    /// The message at a field.
    pub(crate) fn at(&self, field: &str) -> Safe<String> {
        if self.is_none() || self.field != field {
            return Safe(String::new());
        }
        let (icon, message) = (drawn("alert"), escaped(&self.message));
        Safe(format!(
            r#"<p class="error" id="{field}-error">{icon}<span>{message}</span></p>"#
        ))
    }
}
