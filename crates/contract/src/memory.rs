//! Searches the memory of a process, for tests that look for secrets in it (S3, M-11). Linux only.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

/// The number of bytes searched at a time.
const PIECE: usize = 1 << 20;

/// Sums up what `count_in` finds in the writable memory of a process; `process` is its number, or `self`.
///
/// Chunks overlap by `overlap` bytes, so a match at most one byte longer is found across a chunk boundary, but may be counted twice there.
///
/// # Errors
/// If the memory cannot be opened: only root can open that of a process that is not dumpable. Ranges unmapped during the search are
/// skipped.
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
            // A range that has been unmapped since it was listed holds nothing.
            if memory.read_exact_at(piece, at).is_ok() {
                found += count_in(piece);
            }
            // The searched process may be this one.
            piece.fill(0);
            let step = length.saturating_sub(overlap).max(1);
            at += u64::try_from(if length < PIECE { length } else { step }).unwrap_or(u64::MAX);
        }
    }
    Ok(found)
}

/// The writable address ranges of the process.
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
