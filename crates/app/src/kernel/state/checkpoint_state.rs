//! Checkpoint state of one process: the ends listed so far, and the failing sinks.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use vestry_domain::Timestamp;
use vestry_domain::audit::checkpoint::Line;
use vestry_domain::timestamp::Seconds;

/// Maximum lines in one checkpoint, so that its note stays well below
/// [`SignedNote::LARGEST`](vestry_domain::audit::checkpoint::SignedNote::LARGEST). Remaining lines go into the next one.
const MAX_LINES: usize = 50_000;
/// Number of checkpoints after which everything is listed again.
const ALL_EVERY: i64 = 100;

/// Returns the number of the last checkpoint, up to this one, that lists everything.
pub(crate) const fn last_full(number: i64) -> i64 {
    let after = number.saturating_sub(1);
    number - after.rem_euclid(ALL_EVERY)
}

/// The state.
#[derive(Default)]
pub(crate) struct CheckpointState {
    named: Mutex<Named>,
    /// Time of the last known round; initially, the time of the first query.
    round: Mutex<Option<Timestamp>>,
    /// Start of each sink's failure, and whether the alarm was raised.
    failing: Mutex<HashMap<String, (Timestamp, bool)>>,
}

/// Hashes of the lines listed by checkpoints up to this number. There can be millions of lines, each as long as a row.
#[derive(Default)]
struct Named {
    up_to: i64,
    lines: HashSet<u64>,
    hasher: RandomState,
}

impl CheckpointState {
    /// Returns the lines that the next checkpoint must list: those not known to be listed, and periodically all.
    pub(crate) fn due(&self, newest: i64, lines: Vec<Line>) -> Vec<Line> {
        let mut named = lock(&self.named);
        let is_all_due = newest.rem_euclid(ALL_EVERY) == 0;
        let is_new = |line: &Line| {
            !named
                .lines
                .contains(&named.hasher.hash_one(line.to_string()))
        };
        let knows_all = named.up_to == newest;
        let is_changed = lines.iter().any(is_new);
        let mut due = lines;
        if knows_all && !is_changed {
            return Vec::new();
        }
        if knows_all && !is_all_due {
            due.retain(is_new);
        } else {
            named.lines.clear();
        }
        due.truncate(MAX_LINES);
        due
    }

    /// Records a checkpoint that was stored with these lines.
    pub(crate) fn made(&self, number: i64, lines: &[Line]) {
        let mut named = lock(&self.named);
        named.up_to = number;
        let hashes: Vec<u64> = lines
            .iter()
            .map(|line| named.hasher.hash_one(line.to_string()))
            .collect();
        named.lines.extend(hashes);
    }

    /// Makes the next checkpoint list everything, because earlier lines may not have reached every sink.
    pub(crate) fn forget(&self) {
        let mut named = lock(&self.named);
        named.up_to = -1;
        named.lines.clear();
    }

    /// Returns the number of the newest checkpoint made by this process, unless forgotten.
    pub(crate) fn newest(&self) -> Option<i64> {
        Some(lock(&self.named).up_to).filter(|number| *number > 0)
    }

    /// Records a completed round.
    pub(crate) fn round_done(&self, at: Timestamp) {
        let mut round = lock(&self.round);
        *round = (*round).max(Some(at));
    }

    /// Returns whether no round is known for longer than `most`. Returning `true` restarts the waiting time.
    pub(crate) fn is_overdue(&self, now: Timestamp, most: Seconds) -> bool {
        let mut round = lock(&self.round);
        let last = *round.get_or_insert(now);
        let is_overdue = last + most < now;
        if is_overdue {
            *round = Some(now);
        }
        is_overdue
    }

    /// Records success of a sink, or that there was nothing to send. Returns whether its failure had been reported.
    pub(crate) fn took(&self, sink: &str) -> bool {
        let ended = lock(&self.failing).remove(sink);
        ended.is_some_and(|(_, is_reported)| is_reported)
    }

    /// Records a failure of a sink. Returns whether to raise the alarm, which is once, if it has failed since `overdue_from` or earlier.
    pub(crate) fn failed(&self, sink: &str, now: Timestamp, overdue_from: Timestamp) -> bool {
        let mut failing = lock(&self.failing);
        let (since, is_reported) = failing.entry(sink.to_owned()).or_insert((now, false));
        let is_due = !*is_reported && *since <= overdue_from;
        *is_reported |= is_due;
        is_due
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
