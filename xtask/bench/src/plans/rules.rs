//! Rules for query plans, and their exceptions.

use super::log::Statement;

/// The maximum number of rows read for each returned row (PR-58), and a number that is always allowed.
const READ_FOR_ONE: u64 = 10;
const READ: u64 = 100;
/// The maximum number of pages: a base, and for each returned row. A descent of a B-tree takes four or five, a written row one per index.
const PAGES: u64 = 200;
const PAGES_FOR_ONE: u64 = 40;

/// Exceptions: a part of the statement, and the reason.
const ALLOWED: &[(&str, &str)] = &[
    (
        "(folded_name LIKE $ ESCAPE '!')",
        "docs/users.md: a substring of a name is searched in every user of the App",
    ),
    (
        "FROM user_emails WHERE app_id = $ AND environment = $ AND folded LIKE $ ESCAPE '!'",
        "docs/users.md: a substring of an address is searched in every user of the App",
    ),
    (
        "FROM user_emails WHERE app_id = $ AND environment = $ AND verified",
        "docs/users.md: it takes longer the more users match",
    ),
    (
        "(\"events\".\"position\" <= $)) AND (\"events\".\"wallet_id\" = $)",
        "a page reads at most 10,000 events (events.md, 1.3)",
    ),
    (
        "FROM \"unsequenced_events\" ORDER BY \"unsequenced_events\".\"app_id\"",
        "rows that were just deleted from the inbox are still in its index for the next reader",
    ),
    (
        "WITH RECURSIVE lanes",
        "a claim reads the first due jobs of each lane, and a count of pending jobs stops at 10,000",
    ),
    (
        "SELECT \"outbox\".\"lane\" FROM \"outbox\"",
        "every 15 s; it reads as many pending jobs as `outbox.max_waiting` permits",
    ),
    (
        "(\"control_entries\".\"action\" = ANY($))",
        "it searches one kind of change among all of an App, which are few",
    ),
    (
        "SELECT DISTINCT \"audit_entries\".\"chain\"",
        "`audit verify` reads every entry anyway",
    ),
    (
        "SELECT DISTINCT \"control_entries\".\"chain\"",
        "`audit verify` reads every entry anyway",
    ),
    (
        "(\"webhook_deliveries\".\"endpoint_id\" = $)) AND (\"webhook_deliveries\".\"ended_as\" = $)",
        "an operator lists the deliveries of one endpoint",
    ),
    (
        "(\"webhook_deliveries\".\"endpoint_id\" = $)) AND (\"webhook_deliveries\".\"ended_at\" IS NULL)) ORDER BY \
         \"webhook_deliveries\".\"id\" DESC",
        "an operator lists the pending deliveries of one endpoint",
    ),
    (
        "(\"webhook_deliveries\".\"endpoint_id\" = $)) AND (\"webhook_deliveries\".\"ended_at\" IS NULL)) AND \
         (\"webhook_deliveries\".\"id\" > $))",
        "if an endpoint has few pending deliveries, reading all of them is fastest",
    ),
];

/// The rule that a statement breaks.
pub(crate) fn broken(statement: &Statement) -> Option<String> {
    let Statement {
        whole_tables,
        read,
        returned,
        pages,
        ..
    } = statement;
    // A full scan is fastest if most rows are returned.
    if !whole_tables.is_empty() && *read > 2 * *returned {
        return Some(format!(
            "reads all of {} to return {returned} rows",
            whole_tables.join(", ")
        ));
    }
    if *read > READ + READ_FOR_ONE * *returned {
        return Some(format!("reads {read} rows to return {returned}"));
    }
    // A condition on only the last columns of an index scans it in full, which shows in pages but not in rows.
    if *pages > PAGES + PAGES_FOR_ONE * *returned {
        return Some(format!("accesses {pages} pages to return {returned} rows"));
    }
    None
}

/// The reason for which a statement may break the rules.
pub(crate) fn excuse(text: &str) -> Option<&'static str> {
    let allowed = ALLOWED.iter().find(|(part, _)| text.contains(part));
    allowed.map(|(_, why)| *why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pr_58_reading_far_more_than_is_returned_breaks_a_rule() {
        let statement = |whole: bool, read, returned, pages| Statement {
            text: String::new(),
            whole_tables: whole.then(|| "users".to_owned()).into_iter().collect(),
            read,
            returned,
            pages,
            outline: String::new(),
        };
        for (is_allowed, statement) in [
            (true, statement(false, 1, 1, 5)),
            (true, statement(false, 600, 50, 700)),
            (true, statement(true, 20_000, 19_000, 400)),
            (false, statement(true, 20_000, 9_000, 400)),
            (false, statement(true, 20_000, 0, 400)),
            (false, statement(false, 601, 50, 5)),
            (false, statement(false, 1, 1, 241)),
        ] {
            assert_eq!(
                broken(&statement).is_none(),
                is_allowed,
                "{:?}",
                broken(&statement)
            );
        }
    }

    #[test]
    fn exceptions_do_not_overlap() {
        for (part, _) in ALLOWED {
            assert_eq!(
                ALLOWED
                    .iter()
                    .filter(|(other, _)| other.contains(part))
                    .count(),
                1
            );
        }
    }
}
