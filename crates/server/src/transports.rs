//! The transports of live messages, whose settings can be replaced while the process runs (PR-89).

use std::sync::{Arc, PoisonError, RwLock};

use vestry_domain::ids::JobId;
use vestry_domain::message::Message;
use vestry_ports::mailer::{Mailer, SendError};
use vestry_ports::port;
use vestry_ports::sms::{SmsError, SmsSender};

/// The transports of a process; `None` for one that is not configured.
#[derive(Clone)]
pub(crate) struct Transports {
    mail: Option<Arc<Replaceable<dyn Mailer>>>,
    sms: Option<Arc<Replaceable<dyn SmsSender>>>,
}

/// A transport that can be replaced. A message on its way ends on the old one.
struct Replaceable<T: ?Sized>(RwLock<Arc<T>>);

impl<T: ?Sized> Replaceable<T> {
    fn new(transport: Arc<T>) -> Arc<Self> {
        Arc::new(Self(RwLock::new(transport)))
    }

    fn current(&self) -> Arc<T> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, transport: Arc<T>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = transport;
    }
}

impl Transports {
    /// Makes these transports replaceable.
    pub(crate) fn new(mail: Option<Arc<dyn Mailer>>, sms: Option<Arc<dyn SmsSender>>) -> Self {
        Self {
            mail: mail.map(Replaceable::new),
            sms: sms.map(Replaceable::new),
        }
    }

    pub(crate) fn mailer(&self) -> Option<Arc<dyn Mailer>> {
        let mail = self.mail.as_ref().map(Arc::clone)?;
        Some(mail)
    }

    pub(crate) fn sms(&self) -> Option<Arc<dyn SmsSender>> {
        let sms = self.sms.as_ref().map(Arc::clone)?;
        Some(sms)
    }

    /// Whether both have a transport of mail.
    pub(crate) const fn can_replace_mail(&self, by: &Self) -> bool {
        self.mail.is_some() && by.mail.is_some()
    }

    /// Whether both have a transport of text messages.
    pub(crate) const fn can_replace_sms(&self, by: &Self) -> bool {
        self.sms.is_some() && by.sms.is_some()
    }

    /// Uses the other settings from now on, where this process has such a transport.
    pub(crate) fn replace(&self, by: &Self) {
        if let (Some(mail), Some(by)) = (&self.mail, &by.mail) {
            mail.set(by.current());
        }
        if let (Some(sms), Some(by)) = (&self.sms, &by.sms) {
            sms.set(by.current());
        }
    }
}

#[port]
impl Mailer for Replaceable<dyn Mailer> {
    async fn send(&self, id: JobId, message: &Message) -> Result<(), SendError> {
        self.current().send(id, message).await
    }

    async fn probe(&self) -> Result<(), SendError> {
        self.current().probe().await
    }
}

#[port]
impl SmsSender for Replaceable<dyn SmsSender> {
    async fn send(&self, id: JobId, message: &Message) -> Result<(), SmsError> {
        self.current().send(id, message).await
    }

    async fn probe(&self) -> Result<(), SmsError> {
        self.current().probe().await
    }
}
