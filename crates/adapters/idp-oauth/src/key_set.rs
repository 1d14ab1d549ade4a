//! The keys of an issuer (RFC 7517).

use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;
use vestry_ports::identity_providers::ProviderFault;

use crate::fetch::{Document, Fetcher};
use crate::jws::Token;

const DOCUMENT: Document = Document {
    refused: "the issuer's key set was not found at its URL",
    malformed: "its key set is malformed",
};

/// Maximum number of keys tried on one token. A `kid` selects one; without it, sets have two or three of a type.
const TRIES: usize = 8;

/// A published key set. Entries that are not usable keys are skipped (RFC 7517 5).
#[derive(Debug)]
pub(crate) struct KeySet {
    keys: Vec<Map<String, Value>>,
}

/// The set in its JSON format.
#[derive(Deserialize)]
struct Published {
    keys: Vec<Value>,
}

/// A key that signed a token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SigningKey<'k>(&'k Map<String, Value>);

impl KeySet {
    /// Fetches a key set.
    pub(crate) async fn fetch(fetcher: &Fetcher, url: Url) -> Result<Self, ProviderFault> {
        let set = fetcher.object(url).await;
        let Published { keys } = set.map_err(|failure| failure.fault(&DOCUMENT))?;
        let keys = keys.into_iter().filter_map(|key| match key {
            Value::Object(key) => Some(key),
            _ => None,
        });
        Ok(Self {
            keys: keys.collect(),
        })
    }

    /// Requires that there is a key.
    pub(crate) fn not_empty(&self) -> Result<(), ProviderFault> {
        match self.keys.is_empty() {
            true => Err(ProviderFault::Invalid("its key set is empty")),
            false => Ok(()),
        }
    }

    /// Returns the key that signed the token.
    pub(crate) fn signer_of<'k>(&'k self, token: &Token<'_>) -> Option<SigningKey<'k>> {
        self.keys
            .iter()
            .filter(|key| token.fits(key))
            .take(TRIES)
            .find(|key| token.is_signed_by(key))
            .map(SigningKey)
    }
}

impl SigningKey<'_> {
    /// Returns the issuer that the key is restricted to, if the set has keys of several issuers, as Microsoft's does.
    pub(crate) fn issuer(&self) -> Option<&str> {
        self.0.get("issuer")?.as_str()
    }
}
