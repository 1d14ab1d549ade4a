//! Limits on notes that hold for every sink.

use vestry_domain::audit::checkpoint::SignedNote;
use vestry_ports::anchors::SinkError;

/// Refuses notes that could not be read back: file names contain the number, and readers enforce a maximum size.
pub(crate) fn check(number: i64, note: &str) -> Result<(), SinkError> {
    if number < 1 {
        return Err(refused("note numbers start at 1"));
    }
    if note.len() > SignedNote::LARGEST {
        return Err(refused("the note exceeds the maximum size"));
    }
    Ok(())
}

fn refused(message: &str) -> SinkError {
    SinkError::Refused(message.to_owned())
}
