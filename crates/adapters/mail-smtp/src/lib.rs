//! The Mailer port over SMTP (RFC 5321), as a client that submits to a relay.
//!
//! What holds for every mail:
//! - **Never in clear.** `smtp://` begins in clear and must change to TLS (RFC 3207) before anything but the greeting is
//!   said; a server, or somebody in between, that does not offer it ends the attempt. `smtps://` is TLS from the first
//!   byte (RFC 8314). Without TLS only a server on this machine is spoken to, and only when the URL says `tls=none`.
//! - **Only to the right server.** The certificate must name the host of the URL and come from an authority that this
//!   machine, Mozilla or the configured file trusts.
//! - **Always in time.** Every step and the whole attempt have a limit.
//! - **Recognizable.** `Message-ID`, date and bytes depend only on the job and its message, so that a mail that was sent
//!   twice after a crash is the same mail twice.
//! - **No address, code or answer of the server in an error.** Servers like to repeat the address in their text; an
//!   error carries the reply code and the enhanced status code (RFC 3463) only.
//!
//! What counts as which error: a 5xx answer to the sender, the recipient or the content is permanent. Everything before
//! that, the login included, is about the connection and not about the mail: it is transient, so that a wrong password
//! in the configuration delays the waiting mails and does not lose them.
//!
//! The password is wiped with the settings and the mailer; copies that the SMTP library makes while it logs in are not.

mod cleartext;
mod failure;
mod letter;
mod mailer;
mod session;
mod settings;
mod trust;

pub use mailer::SmtpMailer;
pub use settings::{BadSettings, Settings, Timeouts};
