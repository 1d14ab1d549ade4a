//! The `SmsSender` port over an HTTP API in the shape of Twilio's: `POST {base_url}/2010-04-01/Accounts/{sid}/Messages.json`,
//! form-encoded `To`, `From` and `Body`, with the account and its token as HTTP Basic.
//!
//! What each answer means:
//! - **2xx**: taken. Also when the body cannot be read: the status says that the provider has the message, and sending it again
//!   would send it twice.
//! - **2xx with an error in the body** (`code` or `error_code` is a number other than 0): not taken, whatever the status says;
//!   tried again.
//! - **429 and 408**: tried again, after `Retry-After` when the provider names it.
//! - **Any other 4xx**: final. The provider refuses the number, the text or the account.
//! - **5xx, 3xx, no connection, no answer in 25 seconds**: tried again. Redirects are not followed: the login and the code
//!   would go to whoever the answer names.
//!
//! After ten failures of that last kind in a row nothing is asked for two seconds, then one message is
//! tried; while it fails, the pauses double up to half a minute. A provider that is down is not hammered, and the worker is not
//! held up by its timeouts.
//!
//! Delivery is at least once. The API has no key to recognize a message by: a text whose answer is lost on the way is sent
//! again, with the same code.

mod breaker;
mod failure;
mod sender;
mod settings;

pub use sender::HttpSms;
pub use settings::{BadSettings, Settings};
