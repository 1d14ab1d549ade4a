//! E-mail addresses: a parsed address must parse again to the same value and identity, and the identity must be its own.

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
    // Letter case does not make another user.
    let upper = email.address().to_uppercase();
    if upper.is_ascii()
        && email.address().is_ascii()
        && let Ok(upper) = Email::parse(&upper)
    {
        assert!(upper.identity() == email.identity(), "case");
    }
    // The address cannot inject a mail header line.
    assert!(
        !email.address().contains(['\r', '\n', '\0', '<', '>']),
        "control characters"
    );
});
