//! Moves unsequenced events to the log.

use diesel::connection::SimpleConnection;
use diesel::sql_types::{BigInt, Text};
use diesel::{QueryResult, RunQueryDsl};
use vestry_domain::World;

use super::connection::Conn;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::events::UnsequencedRow;
use vestry_store_rows::schema::unsequenced_events;

/// Copies rows to the log and numbers them from a position. The parameters are the App, the environment, the position, the log, and the
/// last row to take.
const PLACE: &str = "\
    INSERT INTO events (app_id, environment, position, id, log, kind, user_id, wallet_id, actor_kind, actor_id, request_id, \
        data, created_at) \
    SELECT app_id, environment, ?3 + row_number() OVER (ORDER BY appended), id, ?4, kind, user_id, wallet_id, actor_kind, \
        actor_id, request_id, data, created_at \
    FROM unsequenced_events WHERE app_id = ?1 AND environment = ?2 AND appended <= ?5 \
    RETURNING position, id, kind";

/// The parameters are the App, the environment and the last row.
const TAKE: &str =
    "DELETE FROM unsequenced_events WHERE app_id = ?1 AND environment = ?2 AND appended <= ?3";

#[derive(diesel::QueryableByName)]
struct Placed {
    #[diesel(sql_type = BigInt)]
    position: i64,
    #[diesel(sql_type = Text)]
    id: String,
    #[diesel(sql_type = Text)]
    kind: String,
}

/// Writes unsequenced events and commits, all on the thread of the only writing connection. The file answers, or fails.
pub(crate) async fn commit_with_events(
    conn: &mut Conn,
    rows: Vec<UnsequencedRow>,
) -> Option<QueryResult<()>> {
    let committed = conn.spawn_blocking(move |conn| {
        for row in rows {
            let insert = diesel::insert_into(unsequenced_events::table).values(row);
            insert.execute(conn)?;
        }
        conn.batch_execute("COMMIT")
    });
    Some(committed.await)
}

/// Assigns the positions after `position` to the unsequenced events up to the given one. Returns position, id and type of each event.
pub(crate) async fn place(
    conn: &mut Conn,
    world: &World,
    position: i64,
    log: i64,
    until: i64,
) -> QueryResult<Vec<(i64, String, String)>> {
    let (app, environment) = (world.app_id.to_string(), world.environment.as_str());
    let placed: Vec<Placed> = conn
        .spawn_blocking(move |conn| {
            let place = diesel::sql_query(PLACE)
                .bind::<Text, _>(&app)
                .bind::<Text, _>(environment)
                .bind::<BigInt, _>(position)
                .bind::<BigInt, _>(log)
                .bind::<BigInt, _>(until);
            let placed = Prepared(place).load(conn)?;
            let take = diesel::sql_query(TAKE)
                .bind::<Text, _>(&app)
                .bind::<Text, _>(environment)
                .bind::<BigInt, _>(until);
            Prepared(take).execute(conn)?;
            Ok(placed)
        })
        .await?;
    let placed = placed.into_iter();
    Ok(placed.map(|row| (row.position, row.id, row.kind)).collect())
}
