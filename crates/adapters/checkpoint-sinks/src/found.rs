//! Notes in files and logs.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde_json::Value;

use crate::directory::{notes_in, read};

/// The beginning of a note's text, and the shape of a log line that contains one.
const BEGINNING: &str = "vestry-audit-checkpoint-v1";
const IN_LOG: &str = "\"note\":\"vestry-audit-checkpoint-v1";

/// Returns the notes at this path, each with its location. The path is a directory filled by [`FileSink`](crate::FileSink), a file with one
/// note, or a JSON log that contains the lines of [`LogSink`](crate::LogSink).
///
/// # Errors
/// It cannot be read, or contains no note. The error names the file.
pub fn notes_at(path: &Path) -> io::Result<Vec<(String, String)>> {
    let notes: Vec<_> = if path.is_dir() {
        let notes = notes_in(path)?.into_iter();
        notes
            .map(|(path, note)| (path.display().to_string(), note))
            .collect()
    } else if begins_with_note(path)? {
        vec![(path.display().to_string(), read(path)?)]
    } else {
        notes_in_log(path)?
    };
    if notes.is_empty() {
        let message = format!("there is no checkpoint in {}", path.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    Ok(notes)
}

fn begins_with_note(path: &Path) -> io::Result<bool> {
    let beginning = crate::directory::beginning(path, BEGINNING.len());
    Ok(beginning
        .map_err(|error| named(path, &error))?
        .starts_with(BEGINNING.as_bytes()))
}

fn notes_in_log(path: &Path) -> io::Result<Vec<(String, String)>> {
    let log = File::open(path).map_err(|error| named(path, &error))?;
    let place = path.display().to_string();
    notes_in_lines(&place, BufReader::new(log)).map_err(|error| named(path, &error))
}

/// Lines that are not JSON are skipped: a log can begin with the output of another program.
fn notes_in_lines(place: &str, log: impl BufRead) -> io::Result<Vec<(String, String)>> {
    let mut notes = Vec::new();
    for (number, line) in (1_u64..).zip(log.split(b'\n')) {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        if !line.contains(IN_LOG) {
            continue;
        }
        let object: Option<Value> = serde_json::from_str(&line).ok();
        let note = object
            .as_ref()
            .and_then(|object| object.get("note")?.as_str());
        if let Some(note) = note {
            notes.push((format!("{place}:{number}"), note.to_owned()));
        }
    }
    Ok(notes)
}

/// Returns the notes in a response: one note, or a JSON log. `place` is its name in messages.
///
/// # Errors
/// It contains no note, or is not text.
pub(crate) fn notes_in_answer(place: &str, body: Vec<u8>) -> io::Result<Vec<(String, String)>> {
    let notes = if body.starts_with(BEGINNING.as_bytes()) {
        let note = String::from_utf8(body).map_err(|_binary| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{place} is not text"))
        })?;
        vec![(place.to_owned(), note)]
    } else {
        notes_in_lines(place, body.as_slice())?
    };
    if notes.is_empty() {
        let message = format!("there is no checkpoint in {place}");
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    Ok(notes)
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    let message = format!("{} cannot be read: {error}", path.display());
    io::Error::new(error.kind(), message)
}
