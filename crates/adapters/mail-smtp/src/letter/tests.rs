use vestry_domain::Timestamp;
use vestry_domain::ids::Id;
use vestry_domain::message::otp_mail;
use vestry_domain::timestamp::Seconds;

use super::*;

fn from() -> Mailbox {
    "Vestry <no-reply@mail.example>".parse().unwrap()
}

fn job(seconds: i64) -> JobId {
    JobId::new(Timestamp::from_unix(seconds), [7; 16])
}

fn mail(to: &str) -> Message {
    otp_mail("Acme", to, "123456", Seconds(60))
}

fn text(letter: &Letter) -> &str {
    std::str::from_utf8(&letter.bytes).unwrap()
}

#[test]
fn the_same_job_gives_the_same_bytes_and_another_job_others() {
    let write = |id| {
        Letter::write(&from(), id, &mail("a@b.example"))
            .unwrap()
            .bytes
    };
    let (one, other) = (job(1_770_000_000), job(1_770_000_001));
    assert_eq!(write(one), write(one));
    assert_ne!(write(one), write(other));
}

#[test]
fn a_message_without_html_is_text_only() {
    let mut message = mail("a@b.example");
    message.html.clear();
    let letter = Letter::write(&from(), job(1_770_000_000), &message).unwrap();
    assert!(text(&letter).contains("text/plain"));
    assert!(!text(&letter).contains("text/html"));
}

/// `straße` and `strasse` are different names (attack 5).
#[test]
fn mail_goes_to_the_domain_that_was_written() {
    for (written, domain) in [
        ("a@straße.example", "xn--strae-oqa.example"),
        ("a@STRASSE.example", "strasse.example"),
        ("a@bücher.example", "xn--bcher-kva.example"),
    ] {
        assert_eq!(recipient(written).unwrap().domain(), domain);
    }
}

#[test]
fn the_mailbox_keeps_its_spelling() {
    assert_eq!(
        recipient(" Ada.Lovelace+x@b.example ").unwrap().user(),
        "Ada.Lovelace+x"
    );
    assert_eq!(recipient("JÜRGEN@b.example").unwrap().user(), "JÜRGEN");
}

#[test]
fn the_earliest_and_the_latest_job_have_a_date() {
    for seconds in [0, i64::MAX] {
        let letter = Letter::write(&from(), job(seconds), &mail("a@b.example")).unwrap();
        assert_eq!(text(&letter).matches("\r\nDate: ").count(), 1);
    }
}

/// B5: the name of an App never adds a header.
#[test]
fn the_name_of_the_app_adds_no_header() {
    let header_names = |message: &Message| {
        let letter = Letter::write(&from(), job(1_770_000_000), message).unwrap();
        let head = text(&letter).split("\r\n\r\n").next().unwrap().to_owned();
        head.split("\r\n")
            .filter(|line| !line.starts_with([' ', '\t']))
            .map(|line| line.split(':').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let plain = header_names(&mail("a@b.example"));
    for name in [
        "=?utf-8?Q?=0D=0ABcc:_eve@evil.example?=",
        "\u{2028}Bcc: eve@evil.example",
        "\u{85}Bcc: eve@evil.example",
        &"long ".repeat(60),
        "\"<>()[]:;@\\,.",
    ] {
        let named = otp_mail(name, "a@b.example", "123456", Seconds(60));
        match Letter::write(&from(), job(1_770_000_000), &named) {
            Ok(_) => assert_eq!(header_names(&named), plain, "{name:?}"),
            Err(why) => assert!(
                name.chars().any(char::is_control),
                "{name:?} refused: {why}"
            ),
        }
    }
}
