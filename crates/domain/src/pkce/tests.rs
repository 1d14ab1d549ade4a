use super::*;
use crate::invalid::Reason;

/// RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

fn secret(text: &str) -> Secret<String> {
    Secret::new(text.to_owned())
}

fn asked(challenge: &str) -> Option<CodeChallenge> {
    CodeChallenge::asked(Some(challenge), None).unwrap()
}

/// RFC 7636, sections 4.1 and 4.2 and appendix B.
#[test]
fn m_2_only_its_verifier_satisfies_a_challenge() {
    let challenge = asked(CHALLENGE);
    assert_eq!(challenge, Some(CodeChallenge::of(&secret(VERIFIER))));
    assert_eq!(challenge.unwrap().to_string(), CHALLENGE);
    assert!(is_met(challenge.as_ref(), Some(&secret(VERIFIER))));
    for wrong in [
        "",
        CHALLENGE,
        &VERIFIER[..42],
        &VERIFIER.to_lowercase(),
        &format!("{VERIFIER} "),
        &format!("{VERIFIER}="),
    ] {
        assert!(!is_met(challenge.as_ref(), Some(&secret(wrong))), "{wrong}");
    }
    assert!(!is_met(challenge.as_ref(), None));
}

/// RFC 9700, section 2.1.1.
#[test]
fn m_2_a_verifier_needs_a_challenge() {
    assert!(is_met(None, None));
    for verifier in ["", VERIFIER] {
        assert!(!is_met(None, Some(&secret(verifier))), "{verifier}");
    }
}

/// A text that is not a verifier by RFC 7636 is rejected, even if its hash is the challenge.
#[test]
fn malformed_verifiers_are_rejected() {
    let unreserved = "AZaz09-._~";
    for (verifier, expected) in [
        (unreserved.repeat(5), true),
        ("a".repeat(43), true),
        ("a".repeat(128), true),
        ("a".repeat(42), false),
        ("a".repeat(129), false),
        (format!("{}+", "a".repeat(43)), false),
        (format!("{}é", "a".repeat(43)), false),
        (format!("{}\n", "a".repeat(43)), false),
    ] {
        let verifier = secret(&verifier);
        let challenge = CodeChallenge::of(&verifier);
        assert_eq!(is_met(Some(&challenge), Some(&verifier)), expected);
    }
}

#[test]
fn a_challenge_is_43_characters_of_base64url() {
    let padded = format!("{CHALLENGE}=");
    let ordinary = CHALLENGE.replace('-', "+");
    // The last character encodes four bits; one that encodes more is not the end of any hash.
    let overfull = format!("{}N", &CHALLENGE[..42]);
    for odd in ["", "x", &CHALLENGE[..42], &padded, &ordinary, &overfull] {
        let refused = CodeChallenge::asked(Some(odd), None).unwrap_err();
        assert_eq!(
            (&*refused.param, refused.reason),
            ("code_challenge", Reason::Value),
            "{odd}"
        );
    }
}

/// RFC 7636, section 4.3, except for `plain`.
#[test]
fn the_method_is_s256() {
    assert_eq!(
        CodeChallenge::asked(Some(CHALLENGE), Some("S256")),
        Ok(asked(CHALLENGE))
    );
    assert_eq!(CodeChallenge::asked(None, None), Ok(None));
    for method in ["plain", "s256", "S512", ""] {
        let refused = CodeChallenge::asked(Some(CHALLENGE), Some(method)).unwrap_err();
        assert_eq!(&*refused.param, "code_challenge_method", "{method}");
    }
    let refused = CodeChallenge::asked(None, Some("S256")).unwrap_err();
    assert_eq!(
        (&*refused.param, refused.reason),
        ("code_challenge", Reason::Missing)
    );
}
