//! "Try it" of mail: a marked message without a code, to the operator's own address.

use vestry_domain::Secret;
use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, Detail, Subject};
use vestry_domain::ids::JobId;
use vestry_domain::limits::console::TEST_MESSAGES_PER_OPERATOR;
use vestry_domain::message::{Channel, Message, test_mail};
use vestry_domain::timestamp::Seconds;
use vestry_domain::user::UserProfile;
use vestry_ports::mailer::SendError;

use super::WORLD;
use crate::kernel::fault::{causes, retried};
use crate::kernel::letter::Delivery;
use crate::{Caller, Fault, Refusal, Service};

/// How long a test environment takes to capture it at most.
const LIFETIME: Seconds = Seconds(600);

/// The outcome of a test message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestMessage {
    /// The transport accepted it.
    Sent,
    /// The test environment captures it.
    Captured,
    /// It was not sent.
    Failed {
        /// The cause.
        cause: String,
        /// The setting to change.
        advice: &'static str,
    },
}

impl TestMessage {
    fn failed(cause: &str, advice: &'static str) -> Self {
        Self::Failed {
            cause: cause.to_owned(),
            advice,
        }
    }
}

impl Service {
    /// Sends a test mail by the transport of the environment to the operator's own verified address. What the transport replies is part of
    /// the outcome, so a live message does not wait in the outbox.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::TooMany`] after five in an hour.
    pub async fn send_test_mail(&self, caller: &Caller) -> Result<TestMessage, Refusal> {
        caller.authorize(Action::SendTestMessage)?;
        let operator = caller.principal.as_operator();
        let operator = operator.ok_or(Refusal::NotFound("operator"))?.user_id;
        let mut read = self.ports.store.read().await?;
        let profile = read.users().profile(&WORLD, operator).await?;
        drop(read);
        let Some(to) = profile.as_ref().and_then(verified_address) else {
            return Ok(TestMessage::failed(
                "you have no verified address",
                "Ask an owner to invite you again.",
            ));
        };
        let message = test_mail(to, &caller.app.name, caller.world.environment);
        let message = Secret::new(message);
        if caller.is_test() {
            self.admit_test_message(caller).await?;
            self.capture_test_message(caller, &message).await?;
            return Ok(TestMessage::Captured);
        }
        let Some(mailer) = self.ports.mailer.as_ref() else {
            return Ok(TestMessage::failed(
                "the deployment has no mail transport",
                "Set mail.kind to smtp, and mail.smtp.url and mail.smtp.from.",
            ));
        };
        self.admit_test_message(caller).await?;
        let (action, subject) = (
            ControlAction::TestMessageSend,
            Subject::world(&caller.world),
        );
        self.record_change(self.done(&caller.into(), action, subject, &detail()))
            .await?;
        let id: JobId = self.new_id(self.ports.clock.machine());
        Ok(match mailer.send(id, message.expose()).await {
            Ok(()) => TestMessage::Sent,
            Err(error) => TestMessage::failed(
                &causes(&error),
                match error {
                    SendError::Transient(_) | SendError::Postponed(_) => {
                        "Check the user, the password and the host in mail.smtp.url, and whether this server reaches it."
                    }
                    SendError::Permanent(_) => {
                        "Check mail.smtp.from, and whether the mail server accepts your address."
                    }
                },
            ),
        })
    }

    async fn admit_test_message(&self, caller: &Caller) -> Result<(), Refusal> {
        let operator = caller.principal.as_operator();
        let operator = operator.map(|operator| operator.user_id.to_string());
        self.admit_form(
            "console_test_message",
            &operator.unwrap_or_default(),
            TEST_MESSAGES_PER_OPERATOR,
        )
        .await
    }

    async fn capture_test_message(
        &self,
        caller: &Caller,
        message: &Secret<Message>,
    ) -> Result<(), Fault> {
        let delivery = Delivery::within(LIFETIME);
        let letter = self
            .letter(&caller.principal, &caller.world, message, delivery)
            .await?;
        retried(|| async {
            let mut tx = self.begin_change([caller.world]).await?;
            tx.outbox().push(&letter).await?;
            let (action, subject) = (
                ControlAction::TestMessageSend,
                Subject::world(&caller.world),
            );
            tx.note(self.done(&caller.into(), action, subject, &detail()));
            tx.commit().await
        })
        .await
    }
}

fn detail() -> Detail {
    Detail::default().with("channel", Channel::Email.as_str())
}

fn verified_address(profile: &UserProfile) -> Option<&str> {
    let mut verified = profile.emails.iter().filter(|email| email.verified);
    verified.next().map(|email| email.email.address())
}
