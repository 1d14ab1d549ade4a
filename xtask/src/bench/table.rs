//! The table of measurements, as Markdown.

use std::fmt;

use super::load::Measured;

/// One line.
pub(super) struct Row {
    store: &'static str,
    operation: String,
    per_second: f64,
    latency: Option<(f64, f64)>,
    /// What the rate is compared with, and the ratio.
    baseline: Option<(&'static str, f64)>,
}

impl Row {
    /// A loop without HTTP.
    pub(super) fn raw(operation: &str, per_second: f64) -> Self {
        Self {
            store: "–",
            operation: operation.to_owned(),
            per_second,
            latency: None,
            baseline: None,
        }
    }

    /// A loop without HTTP, on a store.
    pub(super) fn raw_on(store: &'static str, operation: &str, per_second: f64) -> Self {
        Self {
            store,
            ..Self::raw(operation, per_second)
        }
    }

    /// A load over HTTP.
    pub(super) fn measured(store: &'static str, operation: &str, measured: Measured) -> Self {
        Self {
            store,
            operation: operation.to_owned(),
            per_second: measured.per_second,
            latency: Some((measured.p50, measured.p99)),
            baseline: None,
        }
    }

    /// The rate beside the one it is compared with.
    pub(super) fn against(self, name: &'static str, per_second: f64) -> Self {
        let ratio = self.per_second / per_second;
        Self {
            baseline: Some((name, ratio)),
            ..self
        }
    }
}

/// The whole run.
pub(super) struct Table(Vec<Row>);

impl Table {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a line, and shows it at once: a run takes minutes.
    pub(super) fn push(&mut self, row: Row) {
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
