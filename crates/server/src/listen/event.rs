//! An event, as it goes from the service to the receiver.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::failure::{Context, Failure};

/// An event as the service wrote it, and what is read of it here.
pub(super) struct Event {
    pub(super) text: Box<RawValue>,
    pub(super) head: EventHead,
}

/// Types and fields that this program does not know are passed on as they are.
#[derive(Deserialize)]
pub(super) struct EventHead {
    pub(super) id: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) log: i64,
    pub(super) position: i64,
}

impl Event {
    pub(super) fn read(text: Box<RawValue>) -> Result<Self, Failure> {
        let head = serde_json::from_str(text.get()).context("the service sent no event")?;
        Ok(Self { text, head })
    }
}
