//! Rows that are inserted directly: unsequenced events, a long log, pending deliveries.

use xtask_harness::installation::StoreKind;

/// Rows per statement of a writer, each a transaction.
const IN_ONE: u32 = 20;

/// The test environment of an App.
pub(crate) struct World<'a> {
    pub(crate) kind: StoreKind,
    pub(crate) app: &'a str,
}

impl World<'_> {
    /// A table expression of numbers, as `n`.
    fn numbers(&self, from: u64, to: u64) -> String {
        match self.kind {
            StoreKind::Postgres => format!("generate_series({from}::int8, {to}::int8) AS n"),
            StoreKind::Sqlite => format!(
                "(WITH RECURSIVE all_of AS (SELECT {from} AS n UNION ALL SELECT n + 1 FROM all_of WHERE n < {to}) \
                 SELECT n FROM all_of)"
            ),
        }
    }

    /// An id of 27 characters that contains `n`, with four letters that separate the kinds of rows.
    fn id(&self, prefix: &str, whose: &str) -> String {
        let digits = match self.kind {
            StoreKind::Postgres => "lpad(n::text, 19, '0')",
            StoreKind::Sqlite => "printf('%019d', n)",
        };
        format!("'{prefix}_2000{whose:0<4}' || {digits}")
    }

    /// The values of an event about a user.
    fn event(&self, whose: &str) -> String {
        let user = self.id("user", "user");
        format!(
            "{}, 'user.created', {user}, NULL, 'system', NULL, NULL, '{{\"user_id\":\"' || {user} || '\",\"via\":\"create\"}}', 1800000000",
            self.id("event", whose)
        )
    }

    /// Inserts unsequenced events, in transactions of a few.
    pub(crate) fn inbox(&self, whose: &str, count: u32) -> String {
        let appended = match self.kind {
            StoreKind::Postgres => {
                "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS INT8)".to_owned()
            }
            StoreKind::Sqlite => "CAST(unixepoch('subsec') * 1000000 AS INTEGER)".to_owned(),
        };
        let mut text = String::new();
        for first in (1..=u64::from(count)).step_by(usize::try_from(IN_ONE).unwrap_or(1)) {
            let last = (first + u64::from(IN_ONE) - 1).min(u64::from(count));
            text.push_str(&format!(
                "INSERT INTO unsequenced_events (app_id, environment, appended, ordinal, id, kind, user_id, wallet_id, actor_kind, actor_id, \
                 request_id, data, created_at) SELECT '{}', 'test', {appended}, n, {} FROM {};\n",
                self.app,
                self.event(whose),
                self.numbers(first, last)
            ));
        }
        text
    }

    /// Inserts sequenced events after one position up to another, and moves the head there.
    pub(crate) fn log(&self, from: u64, to: u64) -> String {
        let end = match self.kind {
            StoreKind::Postgres => "VACUUM ANALYZE events;\n",
            // The service uses its own statistics.
            StoreKind::Sqlite => "",
        };
        let newest = self
            .id("event", "logs")
            .replace("n::text", &format!("{to}::text"));
        let newest = newest.replace(", n)", &format!(", {to})"));
        format!(
            "INSERT INTO events (app_id, environment, position, log, id, kind, user_id, wallet_id, actor_kind, actor_id, \
             request_id, data, created_at) SELECT '{app}', 'test', n, 1, {event} FROM {numbers};\n\
             UPDATE event_heads SET position = {to}, newest_id = {newest} WHERE app_id = '{app}' AND environment = 'test';\n{end}",
            app = self.app,
            event = self.event("logs"),
            numbers = self.numbers(from + 1, to),
        )
    }

    /// A query for the ids of some thousand events from the whole log, each followed by a full page.
    pub(crate) fn sample(&self) -> String {
        let app = self.app;
        let last = format!(
            "SELECT position FROM event_heads WHERE app_id = '{app}' AND environment = 'test'"
        );
        format!(
            "SELECT id FROM events WHERE app_id = '{app}' AND environment = 'test' AND position < ({last}) - 1000 \
             AND position % (1 + ({last}) / 4000) = 0"
        )
    }

    /// Inserts deliveries of the newest events to an endpoint, due a minute ago.
    pub(crate) fn pending(&self, endpoint: &str, count: u32) -> String {
        let (now, no) = match self.kind {
            StoreKind::Postgres => ("CAST(extract(epoch FROM now()) AS INT8)", "false"),
            StoreKind::Sqlite => ("unixepoch()", "0"),
        };
        format!(
            "INSERT INTO webhook_deliveries (app_id, environment, id, endpoint_id, event_id, position, kind, is_replay, rank, \
             attempts, due_at, created_at) SELECT '{app}', 'test', {id}, '{endpoint}', event_id, n, 'wallet.exported', {no}, 0, 0, \
             {now} - 60, {now} - 60 FROM (SELECT position AS n, id AS event_id FROM events \
             WHERE app_id = '{app}' AND environment = 'test' ORDER BY position DESC LIMIT {count}) AS newest;\n",
            app = self.app,
            id = self.id("whdel", "wait"),
        )
    }
}
