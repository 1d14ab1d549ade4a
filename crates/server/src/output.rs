//! The output of a command: a table or text for people, or exactly one JSON document.

use std::io::{self, Write};

use serde_json::Value;
use vestry_domain::Timestamp;

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
    failure: Option<String>,
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
        self.failure = failure.map(Into::into);
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
        self.failure
            .map_or(Ok(()), |failure| Err(Failure::reported(failure)))
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

/// `2026-11-21 03:07:33 UTC`.
pub(crate) fn date(at: Timestamp) -> String {
    const DAY: i64 = 86_400;
    let (days, second) = (at.unix().div_euclid(DAY), at.unix().rem_euclid(DAY));
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Year, month and day of a number of days since 1970-01-01, in the Gregorian calendar.
///
/// Internally, years begin on 1 March, so that the leap day is the last day of the year.
const fn civil(days: i64) -> (i64, i64, i64) {
    const DAYS_OF_ERA: i64 = 146_097;
    /// From 0000-03-01 to 1970-01-01.
    const EPOCH: i64 = 719_468;
    let shifted = days + EPOCH;
    let era = shifted.div_euclid(DAYS_OF_ERA);
    let day_of_era = shifted.rem_euclid(DAYS_OF_ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // From March on, every five months have 153 days.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

#[cfg(test)]
mod tests;
