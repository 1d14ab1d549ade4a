use super::*;

const LIMIT: Limit = Limit::per_minute(2);

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix(seconds)
}

#[test]
fn it_admits_its_limit_and_reports_a_fixed_end() {
    let mut window = Window::open(LIMIT, at(1000));
    let verdicts = [1000, 1030, 1030, 1059].map(|now| window.hit(LIMIT, at(now)));
    assert_eq!(
        verdicts.map(|verdict| (verdict.admitted, verdict.remaining)),
        [(true, 1), (true, 0), (false, 0), (false, 0)]
    );
    assert!(
        verdicts
            .iter()
            .all(|verdict| verdict.reset == at(1060) && verdict.limit == 2)
    );
}

#[test]
fn the_next_one_opens_with_the_first_use_after_it() {
    let mut window = Window::open(LIMIT, at(1000));
    for _ in 0..5 {
        window.hit(LIMIT, at(1000));
    }
    let verdict = window.hit(LIMIT, at(1075));
    assert!(verdict.admitted);
    assert_eq!((verdict.remaining, verdict.reset), (1, at(1135)));
}

/// F8: after a clock is set back, the window neither admits more nor blocks for as long as it was set back.
#[test]
fn f8_a_clock_set_back_neither_admits_more_nor_blocks() {
    let mut window = Window::open(LIMIT, at(10_000));
    window.hit(LIMIT, at(10_000));
    window.hit(LIMIT, at(10_000));
    assert!(!window.hit(LIMIT, at(9_995)).admitted);
    assert!(window.hit(LIMIT, at(6_400)).admitted);
}

#[test]
fn extreme_times_do_not_overflow() {
    for now in [i64::MIN, 0, i64::MAX] {
        let mut window = Window::open(LIMIT, at(now));
        assert!(window.hit(LIMIT, at(now)).limit == 2);
        assert!(window.hit(LIMIT, at(0)).limit == 2);
    }
}
