//! A directory of notes: `checkpoint-<number>.txt`, the number in twelve digits or more.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use vestry_domain::audit::checkpoint::SignedNote;

/// The file of the note with this number.
pub(crate) fn file_name(number: i64) -> String {
    format!("checkpoint-{number:012}.txt")
}

/// The number of the note in a file of this name; `None` of any other file.
fn number_of(name: &str) -> Option<i64> {
    let digits = name.strip_prefix("checkpoint-")?.strip_suffix(".txt")?;
    let number = digits.parse().ok()?;
    (number > 0 && name == file_name(number)).then_some(number)
}

/// The notes in a directory, in the order of their numbers, with their paths. Files with other names are passed over, and so is what
/// a crash left behind.
///
/// All of them are in memory then: a year of a checkpoint a minute is half a million.
///
/// # Errors
/// The directory or a note cannot be read, or a file is larger than a note may be or no text; names the file.
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

/// The note with the highest number.
pub(crate) fn newest_in(directory: &Path) -> io::Result<Option<String>> {
    let newest = numbers_in(directory)?.into_iter().max();
    newest
        .map(|number| read(&directory.join(file_name(number))))
        .transpose()
}

fn numbers_in(directory: &Path) -> io::Result<Vec<i64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        numbers.extend(name.to_str().and_then(number_of));
    }
    Ok(numbers)
}

/// Reads a note that is no larger than one may be.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    let note = beginning(path, SignedNote::LARGEST).and_then(|bytes| {
        if bytes.len() > SignedNote::LARGEST {
            return Err(unreadable("it is larger than a note may be"));
        }
        String::from_utf8(bytes).map_err(|_binary| unreadable("it is not text"))
    });
    note.map_err(|error| {
        let message = format!("{} cannot be read: {error}", path.display());
        io::Error::new(error.kind(), message)
    })
}

/// The file up to this size, and one byte more if it is larger.
pub(crate) fn beginning(path: &Path, size: usize) -> io::Result<Vec<u8>> {
    // A pipe in the place of a file would be waited for without end.
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
