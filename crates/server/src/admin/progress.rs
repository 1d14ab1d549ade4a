//! How far a long command is, on stderr.

use std::io::{IsTerminal, Write};

/// Characters of the bar.
const WIDTH: u64 = 30;

/// A bar that a person watches; nothing where stderr is no terminal.
pub(super) struct Progress {
    whole: u64,
    is_watched: bool,
    shown: Option<u64>,
}

impl Progress {
    /// So much is to be done, in any unit.
    pub(super) fn of(whole: u64) -> Self {
        Self {
            whole: whole.max(1),
            is_watched: std::io::stderr().is_terminal(),
            shown: None,
        }
    }

    /// It turned out to be so much.
    pub(super) fn grow(&mut self, whole: u64) {
        self.whole = self.whole.max(whole);
    }

    /// So much of it is done; `what` is said behind the bar.
    pub(super) fn show(&mut self, done: u64, what: &str) {
        let percent = done.min(self.whole).saturating_mul(100) / self.whole;
        if !self.is_watched || self.shown == Some(percent) {
            return;
        }
        self.shown = Some(percent);
        write(&format!("\r{} {percent:3} %  {what}", bar(percent)));
    }

    /// Takes the bar away.
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

/// A terminal that went away is nobody's loss.
fn write(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _unseen = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}

#[cfg(test)]
mod tests;
