//! The `WebhookSender` port: one POST to whatever URL somebody outside chose, and what came back.
//!
//! - **As it was signed.** The body goes out byte by byte as it is in the request, with its headers and a `User-Agent`, and with
//!   nothing besides but what every request of the client has: `Host`, `Content-Length` and `Accept: */*`. A redirect is an
//!   answer and is not followed.
//! - **Not inwards (WH-6).** `https` goes to public addresses and into the networks that the operator allows; `http` goes into
//!   those networks and nowhere else. Each connection is checked, where its name is resolved.
//! - **In time.** 15 seconds for the whole call, five of them to connect.
//! - **The status counts.** Of a body 64 KiB are read and the connection is given up with the rest, whether that is a little or
//!   has no end. Only a receiver that neither goes on nor ends within the time of the call, or breaks off before, gave no answer.
//! - **No window into inner networks (WH-7).** The beginning of a body is kept if it came from a public address that is in no
//!   allowed network, and if it is text: UTF-8, and without control characters other than line breaks and tabs. A database or a
//!   terminal has no use for the others, so a body with one of them in its beginning is taken for binary as a whole.
//! - **Nothing that was sent is in an error**: neither the URL, nor a header, nor the body.

mod excerpt;
mod failure;
mod sender;
mod settings;

pub use sender::HttpWebhooks;
pub use settings::Settings;
pub use vestry_outbound::NotSetUp;
