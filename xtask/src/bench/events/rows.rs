//! Rows that are written past the service: events that wait for their places, a long log, deliveries that wait.

use crate::site::Kind;

/// Rows of one statement of a writer; one commit.
const IN_ONE: u32 = 20;

/// The test world of an App, in a store.
pub(super) struct World<'a> {
    pub(super) kind: Kind,
    pub(super) app: &'a str,
}

impl World<'_> {
    /// Numbers from 1 on, as `n`.
    fn numbers(&self, from: u64, to: u64) -> String {
        match self.kind {
            Kind::Postgres => format!("generate_series({from}::int8, {to}::int8) AS n"),
            Kind::Sqlite => format!(
                "(WITH RECURSIVE all_of AS (SELECT {from} AS n UNION ALL SELECT n + 1 FROM all_of WHERE n < {to}) \
                 SELECT n FROM all_of)"
            ),
        }
    }

    /// A number as the end of an id of 27 digits, behind four letters that say whose it is.
    fn id(&self, prefix: &str, whose: &str) -> String {
        let digits = match self.kind {
            Kind::Postgres => "lpad(n::text, 19, '0')",
            Kind::Sqlite => "printf('%019d', n)",
        };
        format!("'{prefix}_2000{whose:0<4}' || {digits}")
    }

    /// Events of users, with their ids: 27 digits behind the prefix.
    fn event(&self, whose: &str) -> String {
        let user = self.id("user", "user");
        format!(
            "{}, 'user.created', {user}, NULL, 'system', NULL, NULL, '{{\"user_id\":\"' || {user} || '\",\"via\":\"create\"}}', 1800000000",
            self.id("event", whose)
        )
    }

    /// So many events in the inbox, in transactions of a few.
    pub(super) fn inbox(&self, whose: &str, count: u32) -> String {
        let appended = match self.kind {
            Kind::Postgres => {
                "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS INT8)".to_owned()
            }
            Kind::Sqlite => "CAST(unixepoch('subsec') * 1000000 AS INTEGER)".to_owned(),
        };
        let mut text = match self.kind {
            Kind::Postgres => String::new(),
            Kind::Sqlite => ".timeout 10000\n".to_owned(),
        };
        for first in (1..=u64::from(count)).step_by(usize::try_from(IN_ONE).unwrap_or(1)) {
            let last = (first + u64::from(IN_ONE) - 1).min(u64::from(count));
            text.push_str(&format!(
                "INSERT INTO events_inbox (app_id, environment, appended, ordinal, id, kind, user_id, wallet_id, actor_kind, actor_id, \
                 request_id, data, created_at) SELECT '{}', 'test', {appended}, n, {} FROM {};\n",
                self.app,
                self.event(whose),
                self.numbers(first, last)
            ));
        }
        text
    }

    /// Events of the log from behind one place to another, and the head there.
    pub(super) fn log(&self, from: u64, to: u64) -> String {
        let (begin, end) = match self.kind {
            Kind::Postgres => ("", "VACUUM ANALYZE events;\n"),
            // Its own figures are what the service goes by.
            Kind::Sqlite => (".timeout 10000\n", ""),
        };
        let newest = self
            .id("event", "logs")
            .replace("n::text", &format!("{to}::text"));
        let newest = newest.replace(", n)", &format!(", {to})"));
        format!(
            "{begin}INSERT INTO events (app_id, environment, position, log, id, kind, user_id, wallet_id, actor_kind, actor_id, \
             request_id, data, created_at) SELECT '{app}', 'test', n, 1, {event} FROM {numbers};\n\
             UPDATE event_heads SET position = {to}, newest_id = {newest} WHERE app_id = '{app}' AND environment = 'test';\n{end}",
            app = self.app,
            event = self.event("logs"),
            numbers = self.numbers(from + 1, to),
        )
    }

    /// A question for ids of some thousand events from all over the log, that have a page behind them.
    pub(super) fn sample(&self) -> String {
        let app = self.app;
        let last = format!(
            "SELECT position FROM event_heads WHERE app_id = '{app}' AND environment = 'test'"
        );
        format!(
            "SELECT id FROM events WHERE app_id = '{app}' AND environment = 'test' AND position < ({last}) - 1000 \
             AND position % (1 + ({last}) / 4000) = 0"
        )
    }

    /// So many deliveries, of the newest events, that an endpoint was to be sent a minute ago.
    pub(super) fn waiting(&self, endpoint: &str, count: u32) -> String {
        let (begin, now, no) = match self.kind {
            Kind::Postgres => ("", "CAST(extract(epoch FROM now()) AS INT8)", "false"),
            Kind::Sqlite => (".timeout 10000\n", "unixepoch()", "0"),
        };
        format!(
            "{begin}INSERT INTO webhook_deliveries (app_id, environment, id, endpoint_id, event_id, position, kind, is_replay, rank, \
             attempts, due_at, created_at) SELECT '{app}', 'test', {id}, '{endpoint}', event_id, n, 'wallet.exported', {no}, 0, 0, \
             {now} - 60, {now} - 60 FROM (SELECT position AS n, id AS event_id FROM events \
             WHERE app_id = '{app}' AND environment = 'test' ORDER BY position DESC LIMIT {count}) AS newest;\n",
            app = self.app,
            id = self.id("whdel", "wait"),
        )
    }
}
