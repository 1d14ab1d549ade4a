use super::*;

fn refusal(url: &str) -> String {
    Server::parse(url).unwrap_err().to_string()
}

#[test]
fn starttls_is_required_when_the_url_says_nothing() {
    for url in [
        "smtp://mail.example.com",
        "smtp://mail.example.com/",
        "smtp://mail.example.com?tls=required",
    ] {
        let server = Server::parse(url).unwrap();
        assert_eq!(server.security, Security::StartTls, "{url}");
        assert_eq!(
            (server.host.as_str(), server.port),
            ("mail.example.com", 587)
        );
        assert!(server.login.is_none());
    }
}

#[test]
fn smtps_is_tls_from_the_first_byte() {
    let server = Server::parse("smtps://Mail.Example.com").unwrap();
    assert_eq!(server.security, Security::Implicit);
    assert_eq!(
        (server.host.as_str(), server.port),
        ("mail.example.com", 465)
    );
}

#[test]
fn user_and_password_are_decoded() {
    let server = Server::parse("smtp://a%40b:p%3A%2F%25%C3%BC@[::1]:2525").unwrap();
    assert_eq!((server.host.as_str(), server.port), ("::1", 2525));
    let login = server.login.unwrap();
    assert_eq!(login.user, "a@b");
    assert_eq!(login.password.expose(), "p:/%ü");
}

/// F3: unencrypted only within the machine.
#[test]
fn tls_can_be_switched_off_only_for_this_machine() {
    for url in [
        "smtp://localhost:1025?tls=none",
        "smtp://127.0.0.1?tls=none",
        "smtp://127.8.9.10?tls=none",
        "smtp://[::1]?tls=none",
    ] {
        assert_eq!(
            Server::parse(url).unwrap().security,
            Security::None,
            "{url}"
        );
    }
    for url in [
        "smtp://mail.example.com?tls=none",
        "smtp://10.0.0.1?tls=none",
        "smtp://localhost.example.com?tls=none",
        "smtp://[::ffff:127.0.0.1]?tls=none",
        "smtp://0.0.0.0?tls=none",
    ] {
        assert!(refusal(url).contains("tls=none"), "{url}");
    }
    for url in [
        "smtp://localhost?tls=opportunistic",
        "smtp://localhost?tls=",
        "smtps://localhost?tls=none",
        "smtp://localhost?tls=none&tls=required",
        "smtp://localhost?TLS=none",
    ] {
        refusal(url);
    }
}

#[test]
fn invalid_servers_are_refused_and_never_repeated() {
    for url in [
        "",
        "mail.example.com",
        "http://u:hunter2@mail.example.com",
        "smtp:u:hunter2@mail.example.com",
        "smtp://",
        "smtp://u:hunter2@",
        "smtp://u:hunter2@mail.example.com:99999",
        "smtp://u:hunter2@mail.example.com/path",
        "smtp://u:hunter2@mail.example.com?ehlo=me",
        "smtp://u:hunter2@mail.example.com#part",
        "smtp://hunter2@mail.example.com",
        "smtp://:hunter2@mail.example.com",
        "smtp://u:hunter2%ff@mail.example.com",
        "smtp://u:hunter2%00@mail.example.com",
        "smtp://u:hunter2@m%C3%BCller.example",
    ] {
        let refusal = refusal(url);
        assert!(refusal.starts_with("mail.smtp.url "), "{refusal}");
        assert!(!refusal.contains("hunter2"), "{refusal}");
    }
}

/// S1: settings get printed while debugging.
#[test]
fn settings_do_not_reveal_the_password() {
    let settings = Settings::new(
        "smtp://u:hunter2@mail.example.com".to_owned(),
        "a@example.com",
    );
    assert!(!format!("{settings:?}").contains("hunter2"));
    let server = Server::parse(settings.url.expose()).unwrap();
    assert!(!format!("{server:?}").contains("hunter2"));
}

#[test]
fn the_sender_is_a_mailbox_with_or_without_a_name() {
    let named = sender("  Acme Sign-in <no-reply@example.com> ").unwrap();
    assert_eq!(named.name.as_deref(), Some("Acme Sign-in"));
    assert_eq!(named.email.to_string(), "no-reply@example.com");
    assert_eq!(sender("a@example.com").unwrap().name, None);
    assert_eq!(
        sender("Grüße <a@müller.example>").unwrap().email.domain(),
        "xn--mller-kva.example"
    );
    for from in [
        "",
        "Acme",
        "Acme <>",
        "a@",
        "a@b@c.example",
        "Acme <a@example.com>\r\nBcc: eve@evil.example",
        "Ac\tme <a@example.com>",
        "a@example.com, b@example.com",
    ] {
        assert!(sender(from).is_err(), "{from:?}");
    }
}
