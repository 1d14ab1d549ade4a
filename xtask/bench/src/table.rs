//! The table of measurements, as Markdown.

use std::fmt;

use crate::load::Measured;

/// A row.
pub(crate) struct Row {
    store: &'static str,
    operation: String,
    per_second: f64,
    latency: Option<(f64, f64)>,
    /// The name of the baseline, and the ratio to it.
    baseline: Option<(&'static str, f64)>,
}

impl Row {
    /// A loop without HTTP.
    pub(crate) fn raw(operation: &str, per_second: f64) -> Self {
        Self {
            store: "–",
            operation: operation.to_owned(),
            per_second,
            latency: None,
            baseline: None,
        }
    }

    /// A loop without HTTP, on a store.
    pub(crate) fn raw_on(store: &'static str, operation: &str, per_second: f64) -> Self {
        Self {
            store,
            ..Self::raw(operation, per_second)
        }
    }

    /// A measurement over HTTP.
    pub(crate) fn measured(store: &'static str, operation: &str, measured: Measured) -> Self {
        Self {
            store,
            operation: operation.to_owned(),
            per_second: measured.per_second,
            latency: Some((measured.p50, measured.p99)),
            baseline: None,
        }
    }

    /// Adds the baseline.
    pub(crate) fn against(self, name: &'static str, per_second: f64) -> Self {
        let ratio = self.per_second / per_second;
        Self {
            baseline: Some((name, ratio)),
            ..self
        }
    }
}

/// The rows of a run.
pub(crate) struct Table(Vec<Row>);

impl Table {
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a row and prints it at once, because a run takes minutes.
    pub(crate) fn push(&mut self, row: Row) {
        eprintln!("{row}");
        self.0.push(row);
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (p50, p99) = match self.latency {
            Some((p50, p99)) => (format!("{p50:.2}"), format!("{p99:.2}")),
            None => ("–".to_owned(), "–".to_owned()),
        };
        let (baseline, ratio) = match self.baseline {
            Some((name, ratio)) => (name, format!("{ratio:.2}")),
            None => ("–", "–".to_owned()),
        };
        write!(
            f,
            "| {} | {} | {:.0} | {p50} | {p99} | {baseline} | {ratio} |",
            self.store, self.operation, self.per_second
        )
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| store | operation | per second | p50 ms | p99 ms | compared with | ratio |"
        )?;
        writeln!(f, "|---|---|---:|---:|---:|---|---:|")?;
        for row in &self.0 {
            writeln!(f, "{row}")?;
        }
        Ok(())
    }
}
