//! Moments as text (RFC 3339), for the messages that wallets sign.

use crate::Timestamp;

/// Reads a date and time with its offset. Fractions of a second are cut off; `T` and `Z` may be small letters; second 60, a
/// leap second, counts as the next one (RFC 3339 section 5.6). `None` for anything else.
pub fn parse(text: &str) -> Option<Timestamp> {
    let (date, rest) = text.split_at_checked(10)?;
    let rest = rest.strip_prefix(['T', 't'])?;
    let (time, rest) = rest.split_at_checked(8)?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let offset = offset(without_fraction(rest)?)?;
    let is_real = (1..=12).contains(&month)
        && (1..=days_of(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    is_real.then(|| {
        let days = days_since_1970(year, month, day);
        Timestamp::from_unix(days * 86_400 + hour * 3_600 + minute * 60 + second - offset)
    })
}

/// Writes a moment in UTC, as in `2026-11-21T06:05:31Z`. Years beyond 9999 are written as 9999.
pub fn format(at: Timestamp) -> String {
    // Beyond these the year would have another number of digits.
    let unix = at.unix().clamp(-62_167_219_200, 253_402_300_799);
    let (days, seconds) = (unix.div_euclid(86_400), unix.rem_euclid(86_400));
    let (year, month, day) = date_of(days);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Three numbers of so many digits.
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

/// Seconds east of Greenwich.
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

const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

const fn days_of(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days of all years before this one, counted from year 0 of the proleptic calendar.
const fn days_before(year: i64) -> i64 {
    let last = year - 1;
    year * 365 + last.div_euclid(4) - last.div_euclid(100) + last.div_euclid(400) + 1
}

fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let months: i64 = (1..month).map(|month| days_of(year, month)).sum();
    days_before(year) + months + day - 1 - days_before(1970)
}

/// The inverse of [`days_since_1970`].
fn date_of(days: i64) -> (i64, i64, i64) {
    // Never too late, and a few years too early at most.
    let longest = if days < 0 { 365 } else { 366 };
    let mut year = 1970 + days.div_euclid(longest);
    while days_since_1970(year + 1, 1, 1) <= days {
        year += 1;
    }
    let mut day = days - days_since_1970(year, 1, 1);
    let mut month = 1;
    while day >= days_of(year, month) {
        day -= days_of(year, month);
        month += 1;
    }
    (year, month, day + 1)
}

#[cfg(test)]
mod tests;
