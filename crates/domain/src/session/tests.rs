//! S-3: absolute and idle limits; factors.

use super::*;
use crate::ids::{AppId, Id};
use crate::world::Environment;

const LIMITS: SessionLimits = SessionLimits {
    absolute: Seconds(10_000),
    idle: Some(Seconds(600)),
};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix(1_700_000_000 + seconds)
}

fn factor(number: u8, when: Timestamp) -> Factor {
    let email_id = EmailId::new(at(0), [number; 16]);
    Factor {
        proof: Proof::EmailCode {
            email_id,
            email: "ada@example.com".to_owned(),
        },
        last_verified_at: when,
    }
}

fn session(length: i64) -> Session {
    let world = World::new(AppId::new(at(0), [1; 16]), Environment::Test);
    let user = UserId::new(at(0), [2; 16]);
    let id = SessionId::new(at(0), [3; 16]);
    let sign_in = SignIn {
        user_id: user,
        factor: factor(1, at(0)),
        device_fingerprint: DeviceFingerprint::default(),
    };
    Session::start(id, world, sign_in, Seconds(length), LIMITS, at(0))
}

/// The limit counts bytes, not characters: fifty times a hundred characters can be within it or beyond it.
#[test]
fn total_size_of_permissions_is_limited() {
    let of = |count: usize, letter: &str| -> Vec<String> {
        let one = |number| format!("{number:02}{}", letter.repeat(98));
        (0..count).map(one).collect()
    };
    for (count, letter, accepted) in [
        (39, "x", true),
        (40, "x", false),
        (20, "\"", true),
        (21, "\"", false),
        (10, "\u{1F511}", true),
        (11, "\u{1F511}", false),
    ] {
        let outcome = permissions(of(count, letter));
        assert_eq!(outcome.is_ok(), accepted, "{count} of {letter}");
        assert!(outcome.is_ok() || outcome.unwrap_err().param == "permissions");
    }
}

#[test]
fn s_3_alive_until_the_first_limit_that_ends_it() {
    for (length, last_active, now, alive) in [
        (300, 0, 299, true),
        (300, 0, 300, false),
        (5_000, 0, 599, true),
        (5_000, 0, 600, false),
        (5_000, 4_500, 4_999, true),
        (5_000, 4_999, 5_000, false),
        (99_999, 9_900, 9_999, true),
        (99_999, 9_900, 10_000, false),
    ] {
        let mut session = session(length);
        session.last_active_at = at(last_active);
        assert_eq!(
            session.is_alive(LIMITS, at(now)),
            alive,
            "length {length}, active {last_active}, now {now}"
        );
    }
}

#[test]
fn s_3_extension_never_passes_the_absolute_limit() {
    let mut session = session(300);
    session.extend(Seconds(900), LIMITS, at(200));
    assert_eq!(session.expires_at, at(1_100));
    session.extend(Seconds(99_999), LIMITS, at(300));
    assert_eq!(session.expires_at, at(10_000));
    assert_eq!(session.started_at, at(0));
}

#[test]
fn an_ended_session_is_dead() {
    let mut session = session(300);
    session.deleted_at = Some(at(10));
    assert!(!session.is_alive(LIMITS, at(11)));
}

#[test]
fn a_repeated_factor_is_updated_and_another_one_added() {
    let mut session = session(300);
    session.add_factor(factor(1, at(50)), at(50));
    assert_eq!(session.factors, [factor(1, at(50))]);
    session.add_factor(factor(2, at(60)), at(60));
    assert_eq!(session.factors, [factor(1, at(50)), factor(2, at(60))]);
}

#[test]
fn otp_7_fingerprints_match_as_the_app_asks() {
    let print = |ip: &str, agent: &str| {
        DeviceFingerprint::new(Some(ip.to_owned()), Some(agent.to_owned())).unwrap()
    };
    let sent = print("192.0.2.1", "Firefox");
    for (other, rule, matches) in [
        (print("192.0.2.2", "Chrome"), FingerprintMatch::Off, true),
        (print("192.0.2.1", "Chrome"), FingerprintMatch::Ip, true),
        (print("192.0.2.2", "Firefox"), FingerprintMatch::Ip, false),
        (
            print("192.0.2.2", "Firefox"),
            FingerprintMatch::UserAgent,
            true,
        ),
        (
            print("192.0.2.1", "Chrome"),
            FingerprintMatch::UserAgent,
            false,
        ),
        (
            print("192.0.2.1", "Chrome"),
            FingerprintMatch::IpAndUserAgent,
            false,
        ),
        (
            print("192.0.2.1", "Firefox"),
            FingerprintMatch::IpAndUserAgent,
            true,
        ),
    ] {
        assert_eq!(
            sent.matches(&other, rule),
            matches,
            "{other:?} under {rule:?}"
        );
    }
}

/// One machine is one subject, however its address is written; all invalid addresses share one subject.
#[test]
fn ip_addresses_are_counted_by_value() {
    let subject = |ip: &str| {
        let device = DeviceFingerprint::new(Some(ip.to_owned()), None).unwrap();
        device.ip_subject()
    };
    for (expected, spellings) in [
        (None, &["", "  "][..]),
        (
            Some("203.0.113.7"),
            &[
                "203.0.113.7",
                " 203.0.113.7 ",
                "203.0.113.7:443",
                "::ffff:203.0.113.7",
                "::FFFF:cb00:7107",
                "[::ffff:203.0.113.7]:443",
            ][..],
        ),
        (
            Some("2001:db8:1:2::/64"),
            &[
                "2001:db8:1:2::1",
                "2001:0DB8:0001:0002:ffff:ffff:ffff:ffff",
                "[2001:db8:1:2::9]:443",
            ][..],
        ),
        (Some("2001:db8:1:3::/64"), &["2001:db8:1:3::1"][..]),
        (
            Some("no address"),
            &[
                "unknown",
                "203.0.113.07",
                "203.0.113.7, 198.51.100.1",
                "203.0.113.256",
                "3405803783",
                "fe80::1%eth0",
            ][..],
        ),
    ] {
        for ip in spellings {
            assert_eq!(subject(ip).as_deref(), expected, "{ip}");
        }
    }
}
