//! Test vectors of RFC 6238 and RFC 4226, the acceptance window, and recovery codes.

use super::*;

/// The seed used in both appendices.
const SEED: &[u8] = b"12345678901234567890";

fn now(unix: i64) -> Timestamp {
    Timestamp::from_unix(unix)
}

/// RFC 6238 Appendix B, mode SHA1: eight digits at six points in time.
#[test]
fn otp_12_rfc_6238_appendix_b() {
    for (unix, code) in [
        (59, 94_287_082),
        (1_111_111_109, 7_081_804),
        (1_111_111_111, 14_050_471),
        (1_234_567_890, 89_005_924),
        (2_000_000_000, 69_279_037),
        (20_000_000_000, 65_353_130),
    ] {
        assert_eq!(truncated(SEED, unix / 30) % 100_000_000, code, "at {unix}");
    }
}

/// RFC 4226 Appendix D: six digits for the first ten counters.
#[test]
fn otp_12_rfc_4226_appendix_d() {
    let codes = [
        "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871",
        "520489",
    ];
    for (step, code) in (0..).zip(codes) {
        assert_eq!(code_at(SEED, step).expose(), code, "counter {step}");
    }
}

/// Exactly the previous, the current and the next step are accepted (OTP-12, completions 6).
#[test]
fn otp_12_the_window_is_one_step_either_way() {
    let at = now(1_111_111_111);
    let present = 1_111_111_111 / 30;
    for away in -3..=3_i64 {
        let code = code_at(SEED, present + away);
        let expected = (away.abs() <= 1).then_some(present + away);
        assert_eq!(matching_step(SEED, code.expose(), at), expected, "{away}");
    }
}

#[test]
fn m_17_entered_codes_may_contain_only_digits_and_spaces() {
    for text in ["050471", " 050 471 ", "0 5 0 4 7 1", "050\u{a0}471\n"] {
        let digits = typed(text).unwrap();
        assert_eq!(digits.expose(), "050471", "{text:?}");
    }
    for odd in [
        "",
        "050",
        "0504710",
        "05047100",
        "050-471",
        "+050471",
        "０５０４７１",
    ] {
        assert!(typed(odd).is_none(), "{odd:?}");
    }
}

/// Times before 1970 and at the far end have no step, or one; nothing panics (F8).
#[test]
fn f8_odd_times_do_not_panic() {
    let first = code_at(SEED, 0);
    assert_eq!(matching_step(SEED, first.expose(), now(0)), Some(0));
    let before = code_at(SEED, -1);
    assert_eq!(matching_step(SEED, before.expose(), now(-5)), None);
    for unix in [i64::MIN, i64::MAX, 4_294_967_296] {
        assert_eq!(matching_step(SEED, "no code", now(unix)), None);
    }
}

#[test]
fn the_key_uri_escapes_app_and_account() {
    let uri = key_uri("Ada & Söhne: Ltd", "ada+1@example.com", SEED);
    assert_eq!(
        uri.expose(),
        "otpauth://totp/Ada%20%26%20S%C3%B6hne%20Ltd:ada%2B1%40example.com\
         ?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Ada%20%26%20S%C3%B6hne%20Ltd\
         &algorithm=SHA1&digits=6&period=30"
    );
    let long = key_uri(&"👩".repeat(500), &"👩".repeat(500), SEED);
    assert!(long.expose().len() < 2_900, "a QR code holds 2,953 bytes");
}

/// A deterministic source that is uniform enough to reveal a biased draw.
fn source() -> impl FnMut(&mut [u8]) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    move |buffer: &mut [u8]| {
        for byte in buffer {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *byte = state.to_be_bytes()[3];
        }
    }
}

/// `xxxxx-xxxxx` of `[a-z0-9]`, each character equally likely at every position (completions 1).
#[test]
fn recovery_codes_have_their_form_and_are_uniform() {
    let mut source = source();
    let mut seen = std::collections::HashMap::<char, u32>::new();
    const DRAWN: u32 = 7_200;
    for _ in 0..DRAWN {
        let code = draw_recovery_code(&mut source);
        let (front, back) = code.expose().split_once('-').unwrap();
        assert_eq!((front.len(), back.len()), (5, 5));
        for character in front.chars().chain(back.chars()) {
            assert!(character.is_ascii_digit() || character.is_ascii_lowercase());
            *seen.entry(character).or_default() += 1;
        }
    }
    assert_eq!(seen.len(), 36);
    // The expected count is 2,000 each; six standard deviations are 264.
    for (character, count) in seen {
        assert!(count.abs_diff(2_000) < 264, "{character}: {count}");
    }
}

#[test]
fn recovery_codes_are_accepted_as_people_type_them() {
    for typed in [
        "abcde-12345",
        "ABCDE-12345",
        "abcde12345",
        " abcde 12345 ",
        "a-b-c-d-e-1-2-3-4-5",
    ] {
        let canonical = canonical_recovery_code(typed).unwrap();
        assert_eq!(canonical.expose(), "abcde12345", "{typed}");
    }
    for odd in [
        "",
        "abcde-1234",
        "abcde-123456",
        "abcde-1234ö",
        "abcde_12345",
    ] {
        assert!(canonical_recovery_code(odd).is_none(), "{odd}");
    }
}

#[test]
fn unverified_apps_expire_and_verified_ones_do_not() {
    let id = crate::ids::Id::new(now(0), [1; 16]);
    let app = crate::ids::Id::new(now(0), [2; 16]);
    let mut totp = Totp {
        id,
        world: World::new(app, crate::Environment::Test),
        user_id: crate::ids::Id::new(now(0), [3; 16]),
        verified: false,
        seed: Sealed {
            key_version: 1,
            bytes: Vec::new(),
        },
        expires_at: now(100),
        created_at: now(0),
        updated_at: now(0),
    };
    assert!(totp.is_alive(now(99)));
    assert!(!totp.is_alive(now(100)));
    totp.verified = true;
    assert!(totp.is_alive(now(100)));
}

/// Attack 3: the chance of guessing a code in a day is below 1e-4, whatever the number of apps. It is as close to that as whole guesses
/// allow.
#[test]
fn attack_3_a_day_of_guesses_stays_under_the_bound() {
    for (apps, most) in [(0, 33), (1, 33), (2, 16), (3, 11), (4, 8), (5, 6), (6, 5)] {
        let limit = failures_a_day(apps);
        assert_eq!(
            (limit.most, limit.window),
            (most, Seconds(86_400)),
            "{apps}"
        );
        let millionths = 3 * apps.max(1) * usize::try_from(limit.most).unwrap();
        println!("attack 3: {apps} apps, {most} wrong codes per day: {millionths} in a million");
        assert!(millionths < 100);
    }
}
