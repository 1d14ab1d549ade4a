//! Webhook receivers that record requests.

use std::collections::HashMap;
use std::sync::Mutex;

use vestry_domain::timestamp::Seconds;
use vestry_ports::port;
use vestry_ports::webhooks::{WebhookAnswer, WebhookError, WebhookRequest, WebhookSender};

use super::lock;

/// Webhook receivers that record and accept every request unless told otherwise.
#[derive(Debug, Default)]
pub struct FakeWebhooks(Mutex<Receivers>);

#[derive(Debug, Default)]
struct Receivers {
    sent: Vec<WebhookRequest>,
    /// Responses by host.
    answers: HashMap<String, Answer>,
}

#[derive(Debug, Clone, Copy)]
enum Answer {
    Status(u16, Option<Seconds>),
    Silence,
    Never,
}

impl FakeWebhooks {
    /// Sets the status, and the `Retry-After` header, of further responses of this host.
    pub fn answer(&self, host: &str, status: u16, retry_after: Option<Seconds>) {
        let answer = Answer::Status(status, retry_after);
        lock(&self.0).answers.insert(host.to_owned(), answer);
    }

    /// Makes this host send no further responses.
    pub fn be_silent(&self, host: &str) {
        let answers = &mut lock(&self.0).answers;
        answers.insert(host.to_owned(), Answer::Silence);
    }

    /// Makes this host keep every further connection open without responding.
    pub fn hang(&self, host: &str) {
        let answers = &mut lock(&self.0).answers;
        answers.insert(host.to_owned(), Answer::Never);
    }

    /// Every request sent to a host, in order.
    pub fn sent_to(&self, host: &str) -> Vec<WebhookRequest> {
        let sent = lock(&self.0).sent.clone().into_iter();
        sent.filter(|request| request.url.url().host_str() == Some(host))
            .collect()
    }
}

impl FakeWebhooks {
    fn take(&self, request: WebhookRequest) -> Option<Answer> {
        let mut receivers = lock(&self.0);
        let host = request.url.url().host_str().unwrap_or_default();
        let answer = receivers.answers.get(host).copied();
        receivers.sent.push(request);
        answer
    }
}

#[port]
impl WebhookSender for FakeWebhooks {
    async fn send(&self, request: WebhookRequest) -> Result<WebhookAnswer, WebhookError> {
        // Yields, as network I/O does.
        tokio::task::yield_now().await;
        let answer = self.take(request);
        match answer.unwrap_or(Answer::Status(200, None)) {
            Answer::Never => std::future::pending().await,
            Answer::Status(status, retry_after) => Ok(WebhookAnswer {
                status,
                retry_after,
                excerpt: Some(format!("answered {status}")),
            }),
            Answer::Silence => Err(WebhookError::Late),
        }
    }
}
