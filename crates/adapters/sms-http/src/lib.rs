//! The `SmsSender` port over an HTTP API like Twilio's: `POST {base_url}/2010-04-01/Accounts/{sid}/Messages.json`, form-encoded `To`,
//! `From` and `Body`, with the account and its token as HTTP Basic.
//!
//! Meaning of responses:
//! - **2xx**: accepted, even if the body cannot be parsed. The status says that the provider has the message, and a retry would send it
//!   twice.
//! - **2xx with an error in the body** (`code` or `error_code` is a number other than 0): not accepted, despite the status; retried.
//! - **429 and 408**: retried, after `Retry-After` if present.
//! - **Any other 4xx**: permanent. The provider refuses the number, the text or the account.
//! - **5xx, 3xx, no connection, no response in 25 seconds**: retried. Redirects are not followed, because login and code would be sent to
//!   whatever host the response names.
//!
//! After ten consecutive failures of that last kind, no calls are made for two seconds; then one message is tried. While that fails, the
//! pauses double, up to half a minute. A provider that is down is not flooded, and the worker is not blocked by its timeouts.
//!
//! Delivery is at least once. The API has no idempotency key: a text whose response is lost is sent again, with the same code.

mod breaker;
mod failure;
mod sender;
mod settings;

pub use sender::HttpSms;
pub use settings::{BadSettings, Settings};
