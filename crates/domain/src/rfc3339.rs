//! Timestamps as text (RFC 3339), for the messages that wallets sign.

use time::Date;

use crate::Timestamp;

/// The Julian day of 1970-01-01.
const EPOCH: i64 = 2_440_588;

/// Parses a date and time with its offset. Fractions of a second are truncated. `T` and `Z` can be lower case. Second 60, a leap second,
/// counts as the next one (RFC 3339 section 5.6). `None` for anything else.
pub fn parse(text: &str) -> Option<Timestamp> {
    let (date, rest) = text.split_at_checked(10)?;
    let rest = rest.strip_prefix(['T', 't'])?;
    let (time, rest) = rest.split_at_checked(8)?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let offset = offset(without_fraction(rest)?)?;
    let days = days_since_1970(year, month, day)?;
    let is_real = hour < 24 && minute < 60 && second <= 60;
    is_real
        .then(|| Timestamp::from_unix(days * 86_400 + hour * 3_600 + minute * 60 + second - offset))
}

/// Formats a timestamp in UTC, as in `2026-11-21T06:05:31Z`. Years beyond 9999 are written as 9999.
pub fn format(at: Timestamp) -> String {
    // Outside these bounds the year would have a different number of digits.
    let unix = at.unix().clamp(-62_167_219_200, 253_402_300_799);
    let (days, seconds) = (unix.div_euclid(86_400), unix.rem_euclid(86_400));
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    // A date is written as year, month and day with hyphens.
    format!("{}T{hour:02}:{minute:02}:{second:02}Z", date_of(days))
}

/// Parses three numbers with the given numbers of digits.
fn numbers(text: &str, between: char, digits: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(between);
    let mut read = [0; 3];
    for (number, digits) in read.iter_mut().zip(digits) {
        *number = fixed(parts.next()?, digits)?;
    }
    parts.next().is_none().then_some(read)
}

fn fixed(text: &str, digits: usize) -> Option<i64> {
    let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

fn without_fraction(text: &str) -> Option<&str> {
    let Some(fraction) = text.strip_prefix('.') else {
        return Some(text);
    };
    let rest = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
    (rest.len() < fraction.len()).then_some(rest)
}

/// The offset in seconds east of Greenwich.
fn offset(text: &str) -> Option<i64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hour, minute) = rest.split_once(':')?;
    let (hour, minute) = (fixed(hour, 2)?, fixed(minute, 2)?);
    (hour < 24 && minute < 60).then_some(sign * (hour * 3_600 + minute * 60))
}

/// The number of days since 1970-01-01, or `None` if there is no such date.
fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    let month = u8::try_from(month).ok()?.try_into().ok()?;
    let (year, day) = (year.try_into().ok()?, day.try_into().ok()?);
    let date = Date::from_calendar_date(year, month, day).ok()?;
    Some(i64::from(date.to_julian_day()) - EPOCH)
}

/// The inverse of [`days_since_1970`]; days out of range give the last supported date.
fn date_of(days: i64) -> Date {
    let julian = i32::try_from(days + EPOCH).ok();
    let date = julian.and_then(|day| Date::from_julian_day(day).ok());
    date.unwrap_or(Date::MAX)
}

#[cfg(test)]
mod tests;
