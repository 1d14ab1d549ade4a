//! F4: opens after ten consecutive failures, and closes on its own.

use super::*;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test]
async fn f4_it_opens_after_ten_failures_in_a_row() {
    let (mut breaker, now) = (Breaker::default(), Instant::now());
    for _ in 0..3 {
        for _ in 0..FAILURES - 1 {
            assert_eq!(breaker.admit(now), Ok(()));
            breaker.failed(now);
        }
        assert_eq!(breaker.admit(now), Ok(()));
        breaker.succeeded();
    }
    for _ in 0..FAILURES {
        assert_eq!(breaker.admit(now), Ok(()));
        breaker.failed(now);
    }
    assert_eq!(breaker.admit(now), Err(seconds(2)));
    assert_eq!(breaker.admit(now + seconds(1)), Err(seconds(1)));
}

#[tokio::test]
async fn f4_one_trial_at_a_time_and_longer_pauses_while_it_fails() {
    let (mut breaker, mut now) = (Breaker::default(), Instant::now());
    for _ in 0..FAILURES + 5 {
        breaker.failed(now);
    }
    for pause in [2, 4, 4] {
        assert_eq!(
            breaker.admit(now),
            Err(seconds(pause)),
            "late failures do not prolong it"
        );
        now += seconds(pause);
        assert_eq!(breaker.admit(now), Ok(()));
        assert_eq!(breaker.admit(now), Err(seconds(2)), "one at a time");
        breaker.failed(now);
    }
    now += seconds(4);
    assert_eq!(breaker.admit(now), Ok(()));
    breaker.succeeded();
    for _ in 0..100 {
        assert_eq!(breaker.admit(now), Ok(()));
    }
}

#[tokio::test]
async fn an_unfinished_trial_does_not_keep_it_open() {
    let (mut breaker, now) = (Breaker::default(), Instant::now());
    for _ in 0..FAILURES {
        breaker.failed(now);
    }
    assert_eq!(breaker.admit(now + seconds(2)), Ok(()));
    assert_eq!(breaker.admit(now + seconds(61)), Err(seconds(2)));
    assert_eq!(breaker.admit(now + seconds(62)), Ok(()));
}
