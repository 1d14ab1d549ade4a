//! One conversation with the server.

use std::fmt::Display;
use std::future::Future;
use std::time::Duration;

use lettre::transport::smtp;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Noop, Rcpt};
use lettre::transport::smtp::extension::{ClientId, Extension, MailBodyParameter, MailParameter};
use lettre::transport::smtp::response::Response;
use tokio::net::TcpStream;

use crate::cleartext::Cleartext;
use crate::failure::{Failure, Step};
use crate::letter::Letter;
use crate::settings::{Login, Security, Server, Timeouts};

/// How long the server has to answer QUIT.
const GOODBYE: Duration = Duration::from_secs(1);

/// The server and how to connect to it.
pub(crate) struct Route {
    pub(crate) server: Server,
    pub(crate) tls: TlsParameters,
    /// Our name in EHLO.
    pub(crate) hello: ClientId,
    pub(crate) timeouts: Timeouts,
}

/// A connection that is encrypted and logged in, as far as the route requires.
pub(crate) struct Session {
    connection: AsyncSmtpConnection,
    command: Duration,
}

impl Session {
    /// Connects, switches to TLS and logs in.
    pub(crate) async fn open(route: &Route) -> Result<Self, Failure> {
        let connection = match route.server.security {
            Security::StartTls => Box::pin(encrypted(route)).await?,
            Security::Implicit => Box::pin(encrypted_from_the_start(route)).await?,
            Security::None => Box::pin(greeted(route)).await?,
        };
        let mut session = Self {
            connection,
            command: route.timeouts.command,
        };
        if let Some(login) = &route.server.login {
            session.log_in(login).await?;
        }
        Ok(session)
    }

    async fn log_in(&mut self, login: &Login) -> Result<(), Failure> {
        let offered = self
            .connection
            .server_info()
            .get_auth_mechanism(DEFAULT_MECHANISMS);
        let Some(mechanism) = offered else {
            return Err(Failure::NoLogin);
        };
        let credentials = Credentials::new(login.user.clone(), login.password.expose().clone());
        let answer = within(
            self.command,
            Step::Login,
            self.connection.auth(&[mechanism], &credentials),
        )
        .await?;
        completed(Step::Login, &answer)
    }

    /// Checks that the server still responds.
    pub(crate) async fn noop(&mut self) -> Result<(), Failure> {
        self.command(Step::Noop, Noop).await
    }

    /// Submits a mail. `Ok` means that the server has taken responsibility for it.
    ///
    /// After an error the conversation is in an undefined state and must not be used for another mail.
    pub(crate) async fn deliver(&mut self, letter: &Letter) -> Result<(), Failure> {
        let parameters = self.parameters(letter)?;
        let sender = Mail::new(Some(letter.from.clone()), parameters);
        self.command(Step::Sender, sender).await?;
        let recipient = Rcpt::new(letter.to.clone(), Vec::new());
        self.command(Step::Recipient, recipient).await?;
        let ready = within(self.command, Step::Data, self.connection.command(Data)).await?;
        if !ready.has_code(354) {
            return Err(Failure::Nonsense { step: Step::Data });
        }
        // Limited only by the whole attempt: some servers scan the mail before they reply.
        let taken = self.connection.message(&letter.bytes).await;
        completed(
            Step::Content,
            &taken.map_err(|cause| Failure::at(Step::Content, cause))?,
        )
    }

    /// Returns the SMTP extensions that the mail requires (RFC 6531, RFC 6152).
    fn parameters(&self, letter: &Letter) -> Result<Vec<MailParameter>, Failure> {
        if letter.bytes.is_ascii() {
            return Ok(Vec::new());
        }
        // Text is encoded, so only an address can contain non-ASCII characters.
        let server = self.connection.server_info();
        if !server.supports_feature(Extension::SmtpUtfEight)
            || !server.supports_feature(Extension::EightBitMime)
        {
            return Err(Failure::NoInternationalAddresses);
        }
        Ok(vec![
            MailParameter::SmtpUtfEight,
            MailParameter::Body(MailBodyParameter::EightBitMime),
        ])
    }

    async fn command(&mut self, step: Step, command: impl Display) -> Result<(), Failure> {
        let answer = within(self.command, step, self.connection.command(command)).await?;
        completed(step, &answer)
    }

    /// Sends QUIT.
    pub(crate) async fn quit(mut self) {
        // Nothing depends on the reply, and no caller is left to handle an error.
        drop(tokio::time::timeout(GOODBYE, self.connection.quit()).await);
    }
}

/// Connects unencrypted up to STARTTLS, then switches to TLS.
async fn encrypted(route: &Route) -> Result<AsyncSmtpConnection, Failure> {
    let mut connection = greeted(route).await?;
    if !connection.can_starttls() {
        return Err(Failure::NoStartTls);
    }
    within(
        route.timeouts.command,
        Step::Tls,
        connection.starttls(route.tls.clone(), &route.hello),
    )
    .await?;
    Ok(connection)
}

async fn encrypted_from_the_start(route: &Route) -> Result<AsyncSmtpConnection, Failure> {
    within(
        route.timeouts.connect,
        Step::Connect,
        AsyncSmtpConnection::connect_tokio1(
            (route.server.host.as_str(), route.server.port),
            None,
            &route.hello,
            Some(route.tls.clone()),
            None,
        ),
    )
    .await
}

/// Connects unencrypted, up to the reply to EHLO.
async fn greeted(route: &Route) -> Result<AsyncSmtpConnection, Failure> {
    let connecting = async {
        let address = (route.server.host.as_str(), route.server.port);
        let stream = TcpStream::connect(address)
            .await
            .map_err(Failure::Unreachable)?;
        if route.server.security == Security::None {
            // The name could resolve to another machine, so the actual peer address is checked.
            let peer = stream.peer_addr().map_err(Failure::Unreachable)?;
            if !peer.ip().is_loopback() {
                return Err(Failure::NotThisMachine);
            }
        }
        let stream = Box::new(Cleartext::new(stream));
        AsyncSmtpConnection::connect_with_transport(stream, &route.hello)
            .await
            .map_err(|cause| Failure::at(Step::Connect, cause))
    };
    match tokio::time::timeout(route.timeouts.connect, connecting).await {
        Ok(result) => result,
        Err(_) => Err(Failure::Late {
            step: Step::Connect,
        }),
    }
}

/// Waits for a reply, with a time limit.
async fn within<T>(
    limit: Duration,
    step: Step,
    answer: impl Future<Output = Result<T, smtp::Error>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(limit, answer).await {
        Ok(result) => result.map_err(|cause| Failure::at(step, cause)),
        Err(_) => Err(Failure::Late { step }),
    }
}

/// The library treats 3xx as success; here only 2xx is.
fn completed(step: Step, answer: &Response) -> Result<(), Failure> {
    let code = u16::from(answer.code());
    if (200..300).contains(&code) {
        Ok(())
    } else {
        Err(Failure::Nonsense { step })
    }
}
