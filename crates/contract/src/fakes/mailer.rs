//! A mail transport that records its messages.

use std::sync::Mutex;

use vestry_domain::ids::JobId;
use vestry_domain::message::Message;
use vestry_ports::mailer::{Mailer, SendError};
use vestry_ports::port;

use super::lock;

/// A mail transport that records its messages, and fails on request.
#[derive(Debug, Default)]
pub struct FakeMailer(Mutex<Post>);

#[derive(Debug, Default)]
struct Post {
    sent: Vec<(JobId, Message)>,
    tries: usize,
    behaviour: Behaviour,
}

#[derive(Debug, Clone, Copy, Default)]
enum Behaviour {
    #[default]
    Takes,
    FailsForNow(usize),
    Postpones,
    Refuses,
}

impl FakeMailer {
    /// Makes the next mails fail with [`SendError::Transient`]; later ones are accepted.
    pub fn fail_for_now(&self, times: usize) {
        lock(&self.0).behaviour = Behaviour::FailsForNow(times);
    }

    /// Makes every further mail fail with [`SendError::Postponed`].
    pub fn postpone(&self) {
        lock(&self.0).behaviour = Behaviour::Postpones;
    }

    /// Makes every further mail fail with [`SendError::Permanent`].
    pub fn refuse(&self) {
        lock(&self.0).behaviour = Behaviour::Refuses;
    }

    /// Makes every further mail succeed.
    pub fn take(&self) {
        lock(&self.0).behaviour = Behaviour::Takes;
    }

    /// The accepted mails, oldest first, each with the id of its job.
    pub fn sent(&self) -> Vec<(JobId, Message)> {
        lock(&self.0).sent.clone()
    }

    /// The number of send attempts, accepted or not.
    pub fn tries(&self) -> usize {
        lock(&self.0).tries
    }
}

impl Post {
    /// The behaviour for the next mail, which it counts.
    const fn next(&mut self) -> Behaviour {
        let met = self.behaviour;
        self.behaviour = match met {
            Behaviour::FailsForNow(times) if times > 1 => Behaviour::FailsForNow(times - 1),
            Behaviour::FailsForNow(_) | Behaviour::Takes => Behaviour::Takes,
            Behaviour::Postpones => Behaviour::Postpones,
            Behaviour::Refuses => Behaviour::Refuses,
        };
        self.tries += 1;
        met
    }
}

#[port]
impl Mailer for FakeMailer {
    async fn send(&self, id: JobId, message: &Message) -> Result<(), SendError> {
        let mut post = lock(&self.0);
        match post.next() {
            Behaviour::FailsForNow(times) if times > 0 => Err(SendError::Transient(
                "transient failure set by the test".into(),
            )),
            Behaviour::Postpones => Err(SendError::Postponed("postponed by the test".into())),
            Behaviour::Refuses => Err(SendError::Permanent(
                "permanent failure set by the test".into(),
            )),
            Behaviour::FailsForNow(_) | Behaviour::Takes => {
                post.sent.push((id, message.clone()));
                Ok(())
            }
        }
    }

    async fn probe(&self) -> Result<(), SendError> {
        match lock(&self.0).behaviour {
            Behaviour::FailsForNow(times) if times > 0 => Err(SendError::Transient(
                "transient failure set by the test".into(),
            )),
            Behaviour::FailsForNow(_)
            | Behaviour::Takes
            | Behaviour::Postpones
            | Behaviour::Refuses => Ok(()),
        }
    }
}
