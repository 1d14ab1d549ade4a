//! Mails as they arrive.

use vestry_domain::message::Message;
use vestry_ports::mailer::Mailer;

use crate::smtp_server::{self, Behaviour, USER};
use crate::{CODE, RECIPIENT, job, mailer, passcode, permanent, settings, settings_for};

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_is_sent_over_starttls_with_login_and_both_parts() {
    let Some(server) = smtp_server::start(Behaviour::default()) else {
        return;
    };
    let message = passcode();
    let mailer = mailer(&settings(&server));
    mailer
        .send(job(1), &message)
        .await
        .expect("it is delivered");
    drop(mailer);
    let received = server.finish();

    let [mail] = received.mails.as_slice() else {
        panic!("one mail arrives");
    };
    assert!(mail.encrypted);
    assert_eq!(mail.login.as_deref(), Some(USER));
    assert_eq!(mail.sender, "no-reply@mail.example");
    assert_eq!(mail.recipients, [RECIPIENT]);
    assert_eq!(mail.content_type, "multipart/alternative");
    assert_eq!(
        mail.text.as_deref().map(str::trim_end),
        Some(message.text.trim_end())
    );
    assert_eq!(
        mail.html.as_deref().map(str::trim_end),
        Some(message.html.as_str())
    );
    assert_eq!(mail.header("From"), "Vestry Tests <no-reply@mail.example>");
    assert_eq!(mail.header("To"), RECIPIENT);
    assert_eq!(
        mail.header("Subject"),
        format!("{CODE} is your Café <Zürich> code")
    );
    assert_eq!(
        mail.header("Message-ID"),
        format!("<{}@mail.example>", job(1))
    );
    assert_eq!(mail.header("Date"), "Tue, 03 Feb 2026 04:05:06 +0000");
    assert_eq!(mail.header("Auto-Submitted"), "auto-generated");
    // Unencrypted: only the commands up to TLS.
    assert_eq!(received.clear, "EHLO mail.example\r\nSTARTTLS\r\n");
}

/// A crash between acceptance and recording sends the mail again; the recipient's server can tell that it is the same mail.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_job_sent_twice_is_the_same_mail() {
    let Some(server) = smtp_server::start(Behaviour::default()) else {
        return;
    };
    for _ in 0..2 {
        // Another process, as after a crash.
        let mailer = mailer(&settings(&server));
        mailer.send(job(1), &passcode()).await.expect("delivered");
    }
    let first = server.next_mail();
    let second = server.next_mail();
    assert_eq!(first.source, second.source);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_mail_reuses_the_connection() {
    let Some(server) = smtp_server::start(Behaviour::default()) else {
        return;
    };
    let mailer = mailer(&settings(&server));
    for number in 1..=3 {
        mailer
            .send(job(number), &passcode())
            .await
            .expect("delivered");
    }
    drop(mailer);
    let received = server.finish();
    assert_eq!(received.mails.len(), 3);
    assert_eq!(received.clear.matches("STARTTLS").count(), 1);
}

/// More senders than connections queue up; no mail is lost.
#[tokio::test(flavor = "multi_thread")]
async fn twenty_mails_at_once_all_arrive() {
    let Some(server) = smtp_server::start(Behaviour::default()) else {
        return;
    };
    let mailer = std::sync::Arc::new(mailer(&settings(&server)));
    let sending: Vec<_> = (0..20)
        .map(|number| {
            let mailer = mailer.clone();
            tokio::spawn(async move { mailer.send(job(number), &passcode()).await })
        })
        .collect();
    for sent in sending {
        sent.await.expect("no panic").expect("delivered");
    }
    drop(mailer);
    let received = server.finish();
    let mut ids: Vec<_> = received
        .mails
        .iter()
        .map(|mail| mail.header("Message-ID"))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 20);
    let connections = received.clear.matches("STARTTLS").count();
    assert!((1..=4).contains(&connections), "{connections} connections");
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_from_the_first_byte() {
    let behaviour = Behaviour {
        implicit_tls: true,
        ..Behaviour::default()
    };
    let Some(server) = smtp_server::start(behaviour) else {
        return;
    };
    let mailer = mailer(&settings_for(server.implicit_tls_url(), &server));
    mailer.send(job(1), &passcode()).await.expect("delivered");
    drop(mailer);
    let received = server.finish();
    assert_eq!(received.mails.len(), 1);
    assert_eq!(received.mails[0].login.as_deref(), Some(USER));
    assert_eq!(received.clear, "");
}

/// For a mail catcher on a developer's machine.
#[tokio::test(flavor = "multi_thread")]
async fn tls_can_be_disabled_for_this_machine_in_the_url() {
    let behaviour = Behaviour {
        starttls: false,
        ..Behaviour::default()
    };
    let Some(server) = smtp_server::start(behaviour) else {
        return;
    };
    let mailer = mailer(&settings_for(format!("{}?tls=none", server.url()), &server));
    mailer.send(job(1), &passcode()).await.expect("delivered");
    assert!(!server.next_mail().encrypted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_connects_and_logs_in_and_sends_nothing() {
    let Some(server) = smtp_server::start(Behaviour::default()) else {
        return;
    };
    let mailer = mailer(&settings(&server));
    mailer.probe().await.expect("the server works");
    let received = server.finish();
    assert!(received.mails.is_empty());
    assert_eq!(received.clear, "EHLO mail.example\r\nSTARTTLS\r\n");
}

/// B6: an international domain is sent in its ASCII form, which every server accepts.
#[tokio::test(flavor = "multi_thread")]
async fn an_international_domain_needs_no_extension() {
    let Some(server) = smtp_server::start(Behaviour::default()) else {
        return;
    };
    let mailer = mailer(&settings(&server));
    mailer
        .send(job(1), &to("ada@straße.example"))
        .await
        .expect("delivered");
    let mail = server.next_mail();
    assert_eq!(mail.recipients, ["ada@xn--strae-oqa.example"]);
}

/// B6, RFC 6531.
#[tokio::test(flavor = "multi_thread")]
async fn an_international_mailbox_needs_smtputf8() {
    let behaviour = Behaviour {
        international: true,
        ..Behaviour::default()
    };
    let (Some(able), Some(unable)) = (
        smtp_server::start(behaviour),
        smtp_server::start(Behaviour::default()),
    ) else {
        return;
    };
    let message = to("jürgen@müller.example");
    mailer(&settings(&able))
        .send(job(1), &message)
        .await
        .expect("delivered");
    assert_eq!(
        able.next_mail().recipients,
        ["jürgen@xn--mller-kva.example"]
    );

    permanent(mailer(&settings(&unable)).send(job(1), &message).await);
    assert!(unable.finish().mails.is_empty());
}

/// B5: names chosen by a sender cannot add a header or another recipient.
#[tokio::test(flavor = "multi_thread")]
async fn line_ends_in_subject_or_address_send_nothing() {
    let Some(server) = smtp_server::start(Behaviour::default()) else {
        return;
    };
    let mailer = mailer(&settings(&server));
    for subject in [
        "Hello\r\nBcc: eve@evil.example",
        "Hello\nBcc: eve@evil.example",
        "Hello\rBcc: eve@evil.example",
        "Hello\0",
    ] {
        let mut message = passcode();
        message.subject = subject.to_owned();
        permanent(mailer.send(job(1), &message).await);
    }
    for address in [
        "ada@analytical.example\r\nRCPT TO:<eve@evil.example>",
        "ada@analytical.example, eve@evil.example",
        "ada@analytical.example>\r\nRCPT TO:<eve@evil.example",
        "\"ada\r\nBcc: eve\"@evil.example",
        "+4915112345678",
        "",
    ] {
        permanent(mailer.send(job(1), &to(address)).await);
    }
    drop(mailer);
    let received = server.finish();
    assert!(received.mails.is_empty());
    assert_eq!(received.clear, "", "no connection is made");
}

/// B5: the content cannot end itself and begin another mail.
#[tokio::test(flavor = "multi_thread")]
async fn dots_and_bare_line_ends_in_the_text_stay_text() {
    let Some(server) = smtp_server::start(Behaviour::default()) else {
        return;
    };
    let mailer = mailer(&settings(&server));
    let smuggled = "MAIL FROM:<eve@evil.example>";
    let mut message = passcode();
    message.text =
        format!(".\r\nfirst\n.\n{smuggled}\r.\r{smuggled}\r\n.\r\n{smuggled}\n..\nlast\n");
    mailer.send(job(1), &message).await.expect("delivered");
    drop(mailer);
    let received = server.finish();
    let [mail] = received.mails.as_slice() else {
        panic!("one mail arrives");
    };
    assert_eq!(
        mail.text.as_deref().map(str::trim_end),
        Some(format!(".\nfirst\n.\n{smuggled}\n.\n{smuggled}\n.\n{smuggled}\n..\nlast").as_str())
    );
    assert!(!mail.source.replace("\r\n", "").contains(['\r', '\n']));
}

fn to(address: &str) -> Message {
    Message {
        to: address.to_owned(),
        ..passcode()
    }
}
