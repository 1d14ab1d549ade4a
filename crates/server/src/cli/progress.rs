//! Progress of a long command, on stderr.

use std::io::{IsTerminal, Write};

/// Characters of the bar.
const WIDTH: u64 = 30;

/// A progress bar. It prints nothing if stderr is not a terminal.
pub(super) struct Progress {
    whole: u64,
    is_watched: bool,
    shown: Option<u64>,
}

impl Progress {
    /// A bar for `whole` units of work.
    pub(super) fn of(whole: u64) -> Self {
        Self {
            whole: whole.max(1),
            is_watched: std::io::stderr().is_terminal(),
            shown: None,
        }
    }

    /// Corrects the total.
    pub(super) fn grow(&mut self, whole: u64) {
        self.whole = self.whole.max(whole);
    }

    /// Shows `done` units as finished, followed by `what`.
    pub(super) fn show(&mut self, done: u64, what: &str) {
        let percent = done.min(self.whole).saturating_mul(100) / self.whole;
        if !self.is_watched || self.shown == Some(percent) {
            return;
        }
        self.shown = Some(percent);
        write(&format!("\r{} {percent:3} %  {what}", bar(percent)));
    }

    /// Removes the bar from the terminal.
    pub(super) fn end(&self) {
        if self.is_watched {
            write("\r\u{1b}[K");
        }
    }
}

fn bar(percent: u64) -> String {
    let filled = percent * WIDTH / 100;
    let cell = |place| if place < filled { '#' } else { '.' };
    (0..WIDTH).map(cell).collect()
}

/// Writes to the terminal. Errors are ignored.
fn write(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _unseen = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}

#[cfg(test)]
mod tests;
