use super::*;

#[test]
fn an_enhanced_status_is_three_short_numbers_and_nothing_else() {
    for (text, status) in [
        ("5.1.1 no such user", Some("5.1.1")),
        ("4.7.123", Some("4.7.123")),
        ("<ada@example.com> 5.1.1", None),
        ("ada@example.com", None),
        ("5.1 unknown", None),
        ("5.1.1.1 unknown", None),
        ("5.1.1234 unknown", None),
        ("5..1 unknown", None),
        ("192.168.0.1 unknown", None),
        ("", None),
    ] {
        assert_eq!(enhanced_status(text).as_deref(), status, "{text}");
    }
}

#[test]
fn only_a_5xx_reply_to_the_mail_itself_is_permanent() {
    let refused = |step, code| Failure::Refused {
        step,
        reply: Reply { code, status: None },
    };
    for step in [Step::Sender, Step::Recipient, Step::Data, Step::Content] {
        assert!(refused(step, 550).is_permanent());
        assert!(!refused(step, 451).is_permanent());
    }
    for step in [Step::Connect, Step::Tls, Step::Login, Step::Noop] {
        assert!(!refused(step, 554).is_permanent());
    }
    assert!(
        !Failure::Late {
            step: Step::Content
        }
        .is_permanent()
    );
}
