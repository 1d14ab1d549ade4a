//! Receivers of events that keep what they are sent.

use std::collections::HashMap;
use std::sync::Mutex;

use vestry_domain::timestamp::Seconds;
use vestry_ports::port;
use vestry_ports::webhooks::{WebhookAnswer, WebhookError, WebhookRequest, WebhookSender};

use super::lock;

/// Receivers that keep what they are sent and take it, unless they are told otherwise.
#[derive(Debug, Default)]
pub struct FakeWebhooks(Mutex<Receivers>);

#[derive(Debug, Default)]
struct Receivers {
    sent: Vec<WebhookRequest>,
    /// By host.
    answers: HashMap<String, Answer>,
}

#[derive(Debug, Clone, Copy)]
enum Answer {
    Status(u16, Option<Seconds>),
    Silence,
    Never,
}

impl FakeWebhooks {
    /// What this host answers from here on, and the `Retry-After` with it.
    pub fn answer(&self, host: &str, status: u16, retry_after: Option<Seconds>) {
        let answer = Answer::Status(status, retry_after);
        lock(&self.0).answers.insert(host.to_owned(), answer);
    }

    /// This host answers nothing from here on.
    pub fn be_silent(&self, host: &str) {
        let answers = &mut lock(&self.0).answers;
        answers.insert(host.to_owned(), Answer::Silence);
    }

    /// This host keeps every connection open from here on, and never answers.
    pub fn hang(&self, host: &str) {
        let answers = &mut lock(&self.0).answers;
        answers.insert(host.to_owned(), Answer::Never);
    }

    /// Everything that was sent to a host, in its order.
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
        // As a network does, it lets others run.
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
