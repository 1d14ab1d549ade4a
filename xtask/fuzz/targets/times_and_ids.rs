//! Short texts in requests: times (RFC 3339), ids, API keys, idempotency keys, recovery codes, authenticator app codes and names.

#![no_main]

use libfuzzer_sys::fuzz_target;
use vestry_domain::api_key::{ApiKeyKind, has_form};
use vestry_domain::idempotency::IdempotencyKey;
use vestry_domain::ids::{Id, SessionId, UserId, WalletId};
use vestry_domain::passkey::{Origins, PasskeyDomain, check_origin};
use vestry_domain::wallet::WalletType;
use vestry_domain::{Timestamp, rfc3339, siwe, text, totp};

/// RFC 6238, appendix B.
const SEED: &[u8] = b"12345678901234567890";

fn id<I: Id + std::str::FromStr>(text: &str) {
    let Ok(id) = text.parse::<I>() else { return };
    assert_eq!(id.to_string(), text, "one spelling");
    if let Some(next) = id.following(1) {
        assert!(next > id, "order");
    }
}

fuzz_target!(|data: &[u8]| {
    if let Ok(key) = IdempotencyKey::parse(data) {
        assert!(data.is_ascii() && !data.is_empty());
        drop(key);
    }
    let Ok(given) = std::str::from_utf8(data) else {
        return;
    };
    if let Some(time) = rfc3339::parse(given) {
        let printed = rfc3339::format(time);
        let again = rfc3339::parse(&printed).expect("a time of ours");
        // Offsets reach a day beyond four-digit years; such times are printed as the last time with one.
        let first = Timestamp::from_unix(-62_167_219_200);
        let last = Timestamp::from_unix(253_402_300_799);
        assert_eq!(again, time.clamp(first, last), "{printed}");
    }
    id::<UserId>(given);
    id::<SessionId>(given);
    id::<WalletId>(given);
    for kind in [ApiKeyKind::Secret, ApiKeyKind::Public] {
        assert!(!has_form(kind, given) || given.is_ascii());
    }
    if let Some(code) = totp::canonical_recovery_code(given) {
        let again = totp::canonical_recovery_code(code.expose()).expect("its own form");
        assert_eq!(again.expose(), code.expose());
    }
    if let Some(step) = totp::matching_step(SEED, given, Timestamp::from_unix(59)) {
        // Spaces are only for readability.
        let digits: String = given.chars().filter(|c| *c != ' ').collect();
        assert_eq!(*totp::code_at(SEED, step).expose(), digits);
    }
    if let Ok(wallet_type) = given.parse::<WalletType>() {
        assert_eq!(wallet_type.as_str().parse(), Ok(wallet_type));
    }
    if let Ok(name) = text::name("name", given) {
        assert_eq!(text::name("name", &name), Ok(name), "a name of a name");
    }
    let folded = text::fold(given);
    assert_eq!(text::fold(&folded), folded, "folded twice");
    let _ = siwe::check_domains(&[given.to_owned()]);
    let _ = check_origin("origins", given);
    let origins = Origins {
        domain: PasskeyDomain::parse("example.org").expect("a domain"),
        listed: Vec::new(),
        embedders: Vec::new(),
    };
    if origins.allow(given) {
        let host = given.strip_prefix("https://").expect("https");
        assert!(
            host == "example.org" || host.ends_with(".example.org"),
            "{given}"
        );
    }
    if let Ok(domain) = PasskeyDomain::parse(given) {
        assert_eq!(domain.as_str(), given);
    }
});
