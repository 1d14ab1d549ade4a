//! Events as rows of the log.

use askama::filters::Safe;
use serde_json::{Map, Value};
use vestry_domain::event::Event;

use crate::filters::shortened;
use crate::json::pretty;

/// An event and its subject.
pub(crate) struct EventRow {
    pub(crate) event: Event,
    pub(crate) subject: Option<Subject>,
}

/// The object that an event is about.
pub(crate) struct Subject {
    pub(crate) id: String,
    /// Its page in the environment, if it has one.
    pub(crate) page: Option<String>,
}

impl EventRow {
    pub(crate) fn new(event: Event) -> Self {
        Self {
            subject: subject(&event).map(Subject::new),
            event,
        }
    }

    pub(crate) fn id(&self) -> String {
        self.event.event.id.to_string()
    }

    pub(crate) fn kind(&self) -> &'static str {
        self.event.event.kind.as_str()
    }

    /// The id, shortened.
    pub(crate) fn short_id(&self) -> String {
        shortened(&self.id())
    }

    pub(crate) fn actor(&self) -> &'static str {
        self.event.event.actor.kind()
    }

    /// The subject for lists.
    pub(crate) fn about(&self) -> String {
        let subject = self.subject.as_ref();
        subject.map_or_else(String::new, |subject| shortened(&subject.id))
    }

    /// The user concerned.
    pub(crate) fn user(&self) -> Option<String> {
        self.event.event.user_id.map(|id| id.to_string())
    }

    /// The event as readers of the log get it.
    pub(crate) fn json(&self) -> Safe<String> {
        // Stored data that is no JSON is shown as stored.
        let json = self.event.json();
        pretty(&json.unwrap_or_else(|_broken| self.event.event.data.clone()))
    }
}

impl Subject {
    fn new(id: String) -> Self {
        let page = match id.split_once('_') {
            Some(("user", _)) => Some("users"),
            Some(("wallet", _)) => Some("wallets"),
            Some(("whep", _)) => Some("webhooks"),
            _ => None,
        };
        Self {
            page: page.map(|page| format!("{page}/{id}")),
            id,
        }
    }
}

/// The id of the object that an event is about: the wallet, the user, or else the first id or name in its data.
fn subject(event: &Event) -> Option<String> {
    let own = &event.event;
    if let Some(wallet) = own.wallet_id {
        return Some(wallet.to_string());
    }
    if let Some(user) = own.user_id {
        return Some(user.to_string());
    }
    let data: Map<String, Value> = serde_json::from_str(&own.data).ok()?;
    let mut ids = own.kind.fields().iter().filter_map(|(name, _)| {
        let is_id = name.ends_with("_id") || *name == "provider";
        data.get(*name).filter(|_| is_id)?.as_str()
    });
    ids.next().map(str::to_owned)
}
