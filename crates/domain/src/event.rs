//! Events: what Vestry tells the outside about its own changes (E-1 to E-10).
//!
//! A use case makes a [`Fact`] of each change and leaves it in the transaction of the change. Afterwards it gets its place in the
//! log of its world, and is an [`Event`] then. Nothing in it is a value that a person entered.

mod address;
mod field;
mod json;
mod kind;
mod words;

pub use address::Addressed;
pub use field::{Field, FieldKind, MOST_IDS};
pub use json::{TEST, sample};
pub use kind::{EventKind, Fact, kinds};
pub use words::{
    ChangedFields, DisabledReason, EndReason, FailReason, Method, Removed, RpcMethod, SignedBy, Via,
};

use crate::ids::{ApiKeyId, EventId, UserId, WalletId};
use crate::{Invalid, Timestamp, World};

/// Events that a transaction is made to tell at most, where many things can be done in one or in several.
pub const MOST_AT_ONCE: usize = 100;

/// Who made a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Actor {
    /// A backend with a secret key.
    ApiKey(ApiKeyId),
    /// A page with a public token.
    PublicToken(ApiKeyId),
    /// The end user, on a page of the service.
    EndUser(UserId),
    /// Whoever runs `vestry` on the machine.
    Cli,
    /// The service itself.
    System,
}

impl Actor {
    /// The names of all kinds, as they stand on the wire.
    pub const KINDS: [&'static str; 5] = ["api_key", "public_token", "end_user", "cli", "system"];

    /// Such as `api_key`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::ApiKey(_) => "api_key",
            Self::PublicToken(_) => "public_token",
            Self::EndUser(_) => "end_user",
            Self::Cli => "cli",
            Self::System => "system",
        }
    }

    /// Its id, if it has one.
    pub fn id(&self) -> Option<String> {
        match self {
            Self::ApiKey(id) | Self::PublicToken(id) => Some(id.to_string()),
            Self::EndUser(id) => Some(id.to_string()),
            Self::Cli | Self::System => None,
        }
    }

    /// What [`Actor::kind`] and [`Actor::id`] were made of.
    ///
    /// # Errors
    /// There is no such kind, or it has another sort of id.
    pub fn parse(kind: &str, id: Option<&str>) -> Result<Self, Invalid> {
        let unknown = || Invalid::value("actor", "there is no such kind of actor");
        Ok(match (kind, id) {
            ("api_key", Some(id)) => Self::ApiKey(id.parse()?),
            ("public_token", Some(id)) => Self::PublicToken(id.parse()?),
            ("end_user", Some(id)) => Self::EndUser(id.parse()?),
            ("cli", None) => Self::Cli,
            ("system", None) => Self::System,
            _ => return Err(unknown()),
        })
    }
}

/// An event without a place in its log: on disk with its change, and seen by nobody yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Its id, whose time is the machine's.
    pub id: EventId,
    /// Whose log it goes into.
    pub world: World,
    /// What happened.
    pub kind: EventKind,
    /// The user that it is about.
    pub user_id: Option<UserId>,
    /// The wallet that it is about.
    pub wallet_id: Option<WalletId>,
    /// Who did it.
    pub actor: Actor,
    /// By which request.
    pub request_id: Option<String>,
    /// Ids, counts, reasons and names, as a JSON object.
    pub data: String,
    /// When, by the clock of the world.
    pub created_at: Timestamp,
}

/// An event in the log of its world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// What was left with the change.
    pub event: NewEvent,
    /// Which log: one more each time that events were lost with a part of the database.
    pub log: i64,
    /// Its place, from 1, without a hole.
    pub position: i64,
}

/// A place in a log, and the event that stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The place.
    pub position: i64,
    /// The event.
    pub id: EventId,
}

/// Where the log of a world begins and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventHead {
    /// Which log.
    pub log: i64,
    /// The oldest event that is kept; `None` when none is.
    pub oldest: Option<Mark>,
    /// The event that came last, which may be gone by now; `None` when there was none yet.
    pub newest: Option<Mark>,
    /// The last event that was deleted, whose place was directly before the oldest one. `None` when none was deleted yet.
    pub pruned: Option<EventId>,
}

impl EventHead {
    /// Of a world of which nothing was told yet.
    pub const EMPTY: Self = Self {
        log: 1,
        oldest: None,
        newest: None,
        pruned: None,
    };

    /// The place of the newest event, or 0.
    pub fn position(&self) -> i64 {
        self.newest.map_or(0, |newest| newest.position)
    }

    /// The place of the last event that was deleted, or 0.
    pub fn pruned_position(&self) -> i64 {
        self.oldest
            .map_or_else(|| self.position(), |oldest| oldest.position - 1)
    }
}

#[cfg(test)]
mod tests;
