//! The sender.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;
use url::Url;
use vestry_domain::Secret;
use vestry_domain::ids::JobId;
use vestry_domain::message::Message;
use vestry_outbound::{Call, Outbound, Reach};
use vestry_ports::port;
use vestry_ports::sms::{SmsError, SmsSender};

use crate::breaker::Breaker;
use crate::failure::Failure;
use crate::settings::{self, BadSettings, Settings};

/// Sends texts through an HTTP API like Twilio's.
pub struct HttpSms {
    outbound: Outbound,
    messages: Url,
    account: Url,
    account_sid: String,
    auth_token: Secret<String>,
    from: String,
    breaker: Mutex<Breaker>,
}

impl HttpSms {
    /// Creates a sender with these settings. Nothing is connected yet; see [`SmsSender::probe`].
    ///
    /// # Errors
    /// See [`BadSettings`].
    pub fn new(settings: &Settings) -> Result<Self, BadSettings> {
        let base = settings::base_url(&settings.base_url)?;
        if settings.account_sid.is_empty() {
            return Err(BadSettings::Account);
        }
        if settings.auth_token.expose().is_empty() {
            return Err(BadSettings::Token);
        }
        let networks = settings.allowed_networks.iter().copied();
        let reach = Reach::public_and(networks).and_named_by(&base);
        let below = |segments: &[&str]| below(&base, segments);
        let sid = settings.account_sid.as_str();
        Ok(Self {
            outbound: Outbound::new(reach, settings.limits)?,
            messages: below(&["2010-04-01", "Accounts", sid, "Messages.json"]),
            account: below(&["2010-04-01", "Accounts", &format!("{sid}.json")]),
            account_sid: settings.account_sid.clone(),
            auth_token: settings.auth_token.clone(),
            from: settings::sender(&settings.from)?,
            breaker: Mutex::default(),
        })
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn call(&self, call: Call<'_>) -> Result<(), Failure> {
        let call = call.with_login(&self.account_sid, &self.auth_token);
        let answer = self.outbound.call(call).await.map_err(Failure::NoAnswer)?;
        Failure::of(&answer).map_or(Ok(()), Err)
    }

    async fn text(&self, message: &Message) -> Result<(), Failure> {
        let admitted = self.breaker().admit(Instant::now());
        admitted.map_err(|wait| Failure::LeftAlone { wait })?;
        let fields = [
            ("To", &*message.to),
            ("From", &*self.from),
            ("Body", &*message.text),
        ];
        let outcome = self
            .call(Call::post_form(self.messages.clone(), &fields))
            .await;
        match &outcome {
            Err(failure) if failure.is_outage() => self.breaker().failed(Instant::now()),
            // A response about the message means that the provider works.
            Ok(()) | Err(_) => self.breaker().succeeded(),
        }
        outcome
    }
}

/// Appends these segments to the base, escaped as needed.
fn below(base: &Url, segments: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url
}

/// Prints only the type name.
impl fmt::Debug for HttpSms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpSms")
    }
}

#[port]
impl SmsSender for HttpSms {
    /// The API supports no idempotency key, so the job's id is not sent.
    async fn send(&self, _id: JobId, message: &Message) -> Result<(), SmsError> {
        Ok(self.text(message).await?)
    }

    /// Reads the account, bypassing the breaker.
    async fn probe(&self) -> Result<(), SmsError> {
        Ok(self.call(Call::get(self.account.clone())).await?)
    }
}
