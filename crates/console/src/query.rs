//! The filters of a list, which are in its URL, so that an operator can send it to a colleague.

use url::form_urlencoded;
use vestry_domain::{Invalid, Timestamp, rfc3339};

/// An active filter, with the query without it.
pub(crate) struct Chip {
    pub(crate) text: String,
    pub(crate) without: String,
}

/// The filters of a list: the parameter, its name for people, and the value.
pub(crate) struct Filters<'a>(pub(crate) Vec<(&'static str, &'static str, &'a str)>);

impl Filters<'_> {
    /// The query with a filter left out, and a further parameter.
    fn query(&self, without: &str, further: Option<(&str, &str)>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let own = self.0.iter().filter(|(name, ..)| *name != without);
        for (name, _, value) in own.filter(|(.., value)| !value.is_empty()) {
            query.append_pair(name, value);
        }
        if let Some((name, value)) = further {
            query.append_pair(name, value);
        }
        format!("?{}", query.finish())
    }

    /// The query of the page after the last object of this one.
    pub(crate) fn after(&self, cursor: &str, id: &str) -> String {
        self.query("", Some((cursor, id)))
    }

    /// The active filters.
    pub(crate) fn chips(&self) -> Vec<Chip> {
        let active = self.0.iter().filter(|(.., value)| !value.is_empty());
        active
            .map(|(name, words, value)| Chip {
                text: format!("{words}: {value}"),
                without: self.query(name, None),
            })
            .collect()
    }
}

/// A time in a filter: a date, which begins at midnight UTC, or a time, in UTC unless it says otherwise. `None` if the text is empty.
///
/// # Errors
/// If the text is neither.
pub(crate) fn moment(param: &'static str, text: &str) -> Result<Option<Timestamp>, Invalid> {
    let whole = match text.len() {
        0 => return Ok(None),
        10 => format!("{text}T00:00:00Z"),
        16 => format!("{text}:00Z"),
        19 => format!("{text}Z"),
        _ => text.to_owned(),
    };
    rfc3339::parse(&whole).map(Some).ok_or_else(|| {
        let message = format!(
            "{param} must be a date such as 2027-01-31, or a time such as 2027-01-31T18:30"
        );
        Invalid::value(param, message)
    })
}

/// The same time as the value of its field, in UTC and without seconds.
pub(crate) fn field(text: &str) -> String {
    let at = moment("", text).ok().flatten();
    let whole = at.map(rfc3339::format).unwrap_or_default();
    whole.get(..16).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        for (text, expected) in [
            ("", Some(None)),
            ("2027-01-15", Some(Some(1_799_971_200))),
            ("2027-01-15T08:00", Some(Some(1_800_000_000))),
            ("2027-01-15T08:00:05", Some(Some(1_800_000_005))),
            ("2027-01-15T09:00:00+01:00", Some(Some(1_800_000_000))),
            ("2027-02-30", None),
            ("yesterday", None),
            ("ééééé", None),
        ] {
            let read = moment("from", text).ok();
            let read = read.map(|at| at.map(Timestamp::unix));
            assert_eq!(read, expected, "{text}");
        }
        assert_eq!(field("2027-01-15T09:00:07+01:00"), "2027-01-15T08:00");
        assert_eq!(field("soon"), "");
    }

    #[test]
    fn a_query_keeps_the_other_filters() {
        let filters = Filters(vec![
            ("q", "id", "a&b"),
            ("types", "type", ""),
            ("from", "from", "x"),
        ]);
        let chips = filters.chips();
        let shown: Vec<_> = chips
            .iter()
            .map(|chip| (chip.text.as_str(), chip.without.as_str()))
            .collect();
        assert_eq!(shown, [("id: a&b", "?from=x"), ("from: x", "?q=a%26b")]);
        assert_eq!(filters.after("after", "e_1"), "?q=a%26b&from=x&after=e_1");
    }
}
