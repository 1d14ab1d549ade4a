//! Message texts, and the use of untrusted text in mails.

use super::*;

const URL: &str = "https://app.example.com/in?next=%2F&token=TOKEN";

fn link(lifetime: Seconds) -> MailedLink<'static> {
    MailedLink {
        url: URL,
        token: "TOKEN",
        lifetime,
    }
}

#[test]
fn a_login_mail_has_the_link_and_a_code_in_both_parts() {
    let code = FallbackCode {
        digits: "012345",
        lifetime: Seconds(600),
    };
    let mail = login_link_mail(
        "Tom & <Jerry>",
        "ada@example.com",
        link(Seconds(3600)),
        code,
    );
    assert_eq!(mail.subject, "Sign in to Tom & <Jerry>");
    assert!(mail.text.contains(&format!("\n{URL}\n")), "{}", mail.text);
    let href = "href=\"https://app.example.com/in?next=%2F&amp;token=TOKEN\"";
    assert!(mail.html.contains(href), "{}", mail.html);
    assert!(mail.html.contains("Tom &amp; &lt;Jerry&gt;") && !mail.html.contains("<Jerry>"));
    for part in [&mail.text, &mail.html] {
        assert!(part.contains("012345"), "{part}");
        assert!(part.contains("valid for 60 minutes"), "{part}");
        assert!(part.contains("valid for 10 minutes"), "{part}");
    }
    assert_eq!(
        (&*mail.code, &*mail.link, &*mail.token),
        ("012345", URL, "TOKEN")
    );
}

/// B5: the invited person's name, as chosen by the inviting party, never goes into a header. It goes into the mail only if it is a plain
/// name.
#[test]
fn b5_names_that_are_not_plain_are_omitted() {
    for name in ["Ada", "Jean-Luc", "O'Brien", "Zoë", "李", "Anna Maria"] {
        let mail = invite_mail("Demo", "ada@example.com", name, link(Seconds(3600)));
        assert!(mail.text.starts_with(&format!("Hello {name},")), "{name}");
        assert!(mail.html.contains(&escape_html(name)), "{name}");
    }
    for name in [
        "",
        " ",
        "evil.example",
        "https://evil.example/",
        "call +1 900 555 0199",
        "<b>Ada</b>",
        "<script>alert(1)</script>",
        "Ada\" onmouseover=\"x",
        "{{7*7}}",
        "${jndi:ldap://x}",
        "=cmd|' /C calc'!A0",
        "' OR 1=1 --",
        "evil@example.com",
        &"a".repeat(41),
    ] {
        let mail = invite_mail("Demo", "ada@example.com", name, link(Seconds(3600)));
        let bare = invite_mail("Demo", "ada@example.com", "", link(Seconds(3600)));
        assert_eq!(mail, bare, "{name}");
        assert!(mail.text.starts_with("Hello,\n"), "{name}");
    }
}

#[test]
fn durations_are_in_plain_words() {
    for (minutes, said) in [
        (1, "1 minute"),
        (5, "5 minutes"),
        (60, "60 minutes"),
        (90, "90 minutes"),
        (120, "2 hours"),
        (1440, "24 hours"),
        (1500, "25 hours"),
        (1501, "1501 minutes"),
        (2880, "2 days"),
        (10_080, "7 days"),
    ] {
        assert_eq!(duration(Seconds::from_minutes(minutes)), said);
    }
    assert_eq!(duration(Seconds(61)), "2 minutes", "rounded up");
}
