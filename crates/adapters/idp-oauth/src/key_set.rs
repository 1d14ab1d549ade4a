//! The keys of an issuer (RFC 7517).

use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;
use vestry_ports::identity_providers::ProviderFault;

use crate::fetch::{Document, Fetcher};
use crate::jws::Token;

const DOCUMENT: Document = Document {
    refused: "the issuer's key set is not where it should be",
    malformed: "its key set cannot be read",
};

/// Most keys that are tried on one token. A `kid` names one; where it does not, sets have two or three of a kind.
const TRIES: usize = 8;

/// A key set as it was published. Entries that are not keys for us are passed over (RFC 7517 5).
#[derive(Debug)]
pub(crate) struct KeySet {
    keys: Vec<Map<String, Value>>,
}

/// The set as it is written.
#[derive(Deserialize)]
struct Published {
    keys: Vec<Value>,
}

/// A key that signed a token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SigningKey<'k>(&'k Map<String, Value>);

impl KeySet {
    /// Fetches a set.
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

    /// The key that signed the token.
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
    /// The issuer that the key is kept to, where a set has the keys of several (Microsoft's does).
    pub(crate) fn issuer(&self) -> Option<&str> {
        self.0.get("issuer")?.as_str()
    }
}
