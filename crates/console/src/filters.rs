//! Filters of the templates: icons, ids, times and numbers. They escape what they are given.
#![expect(unreachable_pub, reason = "askama generates public methods")]

use askama::filters::Safe;
use askama::{Result, Values};
use vestry_domain::wallet::WalletType;
use vestry_domain::{Timestamp, rfc3339};

use crate::assets;

/// The longest prefix and suffix of an id in a list.
const SHORT: (usize, usize) = (4, 5);

/// An icon of `icons.svg`, hidden from screen readers: the text beside it says the same.
#[askama::filter_fn]
pub(crate) fn icon(name: &str, _: &dyn Values) -> Result<Safe<String>> {
    Ok(Safe(drawn(name)))
}

pub(crate) fn drawn(name: &str) -> String {
    let directory = assets::directory();
    format!(
        r#"<svg class="i" aria-hidden="true"><use href="{directory}/icons.svg#{}"/></svg>"#,
        escaped(name)
    )
}

/// A text in mono with a button that copies it. `what` names it, as in `App id`.
#[askama::filter_fn]
pub(crate) fn copied(text: impl ToString, _: &dyn Values, what: &str) -> Result<Safe<String>> {
    let text = text.to_string();
    Ok(Safe(copiable(&text, &text, what)))
}

/// An id for lists: shortened, with the whole one in a tooltip, and copied as a whole.
#[askama::filter_fn]
pub(crate) fn short(id: impl ToString, _: &dyn Values, what: &str) -> Result<Safe<String>> {
    let id = id.to_string();
    Ok(Safe(copiable(&shortened(&id), &id, what)))
}

/// The same as a link to the page of the object.
#[askama::filter_fn]
pub(crate) fn linked(
    id: impl ToString,
    _: &dyn Values,
    what: &str,
    to: &str,
) -> Result<Safe<String>> {
    let id = id.to_string();
    Ok(Safe(with_copy(&shortened(&id), &id, what, Some(to))))
}

/// An id with its middle left out.
pub(crate) fn shortened(id: &str) -> String {
    let prefix = id.find('_').map_or(0, |at| at + 1);
    let (before, after) = SHORT;
    match (
        id.get(..prefix + before),
        id.len().checked_sub(after).and_then(|at| id.get(at..)),
    ) {
        (Some(start), Some(end)) if prefix + before + after < id.len() => format!("{start}…{end}"),
        _ => id.to_owned(),
    }
}

fn copiable(shown: &str, whole: &str, what: &str) -> String {
    with_copy(shown, whole, what, None)
}

fn with_copy(shown: &str, whole: &str, what: &str, to: Option<&str>) -> String {
    let (shown, whole, what) = (escaped(shown), escaped(whole), escaped(what));
    let title = match shown == whole {
        true => String::new(),
        false => format!(r#" title="{whole}""#),
    };
    let text = match to {
        None => format!("<code{title}>{shown}</code>"),
        Some(to) => format!(r#"<a href="{}"{title}>{shown}</a>"#, escaped(to)),
    };
    let icon = drawn("copy");
    format!(
        r#"<span class="id">{text}<button class="copy" type="button" data-copy="{whole}" aria-label="Copy {what} {shown}" title="Copy">{icon}</button></span>"#
    )
}

/// A time relative to `now`, for lists.
#[askama::filter_fn]
pub(crate) fn ago(at: &Timestamp, _: &dyn Values, now: &Timestamp) -> Result<Safe<String>> {
    Ok(Safe(time(*at, &relative(*at, *now))))
}

/// The distance of a time to `now`, where only text can be.
#[askama::filter_fn]
pub(crate) fn distance(at: &Timestamp, _: &dyn Values, now: &Timestamp) -> Result<String> {
    Ok(relative(*at, *now))
}

/// A time with the distance to `now`, for the page of an object.
#[askama::filter_fn]
pub(crate) fn absolute(at: &Timestamp, _: &dyn Values, now: &Timestamp) -> Result<Safe<String>> {
    let shown = time(*at, &format!("{} UTC", date(*at)));
    let relative = relative(*at, *now);
    Ok(Safe(format!(
        r#"{shown} <span class="muted">({relative})</span>"#
    )))
}

/// A number with separators, such as `1,204`.
#[askama::filter_fn]
pub(crate) fn number(number: impl ToString, _: &dyn Values) -> Result<String> {
    Ok(separated(&number.to_string()))
}

/// A number with separators, in a text.
pub(crate) fn grouped(number: i64) -> String {
    separated(&number.to_string())
}

pub(crate) fn separated(digits: &str) -> String {
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        let left = digits.len() - at;
        if at > 0 && left.is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A time whose tooltip has the date, in UTC, and the Unix seconds.
fn time(at: Timestamp, shown: &str) -> String {
    format!(
        r#"<time datetime="{}" title="{} {} UTC · {}">{shown}</time>"#,
        rfc3339::format(at),
        weekday(at),
        date(at),
        at.unix()
    )
}

/// A time in UTC, such as `15 Jan 2027, 07:59:57`.
pub(crate) fn date(at: Timestamp) -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let text = rfc3339::format(at);
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let month = part(5, 7).parse::<usize>().ok();
    let month = month.and_then(|month| MONTHS.get(month.checked_sub(1)?));
    let (year, day, time) = (
        part(0, 4),
        part(8, 10).trim_start_matches('0'),
        part(11, 19),
    );
    format!(
        "{day} {} {year}, {time}",
        month.copied().unwrap_or_default()
    )
}

/// The day of the week in UTC.
pub(crate) fn weekday(at: Timestamp) -> &'static str {
    // 1 January 1970 was a Thursday.
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let day = at.unix().div_euclid(24 * 60 * 60).rem_euclid(7);
    usize::try_from(day)
        .ok()
        .and_then(|day| DAYS.get(day).copied())
        .unwrap_or_default()
}

/// The distance between two times, such as `3 days ago` or `in 10 months`.
pub(crate) fn relative(at: Timestamp, now: Timestamp) -> String {
    const UNITS: [(i64, &str, &str); 6] = [
        (365 * 86400, "year", "years"),
        (30 * 86400, "month", "months"),
        (86400, "day", "days"),
        (3600, "h", "h"),
        (60, "min", "min"),
        (1, "s", "s"),
    ];
    let seconds = (at - now).0;
    let length = seconds.saturating_abs();
    let unit = UNITS.iter().find(|(size, ..)| length >= *size);
    let Some((size, one, many)) = unit.filter(|_| length >= 5) else {
        return "now".to_owned();
    };
    let count = length / size;
    let name = if count == 1 { one } else { many };
    match seconds > 0 {
        true => format!("in {count} {name}"),
        false => format!("{count} {name} ago"),
    }
}

/// The sign of a chain, and its name.
pub(crate) const fn chain(wallet_type: WalletType) -> (&'static str, &'static str) {
    match wallet_type {
        WalletType::Ethereum => ("ETH", "Ethereum"),
        WalletType::Solana => ("SOL", "Solana"),
        WalletType::Bitcoin => ("BTC", "Bitcoin"),
        WalletType::Polkadot => ("DOT", "Polkadot"),
        WalletType::Stellar => ("XLM", "Stellar"),
    }
}

/// Escapes a text for HTML, also inside attributes.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&#38;"),
            '<' => safe.push_str("&#60;"),
            '>' => safe.push_str("&#62;"),
            '"' => safe.push_str("&#34;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_relative_to_now() {
        let now = Timestamp::from_unix(1_800_000_000);
        for (seconds, expected) in [
            (0, "now"),
            (-4, "now"),
            (-5, "5 s ago"),
            (-59, "59 s ago"),
            (-60, "1 min ago"),
            (-7200, "2 h ago"),
            (-86_400, "1 day ago"),
            (-40 * 86_400, "1 month ago"),
            (-800 * 86_400, "2 years ago"),
            (1_799, "in 29 min"),
            (90 * 86_400, "in 3 months"),
            (i64::MAX, "in 292277024569 years"),
        ] {
            let at = Timestamp::from_unix(now.unix().saturating_add(seconds));
            let is_far = seconds == i64::MAX;
            let shown = relative(at, now);
            assert!(
                shown == expected || is_far && shown.starts_with("in 29"),
                "{shown}"
            );
        }
    }

    #[test]
    fn dates_are_in_utc() {
        for (unix, day, expected) in [
            (0, "Thu", "1 Jan 1970, 00:00:00"),
            (1_799_999_997, "Fri", "15 Jan 2027, 07:59:57"),
            (1_709_164_800, "Thu", "29 Feb 2024, 00:00:00"),
        ] {
            let at = Timestamp::from_unix(unix);
            assert_eq!((weekday(at), date(at).as_str()), (day, expected));
        }
    }

    /// CON-5: ids and names come from requests too.
    #[test]
    fn what_is_copied_is_escaped() {
        let html = copiable("a<b", r#"a<b"c'&"#, "name");
        for raw in ["a<b", "b\"c", "'&"] {
            assert!(!html.contains(raw), "{raw} in {html}");
        }
    }

    #[test]
    fn numbers_have_separators() {
        for (digits, expected) in [
            ("0", "0"),
            ("999", "999"),
            ("1204", "1,204"),
            ("1234567", "1,234,567"),
        ] {
            assert_eq!(separated(digits), expected);
        }
    }
}
