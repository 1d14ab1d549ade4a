//! Writing HTML: everything that is not markup of ours goes through one escape.

use std::fmt::Write as _;

/// A page that grows.
#[derive(Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup of ours.
    pub(super) fn raw(&mut self, markup: &'static str) {
        self.0.push_str(markup);
    }

    /// Text, escaped.
    pub(super) fn text(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                other => self.0.push(other),
            }
        }
    }

    pub(super) fn code(&mut self, text: &str) {
        self.raw("<code>");
        self.text(text);
        self.raw("</code>");
    }

    /// A link to a place of the page.
    pub(super) fn link(&mut self, to: &str, text: &str) {
        self.raw("<a href=\"#");
        self.text(to);
        self.raw("\">");
        self.text(text);
        self.raw("</a>");
    }

    pub(super) fn heading(&mut self, level: u8, id: &str, text: &str) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "<h{level} id=\"");
        self.text(id);
        self.raw("\">");
        self.text(text);
        let _ = writeln!(self.0, "</h{level}>");
    }

    /// Paragraphs of the two marks that our descriptions use: `code` and **strong**.
    pub(super) fn prose(&mut self, text: &str) {
        for paragraph in text
            .split("\n\n")
            .filter(|paragraph| !paragraph.trim().is_empty())
        {
            self.raw("<p>");
            self.marked(paragraph);
            self.raw("</p>\n");
        }
    }

    fn marked(&mut self, paragraph: &str) {
        // Odd pieces are inside the mark; code first, because nothing is a mark in there.
        for (index, piece) in paragraph.split('`').enumerate() {
            if index % 2 == 1 {
                self.code(piece);
                continue;
            }
            for (index, piece) in piece.split("**").enumerate() {
                if index % 2 == 1 {
                    self.raw("<strong>");
                    self.text(piece);
                    self.raw("</strong>");
                } else {
                    self.text(piece);
                }
            }
        }
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// An id within the page.
pub(super) fn anchor(kind: &str, name: &str) -> String {
    let name: String = name
        .chars()
        .map(|character| {
            if character.is_ascii_alphanumeric() {
                character
            } else {
                '-'
            }
        })
        .collect();
    format!("{kind}-{name}")
}
