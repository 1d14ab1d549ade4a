//! `clientDataJSON` (section 5.8.1): the browser's data about a ceremony, covered by the signature.

use serde::Deserialize;
use vestry_ports::passkeys::{Expected, Refused};

/// The members in use; others may be added in future and are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    pub(crate) challenge: String,
    origin: String,
    #[serde(default)]
    cross_origin: Option<bool>,
    #[serde(default)]
    top_origin: Option<String>,
}

impl ClientData {
    pub(crate) fn parse(json: &[u8]) -> Option<Self> {
        serde_json::from_slice(json).ok()
    }

    /// Steps 7 to 11 of section 7.1, which are steps 10 to 14 of section 7.2.
    pub(crate) fn check(json: &[u8], kind: &str, expected: &Expected<'_>) -> Result<(), Refused> {
        let data = Self::parse(json).ok_or(Refused("clientDataJSON cannot be read"))?;
        if data.kind != kind {
            return Err(Refused("type"));
        }
        if data.challenge != expected.challenge {
            return Err(Refused("challenge"));
        }
        if !expected.origins.allow(&data.origin) {
            return Err(Refused("origin"));
        }
        if data.cross_origin == Some(true) && !expected.origins.may_be_framed() {
            return Err(Refused("crossOrigin"));
        }
        match data.top_origin {
            Some(top) if !expected.origins.allow_around(&top) => Err(Refused("topOrigin")),
            _ => Ok(()),
        }
    }
}
