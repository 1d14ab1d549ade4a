//! What lies in the memory of a process, for tests that look for secrets in it (S3, M-11). Linux only.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

/// How much is looked at in one go.
const PIECE: usize = 1 << 20;

/// Adds up what `count_in` finds in everything that a process could have written to; `process` is its number, or `self`.
///
/// Pieces overlap by `overlap` bytes, so that what is at most one byte longer is not missed where two of them meet, and may be
/// counted twice there.
///
/// # Errors
/// The memory cannot be opened: of a process that is not dumpable only root can. What was given back meanwhile is passed over.
pub fn count(
    process: &str,
    overlap: usize,
    mut count_in: impl FnMut(&[u8]) -> usize,
) -> io::Result<usize> {
    let memory = File::open(format!("/proc/{process}/mem"))?;
    let mut piece = vec![0; PIECE];
    let mut found = 0;
    for (from, to) in writable_ranges(process)? {
        let mut at = from;
        while at < to {
            let length = usize::try_from(to - at).map_or(PIECE, |left| left.min(PIECE));
            let Some(piece) = piece.get_mut(..length) else {
                break;
            };
            // A range that the process has given back in the meantime holds nothing.
            if memory.read_exact_at(piece, at).is_ok() {
                found += count_in(piece);
            }
            // This very process may be the one that is searched.
            piece.fill(0);
            let step = length.saturating_sub(overlap).max(1);
            at += u64::try_from(if length < PIECE { length } else { step }).unwrap_or(u64::MAX);
        }
    }
    Ok(found)
}

/// The address ranges that the process may write to.
fn writable_ranges(process: &str) -> io::Result<Vec<(u64, u64)>> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps"))?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let ranges = maps.lines().filter_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        rest.starts_with("rw")
            .then_some((number(from)?, number(to)?))
    });
    Ok(ranges.collect())
}
