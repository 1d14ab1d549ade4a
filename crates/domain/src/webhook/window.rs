//! How much one endpoint is sent at the same time.

/// Attempts under way to one endpoint, and how many may be: the better it answers, the more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    size: usize,
    /// Under way.
    all: usize,
    /// Of them, retries and replays.
    later: usize,
    failures_in_a_row: u32,
    /// Whether nothing has ended yet.
    is_new: bool,
}

/// One attempt, to see whether somebody answers: many endpoints that do not must not take all the room at once.
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
    /// After the first answer.
    const FIRST: usize = 8;
    const LARGEST: usize = 32;
    /// After so many failures in a row there is one attempt at a time.
    const PATIENCE: u32 = 5;

    /// How many more attempts may begin.
    pub const fn room(&self) -> usize {
        self.size.saturating_sub(self.all)
    }

    /// Of these, how many may be retries and replays: half of the window, so that events of this moment do not wait behind them.
    pub fn room_for_later(&self) -> usize {
        let most = (self.size / 2).max(1);
        most.saturating_sub(self.later).min(self.room())
    }

    /// Attempts under way.
    pub const fn under_way(&self) -> usize {
        self.all
    }

    /// Whether the endpoint is tried with one attempt at a time because it answers badly.
    pub const fn is_closed(&self) -> bool {
        self.size == 1 && !self.is_new
    }

    /// Whether nobody knows yet how it answers.
    pub const fn is_new(&self) -> bool {
        self.is_new
    }

    /// Whether nothing is under way and nothing is known of the endpoint that a new window would not say.
    pub const fn is_idle(&self) -> bool {
        self.all == 0 && self.is_new
    }

    /// An attempt begins.
    pub const fn begin(&mut self, is_later: bool) {
        self.all += 1;
        if is_later {
            self.later += 1;
        }
    }

    /// It has ended, without a word on how the endpoint does.
    pub const fn end(&mut self, is_later: bool) {
        self.all = self.all.saturating_sub(1);
        if is_later {
            self.later = self.later.saturating_sub(1);
        }
    }

    /// The endpoint took something.
    pub fn succeeded(&mut self) {
        self.failures_in_a_row = 0;
        self.size = if self.is_new {
            Self::FIRST
        } else {
            (self.size + 1).min(Self::LARGEST)
        };
        self.is_new = false;
    }

    /// It did not.
    pub fn failed(&mut self, is_overload: bool) {
        self.is_new = false;
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
        let is_closed = is_overload || self.failures_in_a_row >= Self::PATIENCE;
        self.size = if is_closed { 1 } else { (self.size / 2).max(1) };
    }
}
