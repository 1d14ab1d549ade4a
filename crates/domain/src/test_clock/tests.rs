use super::*;

const MACHINE: Timestamp = Timestamp::from_unix(1_800_000_000);

fn after(seconds: i64) -> Timestamp {
    MACHINE + Seconds(seconds)
}

fn set(change: ClockChange) -> TestClock {
    let clock = TestClock::default().changed(change, MACHINE);
    clock.expect("the change is valid")
}

/// Migration 000015 stores this text for existing Apps.
#[test]
fn the_stored_form_of_an_unset_clock_stays() {
    let text = serde_json::to_string(&TestClock::default()).expect("serializable");
    assert_eq!(text, r#"{"revision":0,"set_at":0,"mode":"machine"}"#);
    assert_eq!(
        serde_json::from_str::<TestClock>(&text).expect("deserializable"),
        TestClock::default()
    );
}

#[test]
fn an_unset_clock_is_the_machines() {
    let clock = TestClock::default();
    assert_eq!(clock.now(MACHINE), MACHINE);
    assert_eq!(clock.for_limits(MACHINE), MACHINE);
    assert!(!clock.is_frozen(MACHINE));
}

/// A clock that is only advanced keeps running.
#[test]
fn an_advanced_clock_runs_on() {
    let clock = set(ClockChange {
        advance_seconds: Some(604_800),
        ..ClockChange::default()
    });
    assert_eq!(clock.now(MACHINE), after(604_800));
    assert_eq!(clock.now(after(5)), after(604_805));
    let again = clock.changed(
        ClockChange {
            advance_seconds: Some(10),
            ..ClockChange::default()
        },
        after(5),
    );
    assert_eq!(again.expect("good").now(after(6)), after(604_816));
}

/// Limits continue while a frozen clock stands still.
#[test]
fn a_frozen_clock_stands_still() {
    let clock = set(ClockChange {
        now: Some(2_000_000_000),
        frozen: Some(true),
        ..ClockChange::default()
    });
    assert_eq!(clock.now(after(100)).unix(), 2_000_000_000);
    assert_eq!(clock.for_limits(after(100)).unix(), 2_000_000_100);
    assert!(clock.is_frozen(after(100)));
    let moved = clock.changed(
        ClockChange {
            advance_seconds: Some(30),
            ..ClockChange::default()
        },
        after(100),
    );
    let moved = moved.expect("good");
    assert_eq!(moved.now(after(200)).unix(), 2_000_000_030);
    let runs = moved.changed(
        ClockChange {
            frozen: Some(false),
            ..ClockChange::default()
        },
        after(200),
    );
    assert_eq!(runs.expect("good").now(after(201)).unix(), 2_000_000_031);
}

#[test]
fn a_forgotten_clock_lapses() {
    let clock = set(ClockChange {
        now: Some(1_500_000_000),
        frozen: Some(true),
        ..ClockChange::default()
    });
    assert_eq!(clock.now(after(7 * 86_400 - 1)).unix(), 1_500_000_000);
    assert_eq!(clock.now(after(7 * 86_400)), after(7 * 86_400));
}

#[test]
fn a_reset_clock_is_newer_than_what_it_resets() {
    let clock = set(ClockChange {
        now: Some(1_500_000_000),
        ..ClockChange::default()
    });
    let reset = clock.reset(after(1));
    assert_eq!((reset.revision, reset.now(after(2))), (2, after(2)));
}

#[test]
fn bad_changes_are_named() {
    let none = ClockChange::default();
    let cases = [
        (none, "now"),
        (
            ClockChange {
                now: Some(1),
                ..none
            },
            "now",
        ),
        (
            ClockChange {
                now: Some(i64::MAX),
                ..none
            },
            "now",
        ),
        (
            ClockChange {
                advance_seconds: Some(-1),
                ..none
            },
            "advance_seconds",
        ),
        (
            ClockChange {
                advance_seconds: Some(i64::MAX),
                ..none
            },
            "advance_seconds",
        ),
        (
            ClockChange {
                now: Some(2_000_000_000),
                advance_seconds: Some(1),
                ..none
            },
            "advance_seconds",
        ),
    ];
    for (change, param) in cases {
        let refused = TestClock::default().changed(change, MACHINE);
        assert_eq!(refused.expect_err("refused").param, param, "{change:?}");
    }
}
