use super::*;
use crate::Environment;
use crate::ids::{AppId, Id};

const NOW: Timestamp = Timestamp::from_unix(1_800_000_000);

fn link() -> Link {
    Link {
        world: World::new(AppId::new(NOW, [1; 16]), Environment::Test),
        email_id: EmailId::new(NOW, [2; 16]),
        purpose: LinkPurpose::Create,
        user_id: UserId::new(NOW, [3; 16]),
        token: TokenHash::of("token"),
        redirect: None,
        landing: None,
        fingerprint: None,
        origin: Some(TokenHash::of("origin")),
        user_created: false,
        challenge: None,
        asked_as: None,
        sent_as_asked: false,
        created_at: NOW,
        expires_at: NOW + Seconds(3600),
        used_at: None,
        session_id: None,
        handed_at: None,
    }
}

/// ML-7: 5 to 10080 minutes, 60 by default, and never beyond the App's own limit.
#[test]
fn ml_7_lifetimes_are_bounded() {
    for (asked, maximum, expected) in [
        (None, 10_080, 60),
        (Some(5), 10_080, 5),
        (Some(10_080), 10_080, 10_080),
        (Some(10_080), 15, 15),
        (None, 15, 15),
        (Some(5), 15, 5),
    ] {
        let life = lifetime("expires_in", asked, maximum).unwrap();
        assert_eq!(life, Seconds::from_minutes(expected), "{asked:?} {maximum}");
    }
    for asked in [4, 0, -1, 10_081, i64::MIN, i64::MAX] {
        let refused = lifetime("login_expires_in", Some(asked), 10_080).unwrap_err();
        assert_eq!(refused.param, "login_expires_in", "{asked}");
    }
}

#[test]
fn an_unused_link_waits_until_its_end() {
    let link = link();
    assert_eq!(link.progress(NOW), LinkProgress::Waiting);
    let last = link.expires_at - Seconds(1);
    assert_eq!(link.progress(last), LinkProgress::Waiting);
    assert_eq!(link.progress(link.expires_at), LinkProgress::Over);
}

/// The outcome of a link used in its last second can still be fetched for ten minutes.
#[test]
fn the_outcome_of_a_used_link_can_be_fetched_for_a_while() {
    let at = link().expires_at - Seconds(1);
    let used = Link {
        used_at: Some(at),
        ..link()
    };
    assert_eq!(used.progress(at), LinkProgress::Used { at });
    let last = at + ORIGIN_WINDOW - Seconds(1);
    assert_eq!(used.progress(last), LinkProgress::Used { at });
    assert_eq!(used.progress(at + ORIGIN_WINDOW), LinkProgress::Over);
    let handed = Link {
        handed_at: Some(at),
        ..used
    };
    assert_eq!(handed.progress(at), LinkProgress::Handed);
}

#[test]
fn purposes_have_distinct_names() {
    for purpose in LinkPurpose::ALL {
        assert_eq!(purpose.as_str().parse(), Ok(purpose));
    }
    assert!("sign_in".parse::<LinkPurpose>().is_err());
    assert!(!LinkPurpose::SIGNING_IN.contains(&LinkPurpose::PasswordReset));
}

/// ML-1: at least 128 bits, from the alphabet that the API promises.
#[test]
fn ml_1_tokens_are_long_and_alphanumeric() {
    let mut counter = 0_u8;
    let mut source = |buffer: &mut [u8]| {
        for byte in buffer {
            counter = counter.wrapping_mul(181).wrapping_add(59);
            *byte = counter;
        }
    };
    for (text, length) in [(token(&mut source), 48), (origin_token(&mut source), 128)] {
        assert_eq!(text.expose().len(), length);
        let plain = |byte: u8| byte.is_ascii_alphanumeric();
        assert!(text.expose().bytes().all(plain));
    }
}
