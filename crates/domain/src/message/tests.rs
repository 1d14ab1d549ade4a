//! Message texts and retry delays.

use super::*;

#[test]
fn a_code_mail_says_what_it_is() {
    let mail = otp_mail("Tom & <Jerry>", "ada@example.com", "012345", Seconds(600));
    assert_eq!(mail.subject, "012345 is your Tom & <Jerry> code");
    assert!(mail.text.contains("012345") && mail.text.contains("10 minutes"));
    assert!(mail.html.contains("Tom &amp; &lt;Jerry&gt;") && !mail.html.contains("<Jerry>"));
    assert!(
        otp_mail("A", "a@b.c", "1", Seconds(60))
            .text
            .contains("1 minute and")
    );
}

#[test]
fn otp_9_a_message_does_not_print_itself() {
    let mail = otp_mail("Demo", "ada@example.com", "012345", Seconds(60));
    assert_eq!(format!("{mail:?}"), "Message(email, otp)");
}

#[test]
fn delays_double_to_half_a_minute() {
    let waits: Vec<i64> = (0..8).map(|attempts| longest_wait(attempts).0).collect();
    assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 30]);
}

/// One SMS segment of GSM 03.38 has 160 characters.
#[test]
fn a_code_text_is_short() {
    let text = otp_text("Demo", "+14155552671", "012345", Seconds(60));
    assert_eq!(
        text.text,
        "012345 is your Demo code. It is valid for 1 minute. Do not share it."
    );
    assert_eq!(
        (&*text.to, &*text.code, &*text.subject, &*text.html),
        ("+14155552671", "012345", "", "")
    );
    let longest = otp_text(&"A".repeat(85), "+14155552671", "012345", Seconds(600));
    assert!(longest.text.is_ascii() && longest.text.len() <= 160);
}

/// PR-72: codes and links before notices, and notices before invitations. The number of a priority is stored.
#[test]
fn pr_72_every_kind_has_its_priority() {
    let numbers = MessageKind::ALL.map(|kind| kind.priority().number());
    assert_eq!(numbers, [0, 0, 2, 0, 1, 1]);
    for priority in Priority::ALL {
        assert_eq!(Priority::from_number(priority.number()), Some(priority));
    }
    assert_eq!(Priority::from_number(3), None);
}
