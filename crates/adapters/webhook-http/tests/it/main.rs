//! The sender against scripted receivers on this machine.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod answers;
mod faults;
mod reach;

use std::error::Error;
use std::time::Duration;

use vestry_domain::Environment;
use vestry_domain::webhook::EndpointUrl;
use vestry_ports::webhooks::{WebhookAnswer, WebhookError, WebhookRequest, WebhookSender};
use vestry_webhook_http::{HttpWebhooks, Settings};

/// Path and query of the receivers. Neither must be revealed.
pub(crate) const PATH: &str = "/secret-path?secret=query";

/// Bytes that are neither text nor JSON, to be sent unchanged.
pub(crate) const BODY: &[u8] = b"{\"secret\": \"value\"}\r\n\0\xff\xc3 ";

/// Networks that the operator allows, for receivers on this machine.
pub(crate) const THIS_MACHINE: &[&str] = &["127.0.0.0/8", "::1/128"];

/// Returns a sender that reaches these networks in addition to public addresses.
pub(crate) fn sender(networks: &[&str]) -> HttpWebhooks {
    hasty(networks, Settings::default().whole)
}

/// The same, with this time limit for a call.
pub(crate) fn hasty(networks: &[&str], whole: Duration) -> HttpWebhooks {
    let networks = networks.iter().map(|network| network.parse().unwrap());
    HttpWebhooks::new(&Settings {
        allowed_networks: networks.collect(),
        whole,
    })
    .unwrap()
}

pub(crate) fn request(url: &str) -> WebhookRequest {
    WebhookRequest {
        url: EndpointUrl::parse(url, Environment::Test).unwrap(),
        headers: vec![
            ("content-type", "application/json".to_owned()),
            ("webhook-id", "event_secret".to_owned()),
            ("webhook-timestamp", "1800000000".to_owned()),
            (
                "webhook-signature",
                "v1,c2VjcmV0+/== v1,b2xkZXI=".to_owned(),
            ),
        ],
        body: BODY.to_vec(),
    }
}

/// Sends to a URL, and asserts that an error reveals nothing of the request.
pub(crate) async fn send(sender: &HttpWebhooks, url: &str) -> Result<WebhookAnswer, WebhookError> {
    let outcome = sender.send(request(url)).await;
    if let Err(error) = &outcome {
        silent(error);
    }
    outcome
}

fn silent(error: &WebhookError) {
    let mut said = format!("{error:?} {error}");
    let mut cause = error.source();
    while let Some(inner) = cause {
        said.push_str(&format!(" {inner}"));
        cause = inner.source();
    }
    for sent in ["secret", "c2VjcmV0", "http:", "https:"] {
        assert!(!said.contains(sent), "{said}");
    }
}
