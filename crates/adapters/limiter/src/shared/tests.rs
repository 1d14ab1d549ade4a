use super::*;

const LIMIT: Limit = Limit::per_minute(10);

fn reset(opened: i64, server: i64, now: i64) -> i64 {
    let count = Count {
        used: 1,
        opened,
        now: server,
    };
    verdict(count, LIMIT, Timestamp::from_unix(now))
        .reset
        .unix()
}

/// R16: `X-RateLimit-Reset` does not flicker if two clocks tick a moment apart.
#[test]
fn the_end_of_the_window_does_not_move_while_clocks_agree() {
    for (server, now) in [(1000, 1000), (1030, 1029), (1030, 1031), (1059, 1060)] {
        assert_eq!(reset(1000, server, now), 1060);
    }
}

/// F8: the seconds to wait are right, whatever the replica's clock says.
#[test]
fn f8_a_wrong_clock_gets_the_right_wait() {
    for skew in [-3600, -2, 2, 86_400] {
        let now = 1040 + skew;
        assert_eq!(reset(1000, 1040, now) - now, 20, "{skew}");
    }
}

#[test]
fn more_uses_than_a_verdict_can_hold_are_refused() {
    let count = Count {
        used: u64::MAX,
        opened: 0,
        now: 0,
    };
    let verdict = verdict(count, LIMIT, Timestamp::from_unix(0));
    assert!(!verdict.admitted);
    assert_eq!(verdict.remaining, 0);
}

/// S1.
#[test]
fn the_settings_do_not_reveal_the_password() {
    let settings = RedisSettings::new("redis://:hunter2@localhost".to_owned());
    assert!(!format!("{settings:?}").contains("hunter2"));
}

#[tokio::test]
async fn a_url_that_cannot_be_used_is_refused_and_not_repeated() {
    for url in [
        "",
        "memory",
        "http://:hunter2@localhost",
        "redis://:hunter2@",
        "rediss://:hunter2@localhost",
        "redis://:hunter2@localhost/seven",
    ] {
        let refused = RedisLimiter::connect(&RedisSettings::new(url.to_owned()))
            .await
            .unwrap_err();
        assert!(!format!("{refused} {refused:?}").contains("hunter2"));
    }
}
