//! A transport that accepts a message and does not return until it is released.

use tokio::sync::Semaphore;
use vestry_domain::ids::JobId;
use vestry_domain::message::Message;
use vestry_ports::mailer::{Mailer, SendError};
use vestry_ports::port;
use vestry_ports::sms::{SmsError, SmsSender};

/// Mail and text messages hang in it.
pub(crate) struct StalledTransport {
    arrived: Semaphore,
    let_go: Semaphore,
}

impl Default for StalledTransport {
    fn default() -> Self {
        Self {
            arrived: Semaphore::new(0),
            let_go: Semaphore::new(0),
        }
    }
}

impl StalledTransport {
    /// Waits until this many messages hang.
    pub(crate) async fn hanging(&self, messages: u32) {
        self.arrived.acquire_many(messages).await.unwrap().forget();
    }

    /// Accepts everything at once from now on.
    pub(crate) fn let_go(&self) {
        self.let_go.close();
    }

    async fn hang(&self) {
        self.arrived.add_permits(1);
        // It never gets a permit, and an error when the semaphore is closed.
        let closed = self.let_go.acquire().await;
        assert!(closed.is_err());
    }
}

#[port]
impl Mailer for StalledTransport {
    async fn send(&self, _: JobId, _: &Message) -> Result<(), SendError> {
        self.hang().await;
        Ok(())
    }

    async fn probe(&self) -> Result<(), SendError> {
        Ok(())
    }
}

#[port]
impl SmsSender for StalledTransport {
    async fn send(&self, _: JobId, _: &Message) -> Result<(), SmsError> {
        self.hang().await;
        Ok(())
    }

    async fn probe(&self) -> Result<(), SmsError> {
        Ok(())
    }
}
