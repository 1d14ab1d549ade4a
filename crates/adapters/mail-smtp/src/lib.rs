//! The Mailer port over SMTP (RFC 5321), as a client that submits to a relay.
//!
//! Guarantees for every mail:
//! - **Never unencrypted.** `smtp://` begins unencrypted and must switch to TLS (RFC 3207) right after the greeting. If the server, or an
//!   attacker on the network path, does not offer that, the attempt ends. `smtps://` uses TLS from the first byte (RFC 8314). Connections
//!   without TLS are made only to this machine, and only if the URL says `tls=none`.
//! - **Only to the right server.** The certificate must name the host of the URL and come from an authority that this machine, Mozilla or
//!   the configured file trusts.
//! - **Within limits.** Every step and the whole attempt have a timeout.
//! - **Recognizable.** `Message-ID`, date and bytes depend only on the job and its message, so a mail that was sent twice after a crash is
//!   the same mail twice.
//! - **No address, code or server text in an error.** Servers often repeat the address in their text. An error contains only the reply code
//!   and the enhanced status code (RFC 3463).
//!
//! Classification of errors: a 5xx reply to the sender, the recipient or the content is permanent. Everything before that, including the
//! login, concerns the connection and not the mail. It is transient, so a wrong password in the configuration delays the queued mails but
//! does not lose them.
//!
//! The password is wiped with the settings and the mailer; copies that the SMTP library makes during login are not.

mod cleartext;
mod failure;
mod letter;
mod mailer;
mod session;
mod settings;
mod trust;

pub use mailer::SmtpMailer;
pub use settings::{BadSettings, Settings, Timeouts};
