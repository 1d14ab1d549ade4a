//! Binary search for a line in a sorted file.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

/// Number of hexadecimal digits of a SHA-1.
const DIGITS: usize = 40;
/// Longer than any line: digits, a colon, a count, a line ending.
const MAX_LINE: usize = 80;

/// Why a file cannot be used as a list.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// It cannot be read.
    #[error("the list cannot be read")]
    Io(#[from] io::Error),
    /// It does not begin with lines that are SHA-1 hashes in order.
    #[error(
        "this is not a sorted list of SHA-1 hashes (40 hexadecimal digits at the start of each line)"
    )]
    NotAList,
}

/// Sorted lines that begin with a hash.
pub(crate) struct SortedLines {
    /// Behind a mutex, because seeking changes the file's state.
    file: Mutex<File>,
}

impl SortedLines {
    pub(crate) fn of(file: File) -> Result<Self, ListError> {
        let lines = Self {
            file: Mutex::new(file),
        };
        let first = lines.line_from(0)?.ok_or(ListError::NotAList)?;
        let second = lines.line_from(first.next)?;
        let is_in_order = second.is_none_or(|second| {
            second.hash().is_some() && first.hash().cmp(&second.hash()) == Ordering::Less
        });
        if first.hash().is_some() && is_in_order {
            Ok(lines)
        } else {
            Err(ListError::NotAList)
        }
    }

    /// Whether a line begins with the hash, in upper-case digits.
    ///
    /// # Errors
    /// The file cannot be read, or a line in it does not begin with a hash.
    pub(crate) fn contain(&self, hash: &[u8]) -> Result<bool, ListError> {
        // The line would begin between them.
        let (mut start, mut end) = (0, self.length()?);
        while start < end {
            let middle = start + (end - start) / 2;
            // The first line that begins at or after the middle; none if the middle is in the last one.
            let Some(line) = self.line_after(middle)?.filter(|line| line.start < end) else {
                end = middle;
                continue;
            };
            match line.hash().ok_or(ListError::NotAList)?.as_slice().cmp(hash) {
                Ordering::Equal => return Ok(true),
                Ordering::Less => start = line.next,
                Ordering::Greater => end = middle,
            }
        }
        Ok(false)
    }

    fn length(&self) -> io::Result<u64> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(file.metadata()?.len())
    }

    /// Returns the first line that begins at this byte or later.
    fn line_after(&self, place: u64) -> io::Result<Option<Line>> {
        let Some(before) = place.checked_sub(1) else {
            return self.line_from(0);
        };
        // A line ending just before the position means that a line begins there.
        match self.line_from(before)? {
            Some(rest) => self.line_from(rest.next),
            None => Ok(None),
        }
    }

    /// Returns the line that begins at this byte; `None` after the last one.
    fn line_from(&self, start: u64) -> io::Result<Option<Line>> {
        let mut bytes = Vec::with_capacity(MAX_LINE);
        {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(start))?;
            let most = u64::try_from(MAX_LINE).unwrap_or(u64::MAX);
            (&mut *file).take(most).read_to_end(&mut bytes)?;
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(bytes.len(), |end| end + 1);
        bytes.truncate(length);
        Ok(Some(Line {
            start,
            next: start + u64::try_from(length).unwrap_or(u64::MAX),
            bytes,
        }))
    }
}

struct Line {
    start: u64,
    /// Where the next line begins.
    next: u64,
    bytes: Vec<u8>,
}

impl Line {
    /// Returns the hash at the beginning of the line, in upper-case digits.
    fn hash(&self) -> Option<[u8; DIGITS]> {
        let (digits, rest) = self.bytes.split_first_chunk::<DIGITS>()?;
        let ends = rest
            .first()
            .is_none_or(|byte| matches!(byte, b':' | b'\r' | b'\n'));
        let mut digits = *digits;
        digits.make_ascii_uppercase();
        (ends && digits.iter().all(u8::is_ascii_hexdigit)).then_some(digits)
    }
}
