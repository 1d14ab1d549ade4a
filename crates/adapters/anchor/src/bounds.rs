//! What no sink takes.

use vestry_domain::audit::checkpoint::SignedNote;
use vestry_ports::anchors::SinkError;

/// Refuses what nobody could read back: names of files are made of the number, and readers stop at a size.
pub(crate) fn check(number: i64, note: &str) -> Result<(), SinkError> {
    if number < 1 {
        return Err(refused("notes have numbers from 1 on"));
    }
    if note.len() > SignedNote::LARGEST {
        return Err(refused("the note is larger than one may be"));
    }
    Ok(())
}

fn refused(message: &str) -> SinkError {
    SinkError::Refused(message.to_owned())
}
