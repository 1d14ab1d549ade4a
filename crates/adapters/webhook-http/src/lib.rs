//! The `WebhookSender` port: one POST to a URL chosen by a third party, and its response.
//!
//! - **As signed.** The body is sent byte for byte as in the request, with its headers and a `User-Agent`. Nothing is added except what
//!   every request of the client has: `Host`, `Content-Length` and `Accept: */*`. A redirect is a response and is not followed.
//! - **No internal addresses (WH-6).** `https` goes to public addresses and to the networks that the operator allows; `http` only to those
//!   networks. Each connection is checked when its name is resolved.
//! - **In time.** 15 seconds for the whole call, five of them to connect.
//! - **The status counts.** 64 KiB of a body are read; then the connection is dropped with the rest, whether that is small or endless. A
//!   call fails only if the receiver stalls until the timeout, or breaks off before that.
//! - **No view into internal networks (WH-7).** The beginning of a body is stored only if it came from a public address outside the allowed
//!   networks, and is text. Text is UTF-8 without control characters other than line breaks and tabs. Databases and terminals have no use
//!   for the others, so a body that begins with one is treated as binary.
//! - **Errors contain nothing that was sent**: neither the URL, nor a header, nor the body.

mod excerpt;
mod failure;
mod sender;
mod settings;

pub use sender::HttpWebhooks;
pub use settings::Settings;
pub use vestry_outbound::NotSetUp;
