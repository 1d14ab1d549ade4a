//! One signed request (Standard Webhooks 1.0).

use vestry_domain::envelope::{Place, SecretKind};
use vestry_domain::ids::EventId;
use vestry_domain::webhook::{EndpointUrl, SealedSecret, SigningSecret, signatures};
use vestry_domain::{Secret, Timestamp, World};
use vestry_ports::custody::{CustodyError, Sealer};
use vestry_ports::webhooks::WebhookRequest;

/// Returns the encryption context of an endpoint's secret.
pub(crate) const fn secret_place(world: World, owner: &str) -> Place<'_> {
    Place {
        world,
        kind: SecretKind::WebhookSecret,
        owner,
    }
}

/// Decrypts the secrets of an endpoint, keeping their order.
pub(crate) async fn opened_secrets(
    sealer: &dyn Sealer,
    sealed: &[SealedSecret],
) -> Result<Vec<SigningSecret>, CustodyError> {
    let mut secrets = Vec::with_capacity(sealed.len());
    for secret in sealed {
        let owner = secret.id.to_string();
        let opened = sealer
            .open(secret_place(secret.world, &owner), &secret.sealed)
            .await?;
        secrets.push(SigningSecret::of(Secret::new(opened.expose().clone())));
    }
    Ok(secrets)
}

/// Builds the signed request for an event, with additional headers.
pub(crate) fn webhook_request(
    url: &EndpointUrl,
    secrets: &[SigningSecret],
    event: EventId,
    at: Timestamp,
    body: String,
    besides: impl IntoIterator<Item = (&'static str, String)>,
) -> WebhookRequest {
    let id = event.to_string();
    let body = body.into_bytes();
    let signature = signatures(secrets, &id, at, &body);
    let mut headers = vec![
        ("content-type", "application/json".to_owned()),
        ("webhook-id", id),
        ("webhook-timestamp", at.unix().to_string()),
        ("webhook-signature", signature),
    ];
    headers.extend(besides);
    WebhookRequest {
        url: url.clone(),
        headers,
        body,
    }
}
