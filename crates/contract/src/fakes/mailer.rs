//! A mail transport that keeps what it is given.

use std::sync::Mutex;

use vestry_domain::ids::JobId;
use vestry_domain::message::Message;
use vestry_ports::mailer::{Mailer, SendError};
use vestry_ports::port;

use super::lock;

/// A mail transport that keeps what it is given, and fails when it is told to.
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
    Refuses,
}

impl FakeMailer {
    /// The next so many mails fail with [`SendError::Transient`], those after them are taken.
    pub fn fail_for_now(&self, times: usize) {
        lock(&self.0).behaviour = Behaviour::FailsForNow(times);
    }

    /// Every mail from here on fails with [`SendError::Permanent`].
    pub fn refuse(&self) {
        lock(&self.0).behaviour = Behaviour::Refuses;
    }

    /// Every mail from here on is taken.
    pub fn take(&self) {
        lock(&self.0).behaviour = Behaviour::Takes;
    }

    /// The mails that were taken, oldest first, each with the id of its job.
    pub fn sent(&self) -> Vec<(JobId, Message)> {
        lock(&self.0).sent.clone()
    }

    /// How often a mail was handed over, taken or not.
    pub fn tries(&self) -> usize {
        lock(&self.0).tries
    }
}

impl Post {
    /// What the next mail meets, and counts it.
    const fn next(&mut self) -> Behaviour {
        let met = self.behaviour;
        self.behaviour = match met {
            Behaviour::FailsForNow(times) if times > 1 => Behaviour::FailsForNow(times - 1),
            Behaviour::FailsForNow(_) | Behaviour::Takes => Behaviour::Takes,
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
            Behaviour::FailsForNow(times) if times > 0 => {
                Err(SendError::Transient("told to fail for now".into()))
            }
            Behaviour::Refuses => Err(SendError::Permanent("told to refuse".into())),
            Behaviour::FailsForNow(_) | Behaviour::Takes => {
                post.sent.push((id, message.clone()));
                Ok(())
            }
        }
    }

    async fn probe(&self) -> Result<(), SendError> {
        match lock(&self.0).behaviour {
            Behaviour::FailsForNow(times) if times > 0 => {
                Err(SendError::Transient("told to fail for now".into()))
            }
            Behaviour::FailsForNow(_) | Behaviour::Takes | Behaviour::Refuses => Ok(()),
        }
    }
}
