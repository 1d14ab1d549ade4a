//! RFC 3339 section 5.8 and the calendar.

use super::*;

fn unix(text: &str) -> Option<i64> {
    parse(text).map(Timestamp::unix)
}

#[test]
fn rfc_3339_examples_are_parsed() {
    for (text, expected) in [
        ("1985-04-12T23:20:50.52Z", 482_196_050),
        ("1996-12-19T16:39:57-08:00", 851_042_397),
        ("1990-12-31T23:59:60Z", 662_688_000),
        ("1990-12-31T15:59:60-08:00", 662_688_000),
        ("1937-01-01T12:00:27.87+00:20", -1_041_337_173),
        ("1970-01-01t00:00:00z", 0),
        ("2000-02-29T00:00:00Z", 951_782_400),
        ("0000-01-01T00:00:00Z", -62_167_219_200),
        ("9999-12-31T23:59:59Z", 253_402_300_799),
    ] {
        assert_eq!(unix(text), Some(expected), "{text}");
    }
}

#[test]
fn invalid_timestamps_are_rejected() {
    for text in [
        "",
        "2026-11-21",
        "2026-11-21T06:05:31",
        "2026-11-21 06:05:31Z",
        "2026-13-21T06:05:31Z",
        "2026-00-21T06:05:31Z",
        "2026-02-29T06:05:31Z",
        "1900-02-29T06:05:31Z",
        "2026-11-31T06:05:31Z",
        "2026-11-21T24:05:31Z",
        "2026-11-21T06:60:31Z",
        "2026-11-21T06:05:61Z",
        "2026-11-21T06:05:31.Z",
        "2026-11-21T06:05:31+1:00",
        "2026-11-21T06:05:31+24:00",
        "2026-11-21T06:05:31Z ",
        "+026-11-21T06:05:31Z",
        "2026-11-2éT06:05:31Z",
        "26-11-21T06:05:31Z",
    ] {
        assert_eq!(unix(text), None, "{text}");
    }
}

/// Every day of eight centuries, and the ends of the range, round-trip.
#[test]
fn formatted_timestamps_round_trip() {
    for day in -146_097_i64..146_097 {
        let at = Timestamp::from_unix(day * 86_400 + 86_399 - day.rem_euclid(86_400));
        assert_eq!(parse(&format(at)), Some(at));
    }
    for unix in [-62_167_219_200, 253_402_300_799, 0, -1] {
        let at = Timestamp::from_unix(unix);
        assert_eq!(parse(&format(at)), Some(at));
    }
    assert_eq!(
        format(Timestamp::from_unix(i64::MAX)),
        "9999-12-31T23:59:59Z"
    );
    assert_eq!(
        format(Timestamp::from_unix(i64::MIN)),
        "0000-01-01T00:00:00Z"
    );
}
