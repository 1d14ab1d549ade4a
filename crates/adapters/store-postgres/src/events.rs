//! Moves unsequenced events to the log.

use diesel::QueryResult;
use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;
use vestry_domain::World;

use super::connection::Conn;
use vestry_store_rows::prepared::Prepared;

/// Moves rows to the log and numbers them from a position. The parameters are the App, the environment, the position, the log, and the time
/// up to which rows are taken. The transaction must have locked the head of the world before. This statement then sees what the previous
/// lock holder has moved, and moves nothing twice.
const PLACE: &str = "\
    WITH taken AS ( \
        DELETE FROM unsequenced_events WHERE app_id = $1 AND environment = $2 AND appended <= $5 \
        RETURNING app_id, environment, appended, ordinal, id, kind, user_id, wallet_id, actor_kind, actor_id, request_id, data, created_at \
    ) \
    INSERT INTO events (app_id, environment, position, id, log, kind, user_id, wallet_id, actor_kind, actor_id, request_id, \
        data, created_at) \
    SELECT app_id, environment, $3 + row_number() OVER (ORDER BY appended, ordinal, id), id, $4, kind, user_id, wallet_id, actor_kind, \
        actor_id, request_id, data, created_at \
    FROM taken \
    RETURNING position, id, kind";

#[derive(diesel::QueryableByName)]
struct Placed {
    #[diesel(sql_type = BigInt)]
    position: i64,
    #[diesel(sql_type = Text)]
    id: String,
    #[diesel(sql_type = Text)]
    kind: String,
}

/// Assigns the positions after `position` to the unsequenced events appended up to a given time. Returns position, id and type of each.
pub(crate) async fn place(
    conn: &mut Conn,
    world: &World,
    position: i64,
    log: i64,
    until: i64,
) -> QueryResult<Vec<(i64, String, String)>> {
    let place = diesel::sql_query(PLACE)
        .bind::<Text, _>(world.app_id.to_string())
        .bind::<Text, _>(world.environment.as_str())
        .bind::<BigInt, _>(position)
        .bind::<BigInt, _>(log)
        .bind::<BigInt, _>(until);
    let placed: Vec<Placed> = Prepared(place).load(conn).await?;
    let placed = placed.into_iter();
    Ok(placed.map(|row| (row.position, row.id, row.kind)).collect())
}
