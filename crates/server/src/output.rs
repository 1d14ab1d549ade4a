//! The output of a command: a table or text for people, or exactly one JSON document.

use std::io::{self, Write};

use serde_json::Value;
use vestry_domain::{Timestamp, rfc3339};

use crate::failure::{Context, Failure};

/// The output format of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Tables and text.
    Human,
    /// One JSON document.
    Json,
}

/// The result of a command.
pub(crate) struct Output {
    /// The result as JSON and as text for people, unless it was printed while the command ran.
    result: Option<(Value, String)>,
    failure: Option<Failure>,
}

impl Output {
    /// The result of a successful command.
    pub(crate) fn new(document: Value, text: impl Into<String>) -> Self {
        Self {
            result: Some((document, text.into())),
            failure: None,
        }
    }

    /// The result of a command that prints while it runs.
    pub(crate) const fn printed() -> Self {
        Self {
            result: None,
            failure: None,
        }
    }

    /// If there is a failure, the command fails with it after printing its result.
    pub(crate) fn failing(mut self, failure: Option<impl Into<String>>) -> Self {
        self.failure = failure.map(Failure::reported);
        self
    }

    /// The command fails after printing its result, because it has found differences.
    pub(crate) fn differing(mut self, message: impl Into<String>) -> Self {
        self.failure = Some(Failure::differs(message));
        self
    }

    /// Prints the result to stdout.
    pub(crate) fn print(self, format: Format) -> Result<(), Failure> {
        if let Some((document, text)) = self.result {
            let text = match format {
                Format::Human => text,
                Format::Json => serde_json::to_string_pretty(&document)
                    .context("cannot serialize the result")?,
            };
            print_line(text.trim_end_matches('\n'))?;
        }
        self.failure.map_or(Ok(()), Err)
    }
}

/// Adds a field to the JSON of an object.
pub(crate) fn with(mut document: Value, name: &str, value: impl Into<Value>) -> Value {
    if let Some(fields) = document.as_object_mut() {
        fields.insert(name.to_owned(), value.into());
    }
    document
}

/// Prints text and a newline to stdout. A closed pipe (`| head`) ends the command.
pub(crate) fn print_line(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}")
        .and_then(|()| stdout.flush())
        .context("cannot write to stdout")
}

/// Formats a table, with columns as wide as their widest cell and two spaces between them. An empty table is replaced by `none`.
pub(crate) fn table<const N: usize>(
    head: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    none: &str,
) -> String {
    let mut lines = vec![head.map(str::to_owned)];
    lines.extend(rows);
    if lines.len() == 1 {
        return none.to_owned();
    }
    let mut widths = [0; N];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = cell.chars().count().max(*width);
        }
    }
    let line = |cells: [String; N]| {
        let padded = cells.iter().zip(widths);
        let padded = padded.map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    lines.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Formats a time as in `2026-11-21 03:07:33 UTC`.
pub(crate) fn date(at: Timestamp) -> String {
    rfc3339::format(at).replace('T', " ").replace('Z', " UTC")
}

#[cfg(test)]
mod tests;
