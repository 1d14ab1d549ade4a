//! HTML output. Everything except our own markup is escaped.

use std::fmt::Write as _;

/// A page under construction.
#[derive(Default)]
pub(super) struct Html(String);

impl Html {
    /// Appends our own markup.
    pub(super) fn raw(&mut self, markup: &'static str) {
        self.0.push_str(markup);
    }

    /// Appends text, escaped.
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

    /// Appends a link to an anchor of the page.
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

    /// Appends paragraphs with the two kinds of markup that our descriptions use: `code` and **strong**.
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
        // Odd pieces are inside the markup. Code comes first, because nothing inside it is markup.
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

/// The id of an anchor within the page.
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
