//! Webhook endpoints and the event types that they get.

use std::fmt;

use super::EndpointUrl;
use crate::envelope::Sealed;
use crate::event::{DisabledReason, EventKind, kinds};
use crate::ids::{WebhookEndpointId, WebhookSecretId};
use crate::{Invalid, Timestamp, World};

const ALL: &str = "*";
/// Maximum number of names in a list.
const MAX_NAMES: usize = 20;

/// The event types that an endpoint gets: names, `group.*`, or `*`. Optional types must be named individually.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventTypes {
    names: Vec<String>,
    /// The types selected by names other than the star.
    kinds: Vec<EventKind>,
    all: bool,
}

impl EventTypes {
    /// Parses a list of names and returns it sorted and without duplicates.
    ///
    /// # Errors
    /// If the list is empty or too long, or a name is unknown; names `types`.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, Invalid> {
        let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            let message = "types must have at least one entry; use * for all types";
            return Err(Invalid::value("types", message));
        }
        if names.len() > MAX_NAMES {
            let message =
                "types must have at most 20 entries; use group.* for all types of a group";
            return Err(Invalid::value("types", message));
        }
        let named = names.iter().map(String::as_str).filter(|name| *name != ALL);
        let kinds = kinds(named)?;
        let all = names.iter().any(|name| name == ALL);
        Ok(Self { names, kinds, all })
    }

    /// The names as given.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether events of this type are sent.
    pub fn select(&self, kind: EventKind) -> bool {
        self.kinds.contains(&kind) || (self.all && !kind.is_optional())
    }

    /// The selected types.
    pub fn selected(&self) -> Vec<EventKind> {
        let all = EventKind::ALL.iter().copied();
        all.filter(|kind| self.select(*kind)).collect()
    }

    /// The optional types among the selected ones.
    pub fn optional(&self) -> impl Iterator<Item = EventKind> {
        let kinds = self.kinds.iter().copied();
        kinds.filter(|kind| kind.is_optional())
    }
}

/// The state of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointState {
    /// It is enabled.
    Active,
    /// It is enabled, but a delivery has failed three times.
    Failing,
    /// It is disabled.
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

/// A webhook endpoint of a world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The id.
    pub id: WebhookEndpointId,
    /// The App and environment whose events it gets.
    pub world: World,
    /// The URL that events are sent to.
    pub url: EndpointUrl,
    /// A name chosen by its owner.
    pub name: Option<String>,
    /// The types of events that it gets.
    pub types: EventTypes,
    /// The reason that it is disabled, if it is.
    pub disabled: Option<DisabledReason>,
    /// When it started to fail, by its world's clock; `None` if it is not failing.
    pub failing_since: Option<Timestamp>,
    /// The last successful delivery, to the minute, by the machine's clock.
    pub last_success_at: Option<Timestamp>,
    /// When it was created, by the machine's clock.
    pub created_at: Timestamp,
    /// When its settings last changed.
    pub updated_at: Timestamp,
}

impl Endpoint {
    /// The state of the endpoint.
    pub const fn state(&self) -> EndpointState {
        match (self.disabled, self.failing_since) {
            (Some(_), _) => EndpointState::Disabled,
            (None, Some(_)) => EndpointState::Failing,
            (None, None) => EndpointState::Active,
        }
    }
}

/// A stored secret of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedSecret {
    /// The id, which the encryption is bound to.
    pub id: WebhookSecretId,
    /// The endpoint that it belongs to.
    pub endpoint_id: WebhookEndpointId,
    /// App and environment.
    pub world: World,
    /// The encrypted secret.
    pub sealed: Sealed,
    /// The last four characters of its text form.
    pub last_four: String,
    /// When it was created, by the machine's clock.
    pub created_at: Timestamp,
    /// When it stops signing; `None` for the newest.
    pub expires_at: Option<Timestamp>,
}
