//! What a plan may not do, and the statements that may.

use super::log::Statement;

/// Rows read for each that is given, at most (PR-58), beside some that cost nothing.
const READ_FOR_ONE: u64 = 10;
const READ: u64 = 100;
/// Pages for each row, and whatever there is: a way down a tree takes four or five, and a row that is written one in each index.
const PAGES: u64 = 200;
const PAGES_FOR_ONE: u64 = 40;

/// Statements that may, by a part of their text, and why.
const ALLOWED: &[(&str, &str)] = &[
    (
        "(folded_name LIKE $ ESCAPE '!')",
        "docs/users.md: a part of a name is looked for in every user of the App",
    ),
    (
        "FROM user_emails WHERE app_id = $ AND environment = $ AND folded LIKE $ ESCAPE '!'",
        "docs/users.md: a part of an address is looked for in every user of the App",
    ),
    (
        "FROM user_emails WHERE app_id = $ AND environment = $ AND verified",
        "docs/users.md: it takes longer the more users fit",
    ),
    (
        "(\"events\".\"position\" <= $)) AND (\"events\".\"wallet_id\" = $)",
        "a page looks at no more than 10,000 events (events.md, 1.3)",
    ),
    (
        "FROM \"events_inbox\" ORDER BY \"events_inbox\".\"app_id\"",
        "rows that have just left the inbox are still in its index, for the first who looks",
    ),
    (
        "(\"control_entries\".\"action\" = ANY($))",
        "somebody looks for one kind of change among all of an App, which are few",
    ),
    (
        "SELECT DISTINCT \"audit_entries\".\"chain\"",
        "`audit verify` reads every entry besides",
    ),
    (
        "SELECT DISTINCT \"control_entries\".\"chain\"",
        "`audit verify` reads every entry besides",
    ),
    (
        "(\"webhook_deliveries\".\"endpoint_id\" = $)) AND (\"webhook_deliveries\".\"ended_as\" = $)",
        "an operator looks through what one endpoint was sent",
    ),
    (
        "(\"webhook_deliveries\".\"endpoint_id\" = $)) AND (\"webhook_deliveries\".\"ended_at\" IS NULL)) ORDER BY \
         \"webhook_deliveries\".\"id\" DESC",
        "an operator looks through what waits for one endpoint",
    ),
    (
        "(\"webhook_deliveries\".\"endpoint_id\" = $)) AND (\"webhook_deliveries\".\"ended_at\" IS NULL)) AND \
         (\"webhook_deliveries\".\"id\" > $))",
        "where few wait for an endpoint, reading all of them is the shortest way to the next ones",
    ),
];

/// The rule that it breaks.
pub(super) fn broken(statement: &Statement) -> Option<String> {
    let Statement {
        whole_tables,
        read,
        given,
        pages,
        ..
    } = statement;
    // Where most of it is wanted, there is no quicker way.
    if !whole_tables.is_empty() && *read > 2 * *given {
        return Some(format!(
            "reads all of {} to give {given} rows",
            whole_tables.join(", ")
        ));
    }
    if *read > READ + READ_FOR_ONE * *given {
        return Some(format!("reads {read} rows to give {given}"));
    }
    // An index of which only the end of the key is asked for is read as a whole, which rows do not tell.
    if *pages > PAGES + PAGES_FOR_ONE * *given {
        return Some(format!("touches {pages} pages to give {given} rows"));
    }
    None
}

/// Why a statement may break them.
pub(super) fn excuse(text: &str) -> Option<&'static str> {
    let allowed = ALLOWED.iter().find(|(part, _)| text.contains(part));
    allowed.map(|(_, why)| *why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pr_58_what_reads_far_more_than_it_gives_is_found() {
        let statement = |whole: bool, read, given, pages| Statement {
            text: String::new(),
            whole_tables: whole.then(|| "users".to_owned()).into_iter().collect(),
            read,
            given,
            pages,
            outline: String::new(),
        };
        for (sound, statement) in [
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
                sound,
                "{:?}",
                broken(&statement)
            );
        }
    }

    #[test]
    fn each_excuse_is_for_something_of_its_own() {
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
