//! What the engine behind the protocol of Postgres can do.

use diesel::dsl::sql;
use diesel::sql_types::Text;
use diesel_async::RunQueryDsl;

use super::dialect::Conn;

/// Whether each row has its place, in `ctid`, and the number of the transaction that wrote it, in `xmin`. CockroachDB and
/// YugabyteDB speak the protocol and keep their rows otherwise; Citus is Postgres with several of them behind, and does not pass such
/// columns through every plan.
/// An engine that cannot answer is none of ours to count on.
pub(super) async fn tells_states(conn: &mut Conn) -> bool {
    let engine = sql::<Text>(
        "version() || ' ' || coalesce((SELECT string_agg(extname, ' ') FROM pg_extension), '')",
    );
    let engine = diesel::select(engine).get_result::<String>(conn).await;
    engine.is_ok_and(|engine| is_postgres_alone(&engine))
}

fn is_postgres_alone(engine: &str) -> bool {
    let is_another = |word: &str| word == "citus" || word.contains("-YB-");
    engine.starts_with("PostgreSQL ") && !engine.split_whitespace().any(is_another)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_postgres_itself_tells_states() {
        for (engine, expected) in [
            (
                "PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu plpgsql",
                true,
            ),
            (
                "PostgreSQL 17.2 on aarch64-unknown-linux-gnu plpgsql citext",
                true,
            ),
            (
                "PostgreSQL 16.4 on x86_64-pc-linux-gnu plpgsql citus",
                false,
            ),
            (
                "PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64-pc-linux-gnu plpgsql",
                false,
            ),
            ("CockroachDB CCL v24.3.1 (x86_64-pc-linux-gnu) ", false),
            ("", false),
        ] {
            assert_eq!(is_postgres_alone(engine), expected, "{engine}");
        }
    }
}
