//! F3: failures between us and the server. No mail is lost, and nothing is revealed to strangers.

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use tokio::task::JoinSet;
use vestry_mail_smtp::{Settings, Timeouts};
use vestry_ports::mailer::Mailer;

use crate::smtp_server::{self, Behaviour, Received};
use crate::{job, mailer, passcode, permanent, postponed, settings, transient, with_password};

/// What may be sent unencrypted to an unverified server.
const BEFORE_TLS: &str = "EHLO mail.example\r\nSTARTTLS\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn f3_a_certificate_for_another_name_gets_no_mail() {
    let behaviour = Behaviour {
        certificate_name: "mail.elsewhere.example",
        ..Behaviour::default()
    };
    let Some(server) = smtp_server::start(behaviour) else {
        return;
    };
    transient(mailer(&settings(&server)).send(job(1), &passcode()).await);
    nothing_but(BEFORE_TLS, &server.finish());
}

#[tokio::test(flavor = "multi_thread")]
async fn f3_a_certificate_of_an_unknown_authority_gets_no_mail() {
    let Some(server) = smtp_server::start(Behaviour::default()) else {
        return;
    };
    let mut settings = settings(&server);
    settings.ca_file = None;
    transient(mailer(&settings).send(job(1), &passcode()).await);
    nothing_but(BEFORE_TLS, &server.finish());
}

#[tokio::test(flavor = "multi_thread")]
async fn f3_without_starttls_nothing_is_sent_unencrypted() {
    let behaviour = Behaviour {
        starttls: false,
        ..Behaviour::default()
    };
    let Some(server) = smtp_server::start(behaviour) else {
        return;
    };
    let error = transient(mailer(&settings(&server)).send(job(1), &passcode()).await);
    assert!(error.contains("STARTTLS"), "{error}");
    nothing_but("EHLO mail.example\r\n", &server.finish());
}

/// An attacker on the network path cannot answer for the server by sending data before TLS begins.
#[tokio::test(flavor = "multi_thread")]
async fn f3_a_reply_injected_before_tls_is_not_accepted() {
    let behaviour = Behaviour {
        inject: true,
        ..Behaviour::default()
    };
    let Some(server) = smtp_server::start(behaviour) else {
        return;
    };
    let error = transient(mailer(&settings(&server)).send(job(1), &passcode()).await);
    // Detected at once, not by chance later, when a reply does not match its command.
    assert!(error.contains("lost during STARTTLS"), "{error}");
    let received = server.finish();
    assert!(received.mails.is_empty(), "{received:?}");
    assert!(received.clear.starts_with(BEFORE_TLS), "{received:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn f3_a_4xx_is_transient_and_a_recipient_is_postponed() {
    for reply in [
        "421 4.3.2 going down, <{argument}>",
        "451 4.7.1 later, <{argument}>",
    ] {
        for command in ["MAIL", "RCPT", "DATA", "."] {
            let Some(error) = refused(command, reply).await else {
                return;
            };
            // PR-74: a recipient that is asked to wait says nothing about the transport.
            if command == "RCPT" && reply.starts_with("451") {
                postponed(error);
            } else {
                transient(error);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f3_a_5xx_reply_to_the_mail_is_permanent() {
    for command in ["MAIL", "RCPT", "DATA", "."] {
        let Some(error) = refused(command, "550 5.1.1 never, <{argument}>").await else {
            return;
        };
        let error = permanent(error);
        assert!(error.contains("550 5.1.1"), "{error}");
        assert!(!error.contains("never"), "{error}");
    }
}

/// The connection is at fault and not the mail, so the mail is kept.
#[tokio::test(flavor = "multi_thread")]
async fn a_5xx_before_the_mail_is_transient() {
    for command in ["EHLO", "STARTTLS", "AUTH"] {
        let Some(error) = refused(command, "554 5.7.0 not you").await else {
            return;
        };
        transient(error);
    }
}

/// Returns the error of a send whose command is refused; the server has accepted no mail.
async fn refused(
    command: &'static str,
    reply: &'static str,
) -> Option<Result<(), vestry_ports::mailer::SendError>> {
    let behaviour = Behaviour {
        replies: Box::leak(Box::new([(command, reply)])),
        ..Behaviour::default()
    };
    let server = smtp_server::start(behaviour)?;
    let sent = mailer(&settings(&server)).send(job(1), &passcode()).await;
    assert!(server.finish().mails.is_empty(), "{command} {reply}");
    Some(sent)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_an_error_and_sends_nothing() {
    let Some(server) = smtp_server::start(Behaviour::default()) else {
        return;
    };
    let mailer = mailer(&with_password(&server, "wrong"));
    let error = transient(mailer.probe().await);
    assert!(error.contains("535"), "{error}");
    transient(mailer.send(job(1), &passcode()).await);
    assert!(server.finish().mails.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn f3_a_server_that_stops_responding_times_out() {
    let mut attempts = JoinSet::new();
    for silent in [
        "CONNECT", "EHLO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA", ".",
    ] {
        let behaviour = Behaviour {
            silent,
            ..Behaviour::default()
        };
        let Some(server) = smtp_server::start(behaviour) else {
            return;
        };
        // They wait at the same time.
        attempts.spawn(async move {
            given_up(&impatient(settings(&server))).await;
            (server, silent)
        });
    }
    for (server, silent) in attempts.join_all().await {
        assert!(server.finish().mails.is_empty(), "{silent}");
    }
}

/// The reply to an abandoned mail must not count as the reply to the next one.
#[tokio::test(flavor = "multi_thread")]
async fn an_abandoned_connection_is_not_reused() {
    let behaviour = Behaviour {
        silent: ".",
        ..Behaviour::default()
    };
    let Some(server) = smtp_server::start(behaviour) else {
        return;
    };
    let mut settings = settings(&server);
    settings.timeouts.whole = Duration::from_millis(1500);
    let mailer = mailer(&settings);
    for _ in 0..2 {
        transient(mailer.send(job(1), &passcode()).await);
    }
    drop(mailer);
    assert_eq!(server.finish().clear.matches("EHLO").count(), 2);
}

/// Trickling bytes do not count as a reply.
#[tokio::test(flavor = "multi_thread")]
async fn f3_an_endless_greeting_times_out() {
    let behaviour = Behaviour {
        drip: true,
        ..Behaviour::default()
    };
    let Some(server) = smtp_server::start(behaviour) else {
        return;
    };
    given_up(&impatient(settings(&server))).await;
    nothing_but("", &server.finish());
}

/// Each step may be slow, but the whole attempt is limited.
#[tokio::test(flavor = "multi_thread")]
async fn f3_the_whole_attempt_is_limited() {
    let behaviour = Behaviour {
        silent: "CONNECT",
        ..Behaviour::default()
    };
    let Some(server) = smtp_server::start(behaviour) else {
        return;
    };
    let mut settings = settings(&server);
    settings.timeouts.whole = Duration::from_millis(200);
    given_up(&settings).await;
    nothing_but("", &server.finish());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_absent_server_is_a_transient_error() {
    let port = {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        listener.local_addr().expect("it has an address").port()
    };
    let settings = Settings::new(
        format!("smtp://127.0.0.1:{port}"),
        "no-reply@mail.example".to_owned(),
    );
    let mailer = mailer(&settings);
    transient(mailer.probe().await);
    transient(mailer.send(job(1), &passcode()).await);
}

fn impatient(mut settings: Settings) -> Settings {
    settings.timeouts = Timeouts {
        connect: Duration::from_millis(400),
        command: Duration::from_millis(400),
        whole: Duration::from_secs(2),
    };
    settings
}

/// Asserts that the attempt ends with a timeout.
async fn given_up(settings: &Settings) {
    let mailer = mailer(settings);
    let message = passcode();
    let sent = tokio::time::timeout(Duration::from_secs(20), mailer.send(job(1), &message))
        .await
        .expect("the attempt ends");
    let error = transient(sent);
    assert!(error.contains("SMTP timeout"), "{error}");
}

#[track_caller]
fn nothing_but(clear: &str, received: &Received) {
    assert!(received.mails.is_empty(), "{received:?}");
    // An abandoned server may get a QUIT.
    assert_eq!(received.clear.replace("QUIT\r\n", ""), clear);
}
