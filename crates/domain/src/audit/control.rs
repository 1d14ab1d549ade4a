//! The control chains: who changed Apps, keys, settings and what belongs to them, and who was refused a call (AUD-1, AUD-6).
//!
//! Each world has one active chain. The transaction of each change locks the chain's head, so the change and its entry are committed
//! together. If the database is not in the state in which a process left it, the chain is abandoned. A new one begins with an entry that
//! says so.

use std::fmt;
use std::str::FromStr;

use data_encoding::HEXLOWER;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::Said;
use crate::envelope::{AppKey, KeyPurpose, Mac};
use crate::event::Actor;
use crate::ids::{
    ApiKeyId, AppId, AuditChainId, AuditEntryId, ManagementKeyId, OperatorLinkId, RedirectUrlId,
    SigningKeyId, UserId, WebhookEndpointId,
};
use crate::provider::ProviderName;
use crate::{Invalid, Timestamp, World};

/// Maximum size of an entry's detail in bytes.
pub const MAX_DETAIL: usize = 2_048;
/// Maximum size of one value in it, in bytes; a longer one is replaced by its hash.
const MAX_VALUE: usize = 256;

macro_rules! words {
    ($(#[$about:meta])* $name:ident $field:literal { $($word:ident $text:literal $doc:literal),* $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $(#[doc = $doc] $word,)*
        }

        impl $name {
            /// All values.
            pub const ALL: &'static [Self] = &[$(Self::$word),*];

            /// The name in responses and in the database. Never change one: it is part of the hashed data.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$word => $text,)*
                }
            }

            /// The meaning, in one sentence.
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
                    Invalid::unknown($field, format!(concat!("unknown ", $field, " {:?}"), text))
                })
            }
        }
    };
}

words! {
    /// An action recorded in the audit log.
    ControlAction "action" {
        AppCreate "app.create" "An App was created.",
        AppUpdate "app.update" "The name or settings of an App were changed, or it was disabled or enabled.",
        ApiKeyCreate "api_key.create" "An API key or public token was created.",
        ApiKeyUpdate "api_key.update" "The name, scopes or restrictions of an API key were changed.",
        ApiKeyRotate "api_key.rotate" "An API key or public token was created with the permissions of an existing one, which keeps working until it is revoked.",
        ApiKeyRevoke "api_key.revoke" "An API key or public token was revoked.",
        ManagementKeyCreate "management_key.create" "A management key was created.",
        ManagementKeyRevoke "management_key.revoke" "A management key was revoked.",
        OperatorInvite "operator.invite" "A link was created that lets an operator join.",
        OperatorWithdraw "operator.withdraw" "An invitation was withdrawn before it was accepted.",
        OperatorJoin "operator.join" "An operator used a link to join, to get further roles, or to set up new factors.",
        OperatorUpdate "operator.update" "The roles of an operator were changed.",
        OperatorDisable "operator.disable" "An operator was disabled.",
        OperatorEnable "operator.enable" "An operator was enabled again.",
        OperatorReset "operator.reset" "The factors of an operator were removed, and a link for new ones was created.",
        OperatorRemove "operator.remove" "An operator was removed.",
        OperatorSignIn "operator.sign_in" "An operator signed in.",
        OperatorStepUp "operator.step_up" "An operator proved the second factor again.",
        OperatorSignOut "operator.sign_out" "An operator ended a session of their own.",
        OperatorFactor "operator.factor" "An operator set, created or removed one of their own factors.",
        OperatorUnlock "operator.unlock" "An operator's sign-in lockout was cleared.",
        SigningKeyRotate "signing_key.rotate" "A new key for signing session JWTs was created.",
        SigningKeyRevoke "signing_key.revoke" "A key for signing session JWTs was revoked.",
        RedirectUrlAdd "redirect_url.add" "A redirect URL was registered.",
        RedirectUrlUpdate "redirect_url.update" "A redirect URL became the default.",
        RedirectUrlRemove "redirect_url.remove" "A redirect URL was removed.",
        ProviderSet "provider.set" "An identity provider was configured, or its settings were changed.",
        ProviderRemove "provider.remove" "An identity provider was removed.",
        WebhookEndpointCreate "webhook_endpoint.create" "A webhook endpoint was created.",
        WebhookEndpointUpdate "webhook_endpoint.update" "The URL, name or event types of a webhook endpoint were changed.",
        WebhookEndpointEnable "webhook_endpoint.enable" "A webhook endpoint was enabled again.",
        WebhookEndpointDisable "webhook_endpoint.disable" "A webhook endpoint was disabled.",
        WebhookEndpointRotateSecret "webhook_endpoint.rotate_secret" "A new signing secret was created for a webhook endpoint.",
        WebhookEndpointReplay "webhook_endpoint.replay" "A redelivery of events to a webhook endpoint was requested.",
        WebhookEndpointTest "webhook_endpoint.test" "A sample event was sent to a webhook endpoint. Recorded before it is.",
        WebhookEndpointDelete "webhook_endpoint.delete" "A webhook endpoint was deleted.",
        UserVouch "user.vouch" "An API key or an operator marked addresses or phone numbers of a user as verified.",
        UserUpdate "user.update" "An operator changed a user: names, metadata, addresses, factors, identity provider links, sessions or wallets.",
        UserDisable "user.disable" "An operator disabled a user.",
        UserEnable "user.enable" "An operator enabled a user again.",
        UserDelete "user.delete" "An operator deleted a user.",
        UserUnlock "user.unlock" "A user's sign-in lockout was cleared.",
        UserView "user.view" "An operator read a user of a live environment: one entry an hour for each operator and user.",
        TestClockSet "test_clock.set" "An operator set or reset the clock of a test environment.",
        TestMessagesClear "test_messages.clear" "An operator deleted the captured messages of a test environment.",
        TestMessageSend "test_message.send" "An operator sent a test message to their own address. Recorded before it is.",
        OutboxRetry "outbox.retry" "A message that could not be handled was queued again.",
        OutboxDrop "outbox.drop" "A message that could not be handled was deleted.",
        SessionsEndAll "sessions.end_all" "All sessions of an App in one environment were ended. Recorded before they are.",
        UsersImport "users.import" "Users were imported from a file. Recorded before they are.",
        UsersExport "users.export" "Users were exported to a file. Recorded before they are.",
        AppKeyRotate "app_key.rotate" "A new version of an App key was created.",
        AppKeyRewrap "app_key.rewrap" "An App key was wrapped under another version of the root key.",
        AppKeyRetire "app_key.retire" "An old version of an App key was destroyed.",
        RootKeyRetire "root_key.retire" "Old versions of a root key were destroyed. Recorded before they are.",
        DatabaseBackup "database.backup" "A backup of the database was completed.",
        DatabaseRecover "database.recover" "Everything short-lived was ended, because the database was restored or set back.",
        RequestDeny "request.deny" "A call was refused because its key or user lacks permission. If many are refused within a minute, one entry has their `count`.",
        AuditFindingReport "audit_finding.report" "At startup, the database did not match a checkpoint stored in a sink.",
        AuditFindingAcknowledge "audit_finding.acknowledge" "A finding of `vestry audit verify` was acknowledged and no longer makes it fail.",
        AuditSinkFail "audit_sink.fail" "A sink has accepted no checkpoint for ten periods. Delivery is still retried.",
        AuditSinkConflict "audit_sink.conflict" "A sink has a different checkpoint with the same number: the database was rolled back, or two deployments share the sink.",
        AuditPrune "audit.prune" "Old entries of a chain were exported to a file and removed. Recorded before they are.",
        ChainRestart "chain.restart" "A chain of this App was abandoned because the database was rolled back or the chain's end was altered. `ended_at` is where it ended, `found_at` where it ends now.",
    }
}

words! {
    /// The kind of object that an entry is about.
    SubjectKind "subject" {
        App "app" "An App.",
        ApiKey "api_key" "An API key or public token.",
        ManagementKey "management_key" "A management key.",
        SigningKey "signing_key" "A key for signing session JWTs.",
        OperatorLink "operator_link" "A link that lets an operator in.",
        RedirectUrl "redirect_url" "A redirect URL.",
        Provider "provider" "An identity provider, by its name.",
        WebhookEndpoint "webhook_endpoint" "A webhook endpoint.",
        User "user" "A user.",
        World "world" "An App in one environment.",
        AppKey "app_key" "A version of an App key, by purpose and number.",
        RootKey "root_key" "A root key, by its purpose.",
        Call "call" "An API call, by method and path.",
        Chain "chain" "A chain of the audit log.",
        Checkpoint "checkpoint" "A checkpoint, by its number.",
        AuditSink "audit_sink" "A checkpoint sink, by its name in the settings.",
        Database "database" "The database of the deployment.",
    }
}

words! {
    /// The outcome of an action.
    Outcome "outcome" {
        Done "done" "The action was carried out.",
        Refused "refused" "The action was not allowed.",
        Failed "failed" "The action was attempted and failed.",
    }
}

/// The object that an entry is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The kind of object.
    pub kind: SubjectKind,
    /// Its id or name.
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

    /// An API call, such as `POST /v1/wallets`.
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

    /// A checkpoint sink.
    pub fn audit_sink(name: &str) -> Self {
        Self::new(SubjectKind::AuditSink, name)
    }

    /// The database.
    pub fn database() -> Self {
        Self::new(SubjectKind::Database, "database")
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
    AppId App, ApiKeyId ApiKey, ManagementKeyId ManagementKey, OperatorLinkId OperatorLink, SigningKeyId SigningKey, RedirectUrlId RedirectUrl,
    WebhookEndpointId WebhookEndpoint, UserId User, AuditChainId Chain
}

/// Further details of an entry: names, numbers, old and new values. Never a secret or anything that a person entered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Detail(Map<String, Value>);

impl Detail {
    /// Adds a value.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), shortened(value.into()));
        self
    }

    /// Adds the old and new value of a field, or nothing if they are equal.
    #[must_use]
    pub fn changed(mut self, name: &str, from: Value, to: Value) -> Self {
        if from != to {
            let change = json!({"from": shortened(from), "to": shortened(to)});
            self.0.insert(name.to_owned(), change);
        }
        self
    }

    /// Whether there are no details.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The details as JSON, sorted by name. If that is too long, only the names and a hash remain, or just the hash.
    pub fn text(&self) -> String {
        let mut members: Vec<_> = self.0.iter().collect();
        members.sort_unstable_by_key(|(name, _)| *name);
        let whole = object(
            members
                .iter()
                .map(|(name, value)| (*name, (*value).clone())),
        );
        if whole.len() <= MAX_DETAIL {
            return whole;
        }
        let names: Vec<&String> = members.iter().map(|(name, _)| *name).collect();
        let hash = hash_of(&whole);
        let named = json!({"names": names, "sha256": hash}).to_string();
        if named.len() <= MAX_DETAIL {
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
    if text.len() <= MAX_VALUE {
        return value;
    }
    json!({"sha256": hash_of(&text)})
}

fn hash_of(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text))
}

/// A control event that has no position in a chain yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlEvent {
    /// App and environment.
    pub world: World,
    /// The actor.
    pub actor: Actor,
    /// The action.
    pub action: ControlAction,
    /// The object that it concerns.
    pub subject: Subject,
    /// [`Detail::text`].
    pub detail: String,
    /// The outcome.
    pub outcome: Outcome,
    /// The request that caused it.
    pub request_id: Option<String>,
    /// When it happened, by the machine's clock.
    pub at: Timestamp,
}

/// An entry with its position in a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlEntry {
    /// The id; within a chain, ids increase with `sequence`.
    pub id: AuditEntryId,
    /// The chain that the entry belongs to.
    pub chain: AuditChainId,
    /// Position in the chain, from 1.
    pub sequence: i64,
    /// The recorded event.
    pub event: ControlEvent,
    /// Hash of the previous entry; zeros for the first.
    pub previous: [u8; 32],
    /// [`ControlEntry::digest`].
    pub hash: [u8; 32],
    /// MAC of `hash`.
    pub mac: Mac,
}

impl ControlEntry {
    /// Computes the hash of an entry: SHA-256 over all fields except its own hash and MAC.
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

    /// Whether the entry directly follows the entry with the given position and hash, and its own hash is correct.
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

/// An actor or object to filter by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Party<K> {
    /// All of one kind.
    Kind(K),
    /// The one with this id.
    Id(String),
}

/// A filter for entries. Empty lists and `None` match everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ControlFilter {
    /// The actor; kinds are named as by [`Actor::kind`].
    pub actor: Option<Party<String>>,
    /// The actions.
    pub actions: Vec<ControlAction>,
    /// The object.
    pub subject: Option<Party<SubjectKind>>,
    /// The outcome.
    pub outcome: Option<Outcome>,
    /// Earliest time, inclusive.
    pub from: Option<Timestamp>,
    /// Latest time, exclusive.
    pub until: Option<Timestamp>,
}

/// The head of a chain: its last entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlHead {
    /// App and environment.
    pub world: World,
    /// The number of the chain in its world, from 1. The chain with the highest number is the active one.
    pub number: i64,
    /// The chain.
    pub chain: AuditChainId,
    /// Position of the last entry.
    pub sequence: i64,
    /// Hash of the last entry.
    pub hash: [u8; 32],
    /// MAC over [`ControlHead::sealed_parts`].
    pub mac: Mac,
}

impl ControlHead {
    /// The parts that the MAC of a head covers.
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
