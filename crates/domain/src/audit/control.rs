//! The control chains: who changed Apps, keys, settings, and what hangs on them, and who was refused something (AUD-1, AUD-6).
//!
//! Each world has one chain that goes on, and its head is locked by the transaction of each change: the change and its entry are
//! on disk together. Where the database turns out not to be where a process left it, the chain is left as it is, and another one
//! begins with an entry that says so.

use std::fmt;
use std::str::FromStr;

use data_encoding::HEXLOWER;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::Said;
use crate::envelope::{AppKey, KeyPurpose, Mac};
use crate::event::Actor;
use crate::ids::{
    ApiKeyId, AppId, AuditChainId, AuditEntryId, RedirectUrlId, SigningKeyId, UserId,
    WebhookEndpointId,
};
use crate::provider::ProviderName;
use crate::{Invalid, Timestamp, World};

/// Bytes of the detail of an entry at most.
pub const LONGEST_DETAIL: usize = 2_048;
/// Bytes of one value in it at most; of a longer one the hash is kept.
const LONGEST_VALUE: usize = 256;

macro_rules! words {
    ($(#[$about:meta])* $name:ident $field:literal { $($word:ident $text:literal $doc:literal),* $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $(#[doc = $doc] $word,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$word),*];

            /// The name in answers and in the database. Never change one: it is part of what is hashed.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$word => $text,)*
                }
            }

            /// What it means, in a sentence.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$word => $doc,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                let mut words = Self::ALL.iter();
                let found = words.find(|word| word.as_str() == text);
                found.copied().ok_or_else(|| {
                    Invalid::unknown($field, format!(concat!("there is no ", $field, " {:?}"), text))
                })
            }
        }
    };
}

words! {
    /// What was done.
    ControlAction "action" {
        AppCreate "app.create" "An App was made.",
        AppUpdate "app.update" "The name or settings of an App were changed.",
        ApiKeyCreate "api_key.create" "An API key or a public token was made.",
        ApiKeyRotate "api_key.rotate" "One was made with the rights of another, which goes on to work until it is revoked.",
        ApiKeyRevoke "api_key.revoke" "One was revoked.",
        SigningKeyRotate "signing_key.rotate" "Session JWTs are signed with a new key.",
        SigningKeyRevoke "signing_key.revoke" "A key of session JWTs was withdrawn.",
        RedirectUrlAdd "redirect_url.add" "A redirect URL was registered.",
        RedirectUrlUpdate "redirect_url.update" "One became the default.",
        RedirectUrlRemove "redirect_url.remove" "One was removed.",
        ProviderSet "provider.set" "An identity provider was set up, or its settings were changed.",
        ProviderRemove "provider.remove" "One was removed.",
        WebhookEndpointCreate "webhook_endpoint.create" "A receiver of events was set up.",
        WebhookEndpointUpdate "webhook_endpoint.update" "Its URL, name or types were changed.",
        WebhookEndpointEnable "webhook_endpoint.enable" "It is sent events again.",
        WebhookEndpointDisable "webhook_endpoint.disable" "It is sent nothing any more.",
        WebhookEndpointRotateSecret "webhook_endpoint.rotate_secret" "It got a new secret.",
        WebhookEndpointReplay "webhook_endpoint.replay" "It is sent an event once more.",
        WebhookEndpointDelete "webhook_endpoint.delete" "It was removed.",
        UserVouch "user.vouch" "Addresses or numbers of a user were marked as verified on the word of an API key or an operator.",
        UserUnlock "user.unlock" "The waits after failed sign-ins of a user were ended.",
        SessionsEndAll "sessions.end_all" "All sessions of a world were ended. Noted before it is done.",
        UsersImport "users.import" "Users were imported from a file. Noted before it is done.",
        UsersExport "users.export" "Users were exported into a file. Noted before it is done.",
        AppKeyRotate "app_key.rotate" "There is a new version of an App key.",
        AppKeyRewrap "app_key.rewrap" "An App key was wrapped under another version of the root key.",
        AppKeyRetire "app_key.retire" "An old version of an App key was destroyed.",
        RootKeyRetire "root_key.retire" "Old versions of a root key were destroyed. Noted before it is done.",
        RequestDeny "request.deny" "A call was refused for what its key or its user may not do; of many in a minute, there is a `count`.",
        AuditFindingReport "audit_finding.report" "A sink has a checkpoint that the database does not bear out, as was seen at a start.",
        AuditFindingAcknowledge "audit_finding.acknowledge" "What `vestry audit verify` finds about this was explained, and is no failure any more.",
        AuditSinkFail "audit_sink.fail" "A sink has taken no checkpoint for ten periods, and goes on being tried.",
        AuditSinkConflict "audit_sink.conflict" "A sink has another checkpoint of a number: the database was set back, or two deployments share the sink.",
        AuditPrune "audit.prune" "Old entries of a chain were exported into a file and removed. Noted before it is done.",
        ChainRestart "chain.restart" "A chain of this App was left, as the database was set back or the end of the chain was altered: `ended_at` is where it ended, `found_at` where it ends now.",
    }
}

words! {
    /// What kind of thing it was done to.
    SubjectKind "subject" {
        App "app" "An App.",
        ApiKey "api_key" "An API key or a public token.",
        SigningKey "signing_key" "A key of session JWTs.",
        RedirectUrl "redirect_url" "A redirect URL.",
        Provider "provider" "An identity provider, by its name.",
        WebhookEndpoint "webhook_endpoint" "A receiver of events.",
        User "user" "A user.",
        World "world" "An App in an environment.",
        AppKey "app_key" "A version of an App key, by purpose and number.",
        RootKey "root_key" "A root key, by its purpose.",
        Call "call" "A call of the API, by method and path.",
        Chain "chain" "A chain of this log.",
        Checkpoint "checkpoint" "A checkpoint, by its number.",
        AuditSink "audit_sink" "A place that keeps checkpoints, as the settings name it.",
    }
}

words! {
    /// What came of it.
    Outcome "outcome" {
        Done "done" "It was done.",
        Refused "refused" "It was not allowed.",
        Failed "failed" "It was tried, and did not work.",
    }
}

/// What it was done to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// What kind of thing.
    pub kind: SubjectKind,
    /// Which one.
    pub id: String,
}

impl Subject {
    fn new(kind: SubjectKind, id: impl fmt::Display) -> Self {
        Self {
            kind,
            id: id.to_string(),
        }
    }

    /// A world as a whole.
    pub fn world(world: &World) -> Self {
        Self::new(SubjectKind::World, world)
    }

    /// A call of the API, such as `POST /v1/wallets`.
    pub fn call(call: &str) -> Self {
        Self::new(SubjectKind::Call, call)
    }

    /// A version of an App key.
    pub fn app_key(key: &AppKey) -> Self {
        Self::new(
            SubjectKind::AppKey,
            format_args!("{}/{}", key.purpose, key.version),
        )
    }

    /// A root key.
    pub fn root_key(purpose: KeyPurpose) -> Self {
        Self::new(SubjectKind::RootKey, purpose)
    }

    /// A checkpoint.
    pub fn checkpoint(number: i64) -> Self {
        Self::new(SubjectKind::Checkpoint, number)
    }

    /// A sink of checkpoints.
    pub fn audit_sink(name: &str) -> Self {
        Self::new(SubjectKind::AuditSink, name)
    }

    /// An identity provider.
    pub fn provider(name: &ProviderName) -> Self {
        Self::new(SubjectKind::Provider, name)
    }
}

macro_rules! subjects {
    ($($id:ident $kind:ident),*) => {
        $(impl From<$id> for Subject {
            fn from(id: $id) -> Self {
                Self::new(SubjectKind::$kind, id)
            }
        })*
    };
}

subjects! {
    AppId App, ApiKeyId ApiKey, SigningKeyId SigningKey, RedirectUrlId RedirectUrl,
    WebhookEndpointId WebhookEndpoint, UserId User, AuditChainId Chain
}

/// What else is to be known: names, numbers, old and new values. Never a secret, and nothing that a person entered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Detail(Map<String, Value>);

impl Detail {
    /// Adds a value.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), shortened(value.into()));
        self
    }

    /// Adds what became of a value; nothing where it stayed.
    #[must_use]
    pub fn changed(mut self, name: &str, from: Value, to: Value) -> Self {
        if from != to {
            let change = json!({"from": shortened(from), "to": shortened(to)});
            self.0.insert(name.to_owned(), change);
        }
        self
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As JSON, by name. Of what would be too long, the names are left, and in the worst case its hash.
    pub fn text(&self) -> String {
        let mut members: Vec<_> = self.0.iter().collect();
        members.sort_unstable_by_key(|(name, _)| *name);
        let whole = object(
            members
                .iter()
                .map(|(name, value)| (*name, (*value).clone())),
        );
        if whole.len() <= LONGEST_DETAIL {
            return whole;
        }
        let names: Vec<&String> = members.iter().map(|(name, _)| *name).collect();
        let hash = hash_of(&whole);
        let named = json!({"names": names, "sha256": hash}).to_string();
        if named.len() <= LONGEST_DETAIL {
            return named;
        }
        json!({"sha256": hash}).to_string()
    }
}

fn object<'a>(members: impl Iterator<Item = (&'a String, Value)>) -> String {
    let map: Map<String, Value> = members.map(|(name, value)| (name.clone(), value)).collect();
    Value::Object(map).to_string()
}

fn shortened(value: Value) -> Value {
    let text = value.to_string();
    if text.len() <= LONGEST_VALUE {
        return value;
    }
    json!({"sha256": hash_of(&text)})
}

fn hash_of(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text))
}

/// What happened, before it has its place in a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlEvent {
    /// App and environment.
    pub world: World,
    /// Who did it.
    pub actor: Actor,
    /// What was done.
    pub action: ControlAction,
    /// To what.
    pub subject: Subject,
    /// [`Detail::text`].
    pub detail: String,
    /// What came of it.
    pub outcome: Outcome,
    /// By which request.
    pub request_id: Option<String>,
    /// When, by the machine's clock.
    pub at: Timestamp,
}

/// An entry in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlEntry {
    /// The id; ids of a chain rise with their place in it.
    pub id: AuditEntryId,
    /// Its chain.
    pub chain: AuditChainId,
    /// Its place in the chain, from 1.
    pub sequence: i64,
    /// What happened.
    pub event: ControlEvent,
    /// Hash of the entry before it; zeros for the first.
    pub previous: [u8; 32],
    /// [`ControlEntry::digest`].
    pub hash: [u8; 32],
    /// Keyed hash of `hash`.
    pub mac: Mac,
}

impl ControlEntry {
    /// What the hash of an entry has to be: SHA-256 over all of it but the hashes of its own.
    pub fn digest(
        id: AuditEntryId,
        chain: AuditChainId,
        sequence: i64,
        event: &ControlEvent,
        previous: &[u8; 32],
    ) -> [u8; 32] {
        let said = Said {
            world: event.world,
            chain,
            sequence,
            id,
            actor: (event.actor.kind(), event.actor.id().unwrap_or_default()),
            action: event.action.as_str(),
            subject: (event.subject.kind.as_str(), &event.subject.id),
            detail: &event.detail,
            payload: &[],
            result: &[],
            outcome: event.outcome,
            at: event.at,
            request_id: event.request_id.as_deref(),
            previous,
        };
        said.digest()
    }

    /// Whether the entry follows the one whose hash and place are given, and its hash is its own.
    pub fn follows(&self, sequence: i64, previous: &[u8; 32]) -> bool {
        let digest = Self::digest(
            self.id,
            self.chain,
            self.sequence,
            &self.event,
            &self.previous,
        );
        sequence.checked_add(1) == Some(self.sequence)
            && self.previous == *previous
            && self.hash == digest
    }
}

/// Whom or what entries are asked for by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Party<K> {
    /// All of a kind.
    Kind(K),
    /// This one.
    Id(String),
}

/// Which entries are wanted; what is empty or `None` is not asked about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ControlFilter {
    /// By whom; a kind is named as [`Actor::kind`] does.
    pub actor: Option<Party<String>>,
    /// What was done.
    pub actions: Vec<ControlAction>,
    /// To what.
    pub subject: Option<Party<SubjectKind>>,
    /// What came of it.
    pub outcome: Option<Outcome>,
    /// Not before this second.
    pub from: Option<Timestamp>,
    /// Before this second.
    pub until: Option<Timestamp>,
}

/// How far a chain goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlHead {
    /// App and environment.
    pub world: World,
    /// Which chain of its world, from 1; the one with the highest number goes on.
    pub number: i64,
    /// The chain.
    pub chain: AuditChainId,
    /// Place of its last entry.
    pub sequence: i64,
    /// Hash of its last entry.
    pub hash: [u8; 32],
    /// Keyed hash of the head.
    pub mac: Mac,
}

impl ControlHead {
    /// The parts under the keyed hash of a head.
    pub fn sealed_parts(
        number: i64,
        chain: AuditChainId,
        sequence: i64,
        hash: &[u8; 32],
    ) -> [Vec<u8>; 4] {
        [
            number.to_be_bytes().to_vec(),
            chain.to_string().into_bytes(),
            sequence.to_be_bytes().to_vec(),
            hash.to_vec(),
        ]
    }
}

#[cfg(test)]
mod tests;
