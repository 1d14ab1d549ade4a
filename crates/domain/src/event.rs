//! Events that report changes in Vestry to the outside (E-1 to E-10).
//!
//! A use case creates a [`Fact`] for each change and stores it in the change's transaction. Afterwards it is assigned a position in its
//! world's log and becomes an [`Event`]. Events never contain values that a person entered.

mod address;
mod field;
mod json;
mod kind;
mod words;

pub use crate::actor::Actor;
pub use address::Addressed;
pub use field::{Field, FieldKind, MAX_IDS};
pub use json::{TEST, sample};
pub use kind::{EventKind, Fact, kinds};
pub use words::{
    ChangedFields, DisabledReason, EndReason, FailReason, Method, Removed, RpcMethod, SignedBy, Via,
};

use crate::ids::{EventId, UserId, WalletId};
use crate::{Timestamp, World};

/// Maximum number of events in one transaction, for work that can be split over several.
pub const MAX_AT_ONCE: usize = 100;

/// An event without a position in its log: stored with its change, but not yet visible to readers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// The id; its timestamp is by the machine's clock.
    pub id: EventId,
    /// The App and environment whose log it belongs to.
    pub world: World,
    /// The type of event.
    pub kind: EventKind,
    /// The user that it is about.
    pub user_id: Option<UserId>,
    /// The wallet that it is about.
    pub wallet_id: Option<WalletId>,
    /// The actor.
    pub actor: Actor,
    /// The request that caused it.
    pub request_id: Option<String>,
    /// Ids, counts, reasons and names, as a JSON object.
    pub data: String,
    /// When it happened, by the world's clock.
    pub created_at: Timestamp,
}

/// An event in the log of its world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The event as stored with its change.
    pub event: NewEvent,
    /// The number of the log. It increases by one each time that a database rollback loses events.
    pub log: i64,
    /// Position in the log, from 1 without gaps.
    pub position: i64,
}

/// A position in a log and the event at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The position.
    pub position: i64,
    /// The event's id.
    pub id: EventId,
}

/// The bounds of a world's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventHead {
    /// The number of the log.
    pub log: i64,
    /// The oldest retained event, if any.
    pub oldest: Option<Position>,
    /// The newest event, which may have been deleted since; `None` if the log never had one.
    pub newest: Option<Position>,
    /// The last deleted event, whose position directly precedes the oldest one; `None` if none was deleted yet.
    pub pruned: Option<EventId>,
}

impl EventHead {
    /// The head of a world without any events so far.
    pub const EMPTY: Self = Self {
        log: 1,
        oldest: None,
        newest: None,
        pruned: None,
    };

    /// The position of the newest event, or 0.
    pub fn position(&self) -> i64 {
        self.newest.map_or(0, |newest| newest.position)
    }

    /// The position of the last deleted event, or 0.
    pub fn pruned_position(&self) -> i64 {
        self.oldest
            .map_or_else(|| self.position(), |oldest| oldest.position - 1)
    }
}

#[cfg(test)]
mod tests;
