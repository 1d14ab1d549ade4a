//! Field types of event data, and their descriptions.

use serde_json::{Map, Value};

use crate::api_key::{ApiKeyKind, Scope};
use crate::ids::{
    ApiKeyId, AppId, AuditEntryId, EmailId, EventId, Id, ManagementKeyId, OperatorLinkId,
    PhoneNumberId, ProviderLinkId, RedirectUrlId, SessionId, SigningKeyId, TotpId, UserId,
    WalletId, WebauthnCredentialId, WebhookEndpointId,
};
use crate::message::{Channel, JobEnd, MessageKind};
use crate::operator::Role;
use crate::provider::ProviderName;
use crate::redirect::RedirectKind;
use crate::session::Proof;
use crate::timestamp::Timestamp;
use crate::wallet::WalletType;

/// Maximum number of ids listed in one event; its count covers all.
pub const MAX_IDS: usize = 100;

/// The type of a field in an event's data, for its description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// An id with this prefix.
    Id(&'static str),
    /// A list of such ids, at most [`MAX_IDS`].
    Ids(&'static str),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A list of some of these words.
    SomeOf(&'static [&'static str]),
    /// Names of changed fields.
    Names,
    /// A name from the App's settings.
    Name,
    /// A whole number.
    Count,
    /// Unix seconds.
    Time,
    /// SHA-256 in hex.
    Sha256,
    /// `type` and `delivery_channel` of a factor.
    Factor,
    /// Any other type, or `null`.
    OrNull(&'static FieldKind),
}

/// A type that can be a field of an event's data.
pub trait Field {
    /// Its description.
    const KIND: FieldKind;

    /// Its JSON value.
    fn value(&self) -> Value;

    /// The user that an event with this field is about.
    fn user_id(&self) -> Option<UserId> {
        None
    }

    /// The wallet that an event with this field is about.
    fn wallet_id(&self) -> Option<WalletId> {
        None
    }
}

impl<F: Field> Field for Option<F> {
    const KIND: FieldKind = FieldKind::OrNull(&F::KIND);

    fn value(&self) -> Value {
        self.as_ref().map_or(Value::Null, Field::value)
    }

    fn user_id(&self) -> Option<UserId> {
        self.as_ref().and_then(Field::user_id)
    }

    fn wallet_id(&self) -> Option<WalletId> {
        self.as_ref().and_then(Field::wallet_id)
    }
}

macro_rules! ids {
    ($($id:ident)*) => {
        $(impl Field for $id {
            const KIND: FieldKind = FieldKind::Id($id::PREFIX);

            fn value(&self) -> Value {
                self.to_string().into()
            }
        })*
    };
}

ids! {
    ApiKeyId AuditEntryId EmailId EventId ManagementKeyId OperatorLinkId PhoneNumberId ProviderLinkId RedirectUrlId SessionId
    SigningKeyId TotpId WebauthnCredentialId WebhookEndpointId
}

impl Field for UserId {
    const KIND: FieldKind = FieldKind::Id(Self::PREFIX);

    fn value(&self) -> Value {
        self.to_string().into()
    }

    fn user_id(&self) -> Option<UserId> {
        Some(*self)
    }
}

impl Field for WalletId {
    const KIND: FieldKind = FieldKind::Id(Self::PREFIX);

    fn value(&self) -> Value {
        self.to_string().into()
    }

    fn wallet_id(&self) -> Option<WalletId> {
        Some(*self)
    }
}

macro_rules! lists {
    ($($id:ident)*) => {
        $(impl Field for Vec<$id> {
            const KIND: FieldKind = FieldKind::Ids($id::PREFIX);

            fn value(&self) -> Value {
                let ids = self.iter().take(MAX_IDS);
                ids.map(|id| Value::from(id.to_string())).collect()
            }
        })*
    };
}

lists! { AppId SessionId }

impl Field for u64 {
    const KIND: FieldKind = FieldKind::Count;

    fn value(&self) -> Value {
        (*self).into()
    }
}

impl Field for Timestamp {
    const KIND: FieldKind = FieldKind::Time;

    fn value(&self) -> Value {
        self.unix().into()
    }
}

impl Field for [u8; 32] {
    const KIND: FieldKind = FieldKind::Sha256;

    fn value(&self) -> Value {
        let digits = self.iter().map(|byte| format!("{byte:02x}"));
        digits.collect::<String>().into()
    }
}

impl Field for Proof {
    const KIND: FieldKind = FieldKind::Factor;

    fn value(&self) -> Value {
        let mut factor = Map::new();
        factor.insert("type".to_owned(), self.kind().into());
        let channel = self.delivery_channel().into_owned();
        factor.insert("delivery_channel".to_owned(), channel.into());
        factor.into()
    }
}

impl Field for ProviderName {
    const KIND: FieldKind = FieldKind::Name;

    fn value(&self) -> Value {
        self.as_str().into()
    }
}

/// The reason that delivery of a message ended.
impl Field for JobEnd {
    const KIND: FieldKind = FieldKind::OneOf(&["refused", "expired", "dead"]);

    fn value(&self) -> Value {
        self.as_str().into()
    }
}

/// Implements [`Field`] for the domain's closed word lists.
macro_rules! words_of {
    ($name:ident) => {{
        const WORDS: [&str; $name::ALL.len()] = {
            let mut words = [""; $name::ALL.len()];
            let (mut left, mut at): (&[$name], usize) = (&$name::ALL, 0);
            while let [first, rest @ ..] = left {
                if let Some(word) = words.split_at_mut(at).1.first_mut() {
                    *word = first.as_str();
                }
                (left, at) = (rest, at + 1);
            }
            words
        };
        &WORDS
    }};
}

macro_rules! named {
    ($($name:ident)*) => {
        $(impl Field for $name {
            const KIND: FieldKind = FieldKind::OneOf(words_of!($name));

            fn value(&self) -> Value {
                self.as_str().into()
            }
        })*
    };
}

named! { ApiKeyKind Channel MessageKind RedirectKind Role WalletType }

impl Field for Vec<Scope> {
    const KIND: FieldKind = FieldKind::SomeOf(words_of!(Scope));

    fn value(&self) -> Value {
        let scopes = self.iter();
        scopes.map(|scope| Value::from(scope.as_str())).collect()
    }
}
