//! The journal: what a restored database lacks, kept outside the database.
//!
//! - Wallets and App keys as they are stored, written before they are committed (PR-148). Nothing is in the clear that is sealed in the
//!   database. Such an entry is not trusted: keys are encrypted for their place, and the MAC of a wallet covers its fields.
//! - Changes that took an access away, written once they are committed, each with a MAC (PR-85).
//!
//! An entry is one line of JSON. Binary values are in base64 (RFC 4648, section 4).

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};

use crate::envelope::{AppKey, KeyPurpose, Mac, WalletKey, WrappedKey};
use crate::event::{EventKind, NewEvent};
use crate::ids::{AppId, EventId};
use crate::wallet::{StoredWallet, Wallet};
use crate::{Environment, Timestamp, World};

/// Name of the setting of an App that allows the export of keys.
pub const EXPORT: &str = "wallet_export";

/// An entry of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalEntry {
    /// An App with its keys.
    App(JournaledApp),
    /// A wallet with its keys.
    Wallet(Box<JournaledWallet>),
    /// A change.
    Change(SignedChange),
}

/// A committed change that took an access away, or gave one back.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Change {
    /// The event that reports it.
    pub event: EventId,
    /// App and environment.
    pub world: World,
    /// Its kind: the name of an event.
    pub what: String,
    /// The data of the event, as JSON.
    pub data: String,
    /// When it happened, by the machine's clock.
    pub at: Timestamp,
}

/// A change as it is in the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedChange {
    /// The text that the MAC covers.
    pub body: String,
    /// The MAC; to be checked before the body is read.
    pub mac: Mac,
}

#[derive(Serialize, Deserialize)]
struct ChangeLine {
    body: String,
    mac_version: u32,
    mac: String,
}

#[derive(Serialize, Deserialize)]
struct ChangeBody {
    event: String,
    app: String,
    environment: String,
    what: String,
    data: String,
    at: Timestamp,
}

impl Change {
    /// The change that an event reports; `None` if a recovery need not repeat it.
    pub fn of(event: &NewEvent) -> Option<Self> {
        // Most updates of an App take nothing away.
        let is_due = event.kind != EventKind::AppUpdated || event.data.contains(EXPORT);
        (event.kind.is_journaled() && is_due).then(|| Self {
            event: event.id,
            world: event.world,
            what: event.kind.as_str().to_owned(),
            data: event.data.clone(),
            at: event.id.timestamp(),
        })
    }

    /// The text that is signed.
    ///
    /// # Errors
    /// Never.
    pub fn body(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(&ChangeBody {
            event: self.event.to_string(),
            app: self.world.app_id.to_string(),
            environment: self.world.environment.to_string(),
            what: self.what.clone(),
            data: self.data.clone(),
            at: self.at,
        })
    }

    /// Reads the text of [`Change::body`].
    pub fn parse(body: &str) -> Option<Self> {
        let body: ChangeBody = serde_json::from_str(body).ok()?;
        Some(Self {
            event: body.event.parse().ok()?,
            world: World::new(body.app.parse().ok()?, body.environment.parse().ok()?),
            what: body.what,
            data: body.data,
            at: body.at,
        })
    }
}

/// An App of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournaledApp {
    /// Its id.
    pub id: AppId,
    /// Its name when it was created.
    pub name: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// Its keys in both environments.
    pub keys: Vec<AppKey>,
}

/// A wallet of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournaledWallet {
    /// Its row; not to be trusted before the MAC is checked.
    pub wallet: StoredWallet,
    /// Its private key.
    pub key: WalletKey,
    /// The App key that both are stored under.
    pub app_key: AppKey,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Line {
    App(AppLine),
    Wallet(Box<WalletLine>),
    Change(ChangeLine),
}

#[derive(Serialize, Deserialize)]
struct AppLine {
    app: String,
    name: String,
    created_at: Timestamp,
    keys: Vec<AppKeyLine>,
}

#[derive(Serialize, Deserialize)]
struct AppKeyLine {
    environment: String,
    purpose: String,
    version: u32,
    root_version: u32,
    wrapped: String,
    created_at: Timestamp,
}

#[derive(Serialize, Deserialize)]
struct WalletLine {
    wallet: String,
    app: String,
    environment: String,
    user: String,
    wallet_type: String,
    public_address: String,
    verified: bool,
    is_default: bool,
    is_imported: bool,
    account_index: Option<u32>,
    created_at: Timestamp,
    mac_version: u32,
    mac: String,
    key: String,
    public_key: String,
    format: u32,
    key_version: u32,
    wrapped_data_key: String,
    ciphertext: String,
    app_key: AppKeyLine,
}

impl JournalEntry {
    /// The entry of a new wallet; `None` if it has no key here. A new wallet is neither disabled nor read-only.
    pub fn wallet(wallet: StoredWallet, key: WalletKey, app_key: AppKey) -> Option<Self> {
        let row = &wallet.wallet;
        let is_new = row.key_id == Some(key.id) && row.disabled.is_none() && !row.is_read_only;
        is_new.then(|| {
            Self::Wallet(Box::new(JournaledWallet {
                wallet,
                key,
                app_key,
            }))
        })
    }

    /// The line, without its line feed.
    ///
    /// # Errors
    /// Never for an entry of this module.
    pub fn line(&self) -> Result<String, serde_json::Error> {
        let line = match self {
            Self::App(app) => Line::App(AppLine {
                app: app.id.to_string(),
                name: app.name.clone(),
                created_at: app.created_at,
                keys: app.keys.iter().map(AppKeyLine::from).collect(),
            }),
            Self::Change(change) => Line::Change(ChangeLine {
                body: change.body.clone(),
                mac_version: change.mac.key_version,
                mac: BASE64.encode(&change.mac.tag),
            }),
            Self::Wallet(it) => {
                let StoredWallet { wallet, mac } = &it.wallet;
                Line::Wallet(Box::new(WalletLine {
                    wallet: wallet.id.to_string(),
                    app: wallet.world.app_id.to_string(),
                    environment: wallet.world.environment.to_string(),
                    user: wallet.user_id.to_string(),
                    wallet_type: wallet.wallet_type.to_string(),
                    public_address: wallet.public_address.clone(),
                    verified: wallet.verified,
                    is_default: wallet.is_default,
                    is_imported: wallet.is_imported,
                    account_index: wallet.account_index,
                    created_at: wallet.created_at,
                    mac_version: mac.key_version,
                    mac: BASE64.encode(&mac.tag),
                    key: it.key.id.to_string(),
                    public_key: BASE64.encode(&it.key.public_key),
                    format: it.key.format,
                    key_version: it.key.key_version,
                    wrapped_data_key: BASE64.encode(&it.key.wrapped_data_key),
                    ciphertext: BASE64.encode(&it.key.ciphertext),
                    app_key: AppKeyLine::from(&it.app_key),
                }))
            }
        };
        serde_json::to_string(&line)
    }

    /// Reads a line; `None` if it is not an entry, or of a kind that this version does not know.
    pub fn parse(line: &str) -> Option<Self> {
        Some(match serde_json::from_str(line).ok()? {
            Line::App(line) => {
                let id = line.app.parse().ok()?;
                let keys = line.keys.into_iter().map(|key| key.read(id));
                Self::App(JournaledApp {
                    id,
                    name: line.name,
                    created_at: line.created_at,
                    keys: keys.collect::<Option<_>>()?,
                })
            }
            Line::Wallet(line) => Self::Wallet(Box::new(line.read()?)),
            Line::Change(line) => Self::Change(SignedChange {
                mac: Mac {
                    key_version: line.mac_version,
                    tag: BASE64.decode(line.mac.as_bytes()).ok()?,
                },
                body: line.body,
            }),
        })
    }
}

impl From<&AppKey> for AppKeyLine {
    fn from(key: &AppKey) -> Self {
        Self {
            environment: key.world.environment.to_string(),
            purpose: key.purpose.to_string(),
            version: key.version,
            root_version: key.wrapped.root_version,
            wrapped: BASE64.encode(&key.wrapped.bytes),
            created_at: key.created_at,
        }
    }
}

impl AppKeyLine {
    fn read(self, app: AppId) -> Option<AppKey> {
        let environment: Environment = self.environment.parse().ok()?;
        let purpose: KeyPurpose = self.purpose.parse().ok()?;
        Some(AppKey {
            world: World::new(app, environment),
            purpose,
            version: self.version,
            wrapped: WrappedKey {
                root_version: self.root_version,
                bytes: BASE64.decode(self.wrapped.as_bytes()).ok()?,
            },
            created_at: self.created_at,
        })
    }
}

impl WalletLine {
    fn read(self) -> Option<JournaledWallet> {
        let bytes = |text: &str| BASE64.decode(text.as_bytes()).ok();
        let app = self.app.parse().ok()?;
        let (id, key_id) = (self.wallet.parse().ok()?, self.key.parse().ok()?);
        let wallet = Wallet {
            id,
            world: World::new(app, self.environment.parse().ok()?),
            user_id: self.user.parse().ok()?,
            key_id: Some(key_id),
            wallet_type: self.wallet_type.parse().ok()?,
            public_address: self.public_address,
            verified: self.verified,
            is_default: self.is_default,
            is_read_only: false,
            is_imported: self.is_imported,
            account_index: self.account_index,
            disabled: None,
            created_at: self.created_at,
            updated_at: self.created_at,
        };
        Some(JournaledWallet {
            wallet: StoredWallet {
                wallet,
                mac: Mac {
                    key_version: self.mac_version,
                    tag: bytes(&self.mac)?,
                },
            },
            key: WalletKey {
                id: key_id,
                wallet_id: id,
                public_key: bytes(&self.public_key)?,
                format: self.format,
                key_version: self.key_version,
                wrapped_data_key: bytes(&self.wrapped_data_key)?,
                ciphertext: bytes(&self.ciphertext)?,
            },
            app_key: self.app_key.read(app)?,
        })
    }
}

#[cfg(test)]
mod tests;
