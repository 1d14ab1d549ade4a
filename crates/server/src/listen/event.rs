//! An event on its way from the service to the receiver.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::failure::{Context, Failure};

/// An event as the service sent it, and the fields that are read here.
pub(super) struct Event {
    pub(super) text: Box<RawValue>,
    pub(super) head: EventHead,
}

/// The fields that are read. Unknown types and fields are passed on unchanged.
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
        let head =
            serde_json::from_str(text.get()).context("the service returned an invalid event")?;
        Ok(Self { text, head })
    }
}
