//! Concurrency control for deliveries to one endpoint.

/// The attempts in progress to one endpoint, and their limit, which grows with successes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    size: usize,
    /// All attempts in progress.
    all: usize,
    /// The retries and replays among them.
    later: usize,
    failures_in_a_row: u32,
    /// Whether no attempt has finished yet.
    is_new: bool,
}

/// Starts with one attempt, to probe whether the endpoint responds: many unresponsive endpoints must not use up all capacity at once.
impl Default for Window {
    fn default() -> Self {
        Self {
            size: 1,
            all: 0,
            later: 0,
            failures_in_a_row: 0,
            is_new: true,
        }
    }
}

impl Window {
    /// The limit after the first response.
    const FIRST: usize = 8;
    const LARGEST: usize = 32;
    /// The number of consecutive failures after which only one attempt is made at a time.
    const PATIENCE: u32 = 5;

    /// The number of further attempts that can start.
    pub const fn room(&self) -> usize {
        self.size.saturating_sub(self.all)
    }

    /// The number of further retries and replays that can start: at most half of the window, so that new events do not wait for them.
    pub fn room_for_later(&self) -> usize {
        let most = (self.size / 2).max(1);
        most.saturating_sub(self.later).min(self.room())
    }

    /// The number of attempts in progress.
    pub const fn under_way(&self) -> usize {
        self.all
    }

    /// Whether attempts are limited to one at a time because of failures.
    pub const fn is_closed(&self) -> bool {
        self.size == 1 && !self.is_new
    }

    /// Whether no response has been seen yet.
    pub const fn is_new(&self) -> bool {
        self.is_new
    }

    /// Whether no attempt is in progress and the window has the same state as a new one.
    pub const fn is_idle(&self) -> bool {
        self.all == 0 && self.is_new
    }

    /// Records the start of an attempt.
    pub const fn begin(&mut self, is_later: bool) {
        self.all += 1;
        if is_later {
            self.later += 1;
        }
    }

    /// Records the end of an attempt that says nothing about the endpoint.
    pub const fn end(&mut self, is_later: bool) {
        self.all = self.all.saturating_sub(1);
        if is_later {
            self.later = self.later.saturating_sub(1);
        }
    }

    /// Records a success.
    pub fn succeeded(&mut self) {
        self.failures_in_a_row = 0;
        self.size = if self.is_new {
            Self::FIRST
        } else {
            (self.size + 1).min(Self::LARGEST)
        };
        self.is_new = false;
    }

    /// Records a failure.
    pub fn failed(&mut self, is_overload: bool) {
        self.is_new = false;
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
        let is_closed = is_overload || self.failures_in_a_row >= Self::PATIENCE;
        self.size = if is_closed { 1 } else { (self.size / 2).max(1) };
    }
}
