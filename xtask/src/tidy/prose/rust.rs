//! The texts in a Rust file: comments, doc comments and string literals.

use std::ops::Range;
use std::str::FromStr as _;

use proc_macro2::{TokenStream, TokenTree};

use super::sentences::{self, Word};
use crate::failure::{Context, Failure};
use crate::tidy::tree::File;

/// The macros of `tracing`.
const LOGS: &[&str] = &["error", "warn", "info", "debug", "trace"];

/// The texts of a file.
pub(super) struct Texts {
    /// Of comments and literals.
    pub(super) prose: Vec<Vec<Word>>,
    /// Of log messages.
    pub(super) logs: Vec<Vec<Word>>,
}

struct Literal {
    at: Range<usize>,
    line: usize,
    is_log: bool,
}

pub(super) fn texts(file: &File) -> Result<Texts, Failure> {
    let tokens = TokenStream::from_str(&file.text).context(&file.path)?;
    let mut literals = Vec::new();
    find_literals(tokens, false, &mut literals);
    // Doc comments are literals too.
    let source = |literal: &Literal| file.text.get(literal.at.clone()).unwrap_or_default();
    literals.retain(|literal| !source(literal).starts_with('/'));

    let comments = comments(&file.text, &literals);
    let mut texts = Texts {
        prose: sentences::paragraphs(comments.into_iter()),
        logs: Vec::new(),
    };
    for literal in &literals {
        let into = if literal.is_log {
            &mut texts.logs
        } else {
            &mut texts.prose
        };
        into.extend(of_literal(source(literal), literal.line));
    }
    Ok(texts)
}

fn find_literals(tokens: TokenStream, is_log: bool, found: &mut Vec<Literal>) {
    let (mut name, mut is_log_macro) = (String::new(), false);
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                name = ident.to_string();
                is_log_macro = false;
            }
            TokenTree::Punct(sign) => {
                is_log_macro = sign.as_char() == '!' && LOGS.contains(&name.as_str());
            }
            TokenTree::Group(group) => {
                find_literals(group.stream(), is_log || is_log_macro, found);
                is_log_macro = false;
            }
            TokenTree::Literal(literal) => found.push(Literal {
                at: literal.span().byte_range(),
                line: literal.span().start().line,
                is_log,
            }),
        }
    }
}

/// The lines of all comments, with an empty line between any two comments.
fn comments<'a>(text: &'a str, literals: &[Literal]) -> Vec<(usize, &'a str)> {
    let mut comments: Vec<(usize, &str)> = Vec::new();
    let mut literals = literals.iter().peekable();
    let (mut start, mut literal_end) = (0, 0);
    let mut kind = "";
    for (index, line) in text.split('\n').enumerate() {
        let end = start + line.len();
        // `//` inside a literal is no comment, and no literal follows a comment.
        while let Some(literal) = literals.next_if(|literal| literal.at.start < end) {
            literal_end = literal.at.end;
        }
        let code = text.get(literal_end.max(start)..end).unwrap_or_default();
        start = end + 1;
        let Some(comment) = code.find("//").and_then(|at| code.get(at..)) else {
            kind = "";
            continue;
        };
        let is_first = kind != marker(comment);
        kind = marker(comment);
        if is_first {
            comments.push((index + 1, ""));
        }
        comments.push((index + 1, comment.get(kind.len()..).unwrap_or_default()));
    }
    comments
}

fn marker(comment: &str) -> &'static str {
    let markers = ["///", "//!", "//"];
    let mut markers = markers.into_iter();
    markers
        .find(|marker| comment.starts_with(marker))
        .unwrap_or_default()
}

/// The lines of a string literal, each a paragraph; `\` joins two.
fn of_literal(source: &str, first: usize) -> Vec<Vec<Word>> {
    let Some((prefix, rest)) = source.split_once('"') else {
        return Vec::new();
    };
    // A name, or an address.
    if !rest.contains(' ') {
        return Vec::new();
    }
    let is_raw = prefix.contains('r');
    let text = rest.rsplit_once('"').map_or(rest, |(text, _)| text);
    let mut lines: Vec<(usize, &str)> = Vec::new();
    let mut is_joined = false;
    for (index, text) in text.split('\n').enumerate() {
        let line = first + index;
        let joins = !is_raw && text.ends_with('\\');
        let text = if joins {
            text.trim_end_matches('\\')
        } else {
            text
        };
        for (place, text) in text.split(if is_raw { "\n" } else { "\\n" }).enumerate() {
            if place > 0 || !is_joined {
                lines.push((line, ""));
            }
            lines.push((line, text));
        }
        is_joined = joins;
    }
    sentences::paragraphs(lines.into_iter())
}

#[cfg(test)]
mod tests;
