//! Who is sent which events.

use std::fmt;

use super::EndpointUrl;
use crate::envelope::Sealed;
use crate::event::{DisabledReason, EventKind, kinds};
use crate::ids::{WebhookEndpointId, WebhookSecretId};
use crate::{Invalid, Timestamp, World};

const ALL: &str = "*";
/// Names in a list at most.
const MOST_NAMES: usize = 20;

/// The types of events that an endpoint is sent: names, `group.*`, or `*`. Types that are written on demand only are named one by
/// one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventTypes {
    names: Vec<String>,
    /// What the names name, without the star.
    kinds: Vec<EventKind>,
    all: bool,
}

impl EventTypes {
    /// Reads a list of names; sorted, each once.
    ///
    /// # Errors
    /// None, too many, or one of no type; names `types`.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, Invalid> {
        let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            let message = "types must have at least one name; use * for all types";
            return Err(Invalid::value("types", message));
        }
        if names.len() > MOST_NAMES {
            let message = "types must have at most 20 names; use group.* for all of a group";
            return Err(Invalid::value("types", message));
        }
        let named = names.iter().map(String::as_str).filter(|name| *name != ALL);
        let kinds = kinds(named)?;
        let all = names.iter().any(|name| name == ALL);
        Ok(Self { names, kinds, all })
    }

    /// As they were given.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether events of this kind are sent.
    pub fn select(&self, kind: EventKind) -> bool {
        self.kinds.contains(&kind) || (self.all && !kind.is_optional())
    }

    /// The kinds that are sent.
    pub fn selected(&self) -> Vec<EventKind> {
        let all = EventKind::ALL.iter().copied();
        all.filter(|kind| self.select(*kind)).collect()
    }

    /// The kinds among them that are written on demand only.
    pub fn optional(&self) -> impl Iterator<Item = EventKind> {
        let kinds = self.kinds.iter().copied();
        kinds.filter(|kind| kind.is_optional())
    }
}

/// How an endpoint does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointState {
    /// It is sent events.
    Active,
    /// It is sent events, and something has failed three times.
    Failing,
    /// It is sent nothing.
    Disabled,
}

impl fmt::Display for EndpointState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Active => "active",
            Self::Failing => "failing",
            Self::Disabled => "disabled",
        })
    }
}

/// A receiver of events of one world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Its id.
    pub id: WebhookEndpointId,
    /// Whose events.
    pub world: World,
    /// Where to.
    pub url: EndpointUrl,
    /// What its owner calls it.
    pub name: Option<String>,
    /// Which of them.
    pub types: EventTypes,
    /// Why it is sent nothing, if so.
    pub disabled: Option<DisabledReason>,
    /// Since when it fails, by the clock of its world; `None` when it does not.
    pub failing_since: Option<Timestamp>,
    /// When it last took something, to the minute, by the machine's clock.
    pub last_success_at: Option<Timestamp>,
    /// By the machine's clock.
    pub created_at: Timestamp,
    /// When it was last changed by somebody.
    pub updated_at: Timestamp,
}

impl Endpoint {
    /// How it does.
    pub const fn state(&self) -> EndpointState {
        match (self.disabled, self.failing_since) {
            (Some(_), _) => EndpointState::Disabled,
            (None, Some(_)) => EndpointState::Failing,
            (None, None) => EndpointState::Active,
        }
    }
}

/// A secret of an endpoint, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedSecret {
    /// Its id, to which the seal is bound.
    pub id: WebhookSecretId,
    /// Whose.
    pub endpoint_id: WebhookEndpointId,
    /// App and environment.
    pub world: World,
    /// The secret.
    pub sealed: Sealed,
    /// The end of its written form.
    pub last_four: String,
    /// By the machine's clock.
    pub created_at: Timestamp,
    /// From when on nothing is signed with it; `None` for the newest.
    pub expires_at: Option<Timestamp>,
}
