//! Notes wherever they were kept.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde_json::Value;

use crate::directory::{notes_in, read};

/// How the text of a note begins, and how a line of a log looks that holds one.
const BEGINNING: &str = "vestry-audit-checkpoint-v1";
const IN_LOG: &str = "\"note\":\"vestry-audit-checkpoint-v1";

/// The notes in this place, each with where it was: a directory as [`FileSink`](crate::FileSink) fills it, a file with one note, or a
/// log in JSON with those that [`LogSink`](crate::LogSink) wrote.
///
/// # Errors
/// It cannot be read, or there is no note in it; names the file.
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

/// Lines that are no JSON are passed over: a log may begin with what another program said.
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

/// The same of what a URL answers: one note, or a log in JSON. `place` is how it is named.
///
/// # Errors
/// There is no note in it, or it is no text.
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
