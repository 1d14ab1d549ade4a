//! OTP-9, I9: secrets appear in no log line, debug output or error.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use vestry_app::Principal;
use vestry_contract::words::reveals;

use tracing_subscriber::fmt::MakeWriter;
use vestry_app::delivery::test_messages::FindMessages;
use vestry_app::identity::codes::VerifyCode;
use vestry_app::identity::links::{LoginStatusQuery, VerifyLink};
use vestry_app::identity::sessions::VerifySession;
use vestry_domain::Secret;
use vestry_ports::store::StoreError;

use crate::harness::{Harness, lasting, login, proof, wrong};
use crate::links::{opened, url_of};
use crate::send::send;
use crate::wallets::text;

/// Everything that was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// A flow through every use case, including failures, at the finest log level.
#[tokio::test]
async fn otp_9_secrets_stay_out_of_logs_errors_and_debug_output() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(log.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let mut said = String::new();
    let mut secrets = vec!["ada@example.com".to_owned(), "bob@example.com".to_owned()];
    let mut debug = |form: &dyn std::fmt::Debug| said.push_str(&format!("{form:?}\n"));

    let harness = Harness::new().await;
    let (test, live) = (harness.test().await, harness.live().await);
    debug(&test);
    let user = harness.user(&test, "bob@example.com").await;
    secrets.push(user.wallets[0].public_address.clone());
    debug(&user);
    let signed = harness
        .service
        .sign(&test, text(user.wallets[0].id, "a private message"))
        .await;
    secrets.push("a private message".into());
    debug(&signed.as_ref().map(|signed| &signed.wallet));

    for caller in [&test, &live] {
        harness.mailer.fail_for_now(2);
        let sent = harness.login(caller, "ada@example.com").await;
        debug(&sent);
        for _ in 0..3 {
            harness.deliver().await;
            harness.pass(30);
        }
        let mail = if caller.is_test() {
            let captured = harness
                .service
                .captured_messages(caller, FindMessages::default())
                .await
                .unwrap()
                .remove(0);
            debug(&captured);
            captured.message
        } else {
            harness.mailer.sent().remove(0).1
        };
        secrets.push(mail.code.clone());
        for tried in [wrong(&mail.code), &*mail.code] {
            let command = VerifyCode {
                session_fields: lasting(60),
                ..proof(sent.email.id, tried)
            };
            debug(&command);
            let verified = harness.service.verify_code(caller, command).await;
            debug(&verified);
            if let Ok(verified) = verified {
                let issued = verified.issued.unwrap();
                secrets.push(issued.token.expose().clone());
                secrets.push(issued.jwt.expose().clone());
                let command = VerifySession {
                    session_token: Some(issued.token.clone()),
                    session_jwt: Some(Secret::new(format!("{}x", issued.jwt.expose()))),
                    ..VerifySession::default()
                };
                debug(&command);
                debug(&harness.service.verify_session(caller, command).await);
                debug(&harness.by_token(caller, &issued.token).await);
            }
        }
    }
    let world = harness.world(vestry_domain::Environment::Test);
    for kind in vestry_domain::redirect::RedirectKind::ALL {
        let url = url_of(kind);
        let added = harness
            .service
            .add_redirect_url(Principal::cli(), world, kind, &url, true)
            .await;
        added.unwrap();
    }
    let (sent, mail) = harness.fresh_link(&test, "bob@example.com").await;
    debug(&sent);
    let made = harness.created_link(&test, "ada@example.com").await;
    debug(&made);
    secrets.extend([mail.token.clone(), mail.link, mail.code]);
    secrets.push(made.token.expose().clone());
    secrets.push(made.origin_token.expose().clone());
    for token in ["no such token", &mail.token, made.token.expose()] {
        let command = VerifyLink {
            session_fields: lasting(60),
            ..opened(token)
        };
        debug(&command);
        debug(&harness.service.verify_link(&test, command).await);
    }
    for _ in 0..2 {
        let query = LoginStatusQuery {
            email_id: made.email.id,
            origin_token: made.origin_token.clone(),
        };
        debug(&query);
        let status = harness.service.login_status(&test, query).await;
        debug(&status);
        let issued = status.ok().and_then(|status| status.issued);
        secrets.extend(issued.map(|issued| issued.token.expose().clone()));
    }
    harness.mailer.refuse();
    harness.login(&live, "ada@example.com").await;
    harness.deliver().await;
    for reason in [StoreError::Busy, StoreError::Other("a bug".into())] {
        harness.store.refuse([reason]);
        let failed = harness
            .service
            .login_or_create_by_email(&test, login("ada@example.com"))
            .await;
        debug(&failed);
        harness.store.refuse([StoreError::Busy]);
        debug(&harness.service.deliver_due("worker").await);
    }
    debug(
        &harness
            .service
            .send_code_by_email(&test, send("ada@example"))
            .await,
    );
    debug(
        &harness
            .service
            .send_code_by_email(&test, send("Ada@Example.com"))
            .await,
    );

    let logged = log.0.lock().unwrap().clone();
    let logged = String::from_utf8(logged).unwrap();
    assert!(
        logged.contains("message delivery failed; retrying")
            && logged.contains("message rejected permanently"),
        "the flow met its failures: {logged}"
    );
    for secret in &secrets {
        for (where_to, text) in [("log", &logged), ("debug", &said)] {
            let lower = text.to_lowercase();
            assert!(
                !reveals(&lower, &secret.to_lowercase()),
                "{secret} in the {where_to}: {text}"
            );
        }
    }
}
