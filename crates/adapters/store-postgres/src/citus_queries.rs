//! The queries of [`super::array_queries`] for a cluster, where Apps are stored on several servers.
//!
//! Citus forwards a statement unchanged if it names one App and environment and a single table. All others it plans first, every time,
//! which takes longer than executing them.

use std::collections::{BTreeMap, HashMap};

use diesel::QueryResult;
use diesel::prelude::{ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use futures_util::{FutureExt, try_join};
use vestry_domain::World;
use vestry_domain::ids::{UserId, WalletId};
use vestry_domain::token::TokenHash;

use super::connection::Conn;
use vestry_store_rows::rows::passkeys::PasskeyRow;
use vestry_store_rows::rows::providers::ProviderLinkRow;
use vestry_store_rows::rows::sessions::SessionRow;
use vestry_store_rows::rows::totps::TotpRow;
use vestry_store_rows::rows::users::{UserEmailRow, UserPhoneRow, UserRow};
use vestry_store_rows::rows::wallets::{WalletKeyRow, WalletRow};
use vestry_store_rows::rows::whole_users::{ExternalKeyRow, WholeUserRows};
use vestry_store_rows::schema::{
    imported_users, passkeys, provider_links, sessions, totps, user_emails, user_phones, users,
    wallet_keys, wallets,
};

/// Groups the wanted keys by world.
fn by_world<K, C>(wanted: Vec<(World, K)>, column: impl Fn(K) -> C) -> BTreeMap<World, Vec<C>> {
    let mut worlds = BTreeMap::<_, Vec<_>>::new();
    for (world, key) in wanted {
        worlds.entry(world).or_default().push(column(key));
    }
    worlds
}

/// Rows of a table in a world whose column has one of these values.
macro_rules! rows_of {
    ($table:ident, $world:expr, $column:ident, $keys:expr) => {
        $table::table
            .filter($table::app_id.eq($world.app_id.to_string()))
            .filter($table::environment.eq($world.environment.as_str()))
            .filter($table::$column.eq_any($keys))
    };
}

pub(super) async fn wallets_with_keys(
    conn: &mut Conn,
    wanted: Vec<(World, WalletId)>,
) -> QueryResult<Vec<(WalletRow, Option<WalletKeyRow>)>> {
    let mut found = Vec::with_capacity(wanted.len());
    for (world, ids) in by_world(wanted, |id| id.to_string()) {
        let conn = conn.flush_deferred().await?;
        let wallets = rows_of!(wallets, world, id, &ids).select(WalletRow::as_select());
        let keys = rows_of!(wallet_keys, world, wallet_id, &ids).select(WalletKeyRow::as_select());
        // Boxed, because the compiler cannot see that they are `Send`. The keys are read first: if a wallet is deleted in between, the
        // result has a key without a wallet, never a wallet without its key.
        let (keys, wallets) = try_join!(
            async move { keys.load::<WalletKeyRow>(&mut &*conn).await }.boxed(),
            async move { wallets.load::<WalletRow>(&mut &*conn).await }.boxed(),
        )?;
        let keys = keys
            .into_iter()
            .map(|key| (key.wallet_id().to_owned(), key));
        let mut keys: HashMap<_, _> = keys.collect();
        found.extend(wallets.into_iter().map(|wallet| {
            let key = keys.remove(wallet.id());
            (wallet, key)
        }));
    }
    Ok(found)
}

pub(super) async fn sessions_by_tokens(
    conn: &mut Conn,
    wanted: Vec<(World, TokenHash)>,
) -> QueryResult<Vec<(SessionRow, Vec<u8>)>> {
    let mut found = Vec::with_capacity(wanted.len());
    for (world, hashes) in by_world(wanted, |hash| hash.0.to_vec()) {
        let query = rows_of!(sessions, world, token_hash, hashes)
            .select((SessionRow::as_select(), sessions::token_hash));
        found.extend(query.load(conn).await?);
    }
    Ok(found)
}

pub(super) async fn whole_user_rows(
    conn: &mut Conn,
    wanted: Vec<(World, UserId)>,
) -> QueryResult<WholeUserRows> {
    let mut rows = WholeUserRows::default();
    for (world, ids) in by_world(wanted, |id| id.to_string()) {
        rows.append(users_of(conn, &world, &ids).await?);
    }
    Ok(rows)
}

async fn users_of(conn: &mut Conn, world: &World, ids: &[String]) -> QueryResult<WholeUserRows> {
    let conn = conn.flush_deferred().await?;
    // Boxed, because the compiler cannot see that they are `Send`.
    macro_rules! load {
        ($row:ty, $table:ident, $owner:ident, $($order:ident),+) => {{
            let query = rows_of!($table, world, $owner, ids.to_vec())
                .order(($($table::$order,)+))
                .select(<$row>::as_select());
            async move { query.load(&mut &*conn).await }.boxed()
        }};
    }
    let (users, emails, phones, wallets, totps, passkeys, provider_links, external_keys) = try_join!(
        load!(UserRow, users, id, id),
        load!(UserEmailRow, user_emails, user_id, created_at, id),
        load!(UserPhoneRow, user_phones, user_id, created_at, id),
        load!(WalletRow, wallets, user_id, created_at, id),
        load!(TotpRow, totps, user_id, id),
        load!(PasskeyRow, passkeys, user_id, id),
        load!(ProviderLinkRow, provider_links, user_id, id),
        load!(ExternalKeyRow, imported_users, user_id, user_id),
    )?;
    Ok(WholeUserRows {
        users,
        emails,
        phones,
        wallets,
        totps,
        passkeys,
        provider_links,
        external_keys,
    })
}
