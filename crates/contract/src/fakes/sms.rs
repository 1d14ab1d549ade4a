//! An SMS provider that records its messages.

use std::sync::Mutex;

use vestry_domain::ids::JobId;
use vestry_domain::message::Message;
use vestry_domain::timestamp::Seconds;
use vestry_ports::port;
use vestry_ports::sms::{SmsError, SmsSender};

use super::lock;

/// An SMS provider that records its messages, and fails on request.
#[derive(Debug, Default)]
pub struct FakeSms(Mutex<Provider>);

#[derive(Debug, Default)]
struct Provider {
    sent: Vec<(JobId, Message)>,
    tries: usize,
    failures: usize,
    retry_after: Option<Seconds>,
    refuses: bool,
    is_flaky: bool,
}

impl FakeSms {
    /// Makes the next messages fail with [`SmsError::Transient`]; later ones are accepted.
    pub fn fail_for_now(&self, times: usize, retry_after: Option<Seconds>) {
        let mut provider = lock(&self.0);
        provider.failures = times;
        provider.retry_after = retry_after;
    }

    /// Makes three in ten further messages fail with [`SmsError::Transient`].
    pub fn fail_three_in_ten(&self) {
        lock(&self.0).is_flaky = true;
    }

    /// Makes every further message fail with [`SmsError::Permanent`].
    pub fn refuse(&self) {
        lock(&self.0).refuses = true;
    }

    /// The accepted messages, oldest first, each with the id of its job.
    pub fn sent(&self) -> Vec<(JobId, Message)> {
        lock(&self.0).sent.clone()
    }

    /// The number of send attempts, accepted or not.
    pub fn tries(&self) -> usize {
        lock(&self.0).tries
    }
}

impl Provider {
    fn transient(&self) -> SmsError {
        SmsError::Transient {
            retry_after: self.retry_after,
            cause: "transient failure set by the test".into(),
        }
    }
}

#[port]
impl SmsSender for FakeSms {
    async fn send(&self, id: JobId, message: &Message) -> Result<(), SmsError> {
        let mut provider = lock(&self.0);
        provider.tries += 1;
        if provider.failures > 0 {
            provider.failures -= 1;
            return Err(provider.transient());
        }
        if provider.is_flaky && [0, 3, 7].contains(&(provider.tries % 10)) {
            return Err(provider.transient());
        }
        if provider.refuses {
            return Err(SmsError::Permanent(
                "permanent failure set by the test".into(),
            ));
        }
        provider.sent.push((id, message.clone()));
        Ok(())
    }

    async fn probe(&self) -> Result<(), SmsError> {
        let provider = lock(&self.0);
        if provider.failures > 0 {
            return Err(provider.transient());
        }
        Ok(())
    }
}
