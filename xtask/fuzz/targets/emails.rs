//! E-mail addresses: what was read is read again as the same, under the same identity; and the identity is one that its own
//! spelling has.

#![no_main]

use libfuzzer_sys::fuzz_target;
use vestry_domain::email::Email;

fuzz_target!(|text: &str| {
    let Ok(email) = Email::parse(text) else {
        return;
    };
    let again = Email::parse(email.address()).expect("its own address");
    assert!(again == email, "printed and read again");
    let identity = email.identity().as_str();
    assert_eq!(identity.matches('@').count(), 1, "one @");
    // Case makes no other user.
    let upper = email.address().to_uppercase();
    if upper.is_ascii()
        && email.address().is_ascii()
        && let Ok(upper) = Email::parse(&upper)
    {
        assert!(upper.identity() == email.identity(), "case");
    }
    // No line of a mail's head can be made of it.
    assert!(
        !email.address().contains(['\r', '\n', '\0', '<', '>']),
        "control characters"
    );
});
