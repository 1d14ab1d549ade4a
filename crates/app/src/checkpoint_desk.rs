//! What this process remembers of checkpoints: which ends the last ones named, and which sinks take none.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use vestry_domain::Timestamp;
use vestry_domain::audit::checkpoint::Line;
use vestry_domain::timestamp::Seconds;

/// Lines in one checkpoint at most, so that its note stays well below
/// [`SignedNote::LARGEST`](vestry_domain::audit::checkpoint::SignedNote::LARGEST). What has no room is in the next one.
const MOST_LINES: usize = 50_000;
/// After so many checkpoints everything is named again.
const ALL_EVERY: i64 = 100;

/// What is remembered.
#[derive(Default)]
pub(crate) struct CheckpointDesk {
    named: Mutex<Named>,
    /// When a round was last known to be done; at first, when this process first asked.
    round: Mutex<Option<Timestamp>>,
    /// Since when sinks have taken nothing, and whether that was told.
    failing: Mutex<HashMap<String, (Timestamp, bool)>>,
}

/// The lines that were named by the checkpoints up to this one, as hashes: there may be millions, and they are as long as a row.
#[derive(Default)]
struct Named {
    up_to: i64,
    lines: HashSet<u64>,
    hasher: RandomState,
}

impl CheckpointDesk {
    /// Which lines the checkpoint behind this one has to name: all that this process does not know to be named, and at times all.
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
            // Nothing happened.
            return Vec::new();
        }
        if knows_all && !is_all_due {
            due.retain(is_new);
        } else {
            named.lines.clear();
        }
        due.truncate(MOST_LINES);
        due
    }

    /// A checkpoint with these lines is on disk.
    pub(crate) fn made(&self, number: i64, lines: &[Line]) {
        let mut named = lock(&self.named);
        named.up_to = number;
        let hashes: Vec<u64> = lines
            .iter()
            .map(|line| named.hasher.hash_one(line.to_string()))
            .collect();
        named.lines.extend(hashes);
    }

    /// Has the next checkpoint name everything: what was named may not have reached everybody.
    pub(crate) fn forget(&self) {
        let mut named = lock(&self.named);
        named.up_to = -1;
        named.lines.clear();
    }

    /// The number of the newest checkpoint that this process made and has not forgotten.
    pub(crate) fn newest(&self) -> Option<i64> {
        Some(lock(&self.named).up_to).filter(|number| *number > 0)
    }

    /// A round was done at this moment.
    pub(crate) fn round_done(&self, at: Timestamp) {
        let mut round = lock(&self.round);
        *round = (*round).max(Some(at));
    }

    /// Whether no round is known for longer than this. It is so once; then as long is waited again.
    pub(crate) fn is_overdue(&self, now: Timestamp, most: Seconds) -> bool {
        let mut round = lock(&self.round);
        let last = *round.get_or_insert(now);
        let is_overdue = last + most < now;
        if is_overdue {
            *round = Some(now);
        }
        is_overdue
    }

    /// A sink took what it was given, or there was nothing for it; whether it had been told that it fails.
    pub(crate) fn took(&self, sink: &str) -> bool {
        let ended = lock(&self.failing).remove(sink);
        ended.is_some_and(|(_, was_told)| was_told)
    }

    /// A sink did not take a checkpoint; whether that is to be told now, which is once it has gone on since `told_from`.
    pub(crate) fn failed(&self, sink: &str, now: Timestamp, told_from: Timestamp) -> bool {
        let mut failing = lock(&self.failing);
        let (since, was_told) = failing.entry(sink.to_owned()).or_insert((now, false));
        let is_due = !*was_told && *since <= told_from;
        *was_told |= is_due;
        is_due
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
