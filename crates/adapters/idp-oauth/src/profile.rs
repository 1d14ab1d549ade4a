//! The identity of an access token, for providers without id tokens.

use serde_json::{Map, Value};
use url::Url;
use vestry_domain::provider::{Connection, EmailClaims, ProvenIdentity};
use vestry_domain::{Secret, number};
use vestry_ports::identity_providers::{Evidence, ProviderFault};

use crate::claims::{Claims, names_in};
use crate::endpoints::Endpoints;
use crate::fetch::{Document, Fetcher, NoAnswer};
use crate::known::{EmailSource, Plain};

const PROFILE: Document = Document {
    refused: "the profile endpoint refused the access token",
    malformed: "its profile is malformed",
};
const ADDRESSES: Document = Document {
    refused: "the provider refused access to the e-mail addresses",
    malformed: "its list of addresses is malformed",
};

/// Asks the provider's API for the token's user. The token was issued in this exchange, with our secret and our verifier, so it cannot be
/// one issued to another client and passed on.
pub(crate) async fn identity(
    fetcher: &Fetcher,
    known: &Plain,
    endpoints: &Endpoints,
    connection: &Connection,
    token: &Secret<String>,
) -> Result<(ProvenIdentity, Evidence), ProviderFault> {
    let url = endpoints.userinfo.as_ref();
    let url = url.ok_or(ProviderFault::Misconfigured(
        "the userinfo endpoint is missing",
    ))?;
    let profile: Map<String, Value> = fetcher
        .json(url.clone(), Some(token))
        .await
        .map_err(|failure| failure.fault(&PROFILE))?;
    let subject = subject(&profile).ok_or(ProviderFault::Invalid(PROFILE.malformed))?;
    let profile = Claims(profile);
    let email = match known.email {
        EmailSource::Beside => EmailClaims {
            email: profile.text("email").map(str::to_owned),
            email_verified: profile.value("verified"),
            ..EmailClaims::default()
        },
        EmailSource::ListBelow(segment) => primary(fetcher, below(url, segment), token).await?,
    };
    let evidence = Evidence {
        claims: names_in([&profile]),
        email: email.standing(connection.kind(), &connection.settings),
    };
    let identity = ProvenIdentity {
        issuer: connection.name.as_str().to_owned(),
        subject,
        email_verified: evidence.email.is_proof(),
        email: email.email,
        name: profile.text(known.name).map(str::to_owned),
        given_name: None,
        family_name: None,
    };
    Ok((identity, evidence))
}

/// Returns `id`, a number or a text of digits. Names and addresses can change owners; the id cannot.
fn subject(profile: &Map<String, Value>) -> Option<String> {
    match profile.get("id")? {
        id @ Value::Number(_) => number::natural(id).map(|id| id.to_string()),
        Value::String(text) => {
            let is_id = (1..=32).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
            is_id.then(|| text.clone())
        }
        _ => None,
    }
}

/// Returns the primary address of a list; `None` if the App has no permission to read it.
async fn primary(
    fetcher: &Fetcher,
    url: Url,
    token: &Secret<String>,
) -> Result<EmailClaims, ProviderFault> {
    let list: Vec<Map<String, Value>> = match fetcher.json(url, Some(token)).await {
        Ok(list) => list,
        Err(NoAnswer::Status(403 | 404)) => return Ok(EmailClaims::default()),
        Err(failure) => return Err(failure.fault(&ADDRESSES)),
    };
    let mut list = list.into_iter().map(Claims);
    let primary = list.find(|address| address.value("primary") == true);
    Ok(
        primary.map_or_else(EmailClaims::default, |address| EmailClaims {
            email: address.text("email").map(str::to_owned),
            email_verified: address.value("verified"),
            ..EmailClaims::default()
        }),
    )
}

fn below(url: &Url, segment: &str) -> Url {
    let mut url = url.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().push(segment);
    }
    url
}
