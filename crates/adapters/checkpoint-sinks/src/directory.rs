//! A directory of notes, named `checkpoint-<number>.txt` with at least twelve digits.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use vestry_domain::audit::checkpoint::SignedNote;

/// Returns the file name of the note with this number.
pub(crate) fn file_name(number: i64) -> String {
    format!("checkpoint-{number:012}.txt")
}

/// Returns the number of the note in a file of this name; `None` for any other file.
fn number_of(name: &str) -> Option<i64> {
    let digits = name.strip_prefix("checkpoint-")?.strip_suffix(".txt")?;
    let number = digits.parse().ok()?;
    (number > 0 && name == file_name(number)).then_some(number)
}

/// Returns the notes in a directory with their paths, sorted by number. Files with other names, such as leftovers of a crash, are skipped.
///
/// All of them are held in memory: a year of checkpoints, one per minute, is half a million.
///
/// # Errors
/// The directory or a note cannot be read, or a file is too large for a note or not text. The error names the file.
pub fn notes_in(directory: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let mut numbers = numbers_in(directory)?;
    numbers.sort_unstable();
    let notes = numbers.into_iter().map(|number| {
        let path = directory.join(file_name(number));
        let note = read(&path)?;
        Ok((path, note))
    });
    notes.collect()
}

/// Returns the note with the highest number.
pub(crate) fn newest_in(directory: &Path) -> io::Result<Option<String>> {
    let newest = numbers_in(directory)?.into_iter().max();
    newest
        .map(|number| read(&directory.join(file_name(number))))
        .transpose()
}

/// Returns the notes from this number on, sorted by number.
pub(crate) fn notes_since(directory: &Path, number: i64) -> io::Result<Vec<String>> {
    let mut numbers = numbers_in(directory)?;
    numbers.retain(|found| *found >= number);
    numbers.sort_unstable();
    let notes = numbers.into_iter();
    notes
        .map(|number| read(&directory.join(file_name(number))))
        .collect()
}

fn numbers_in(directory: &Path) -> io::Result<Vec<i64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        numbers.extend(name.to_str().and_then(number_of));
    }
    Ok(numbers)
}

/// Reads a note, up to the maximum size of one.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    let note = beginning(path, SignedNote::LARGEST).and_then(|bytes| {
        if bytes.len() > SignedNote::LARGEST {
            return Err(unreadable("it exceeds the maximum size of a note"));
        }
        String::from_utf8(bytes).map_err(|_binary| unreadable("it is not text"))
    });
    note.map_err(|error| {
        let message = format!("{} cannot be read: {error}", path.display());
        io::Error::new(error.kind(), message)
    })
}

/// Reads up to `size` bytes of the file, and one more if it is larger.
pub(crate) fn beginning(path: &Path, size: usize) -> io::Result<Vec<u8>> {
    // Reading a pipe instead of a file would block forever.
    if !fs::metadata(path)?.is_file() {
        return Err(unreadable("it is not a file"));
    }
    let limit = u64::try_from(size).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
