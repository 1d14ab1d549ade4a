//! Counts of the rows that use each version of an App key.

use diesel::dsl::count_star;
use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, QueryDsl,
};
use diesel_async::RunQueryDsl;
use vestry_domain::World;
use vestry_ports::store::{KeyUsage, StoreError, StoreResult};

use super::{Unit, in_world};
use vestry_store_rows::schema::{
    codes, idempotency_keys, oauth_flows, oauth_tokens, outbox, passwords, provider_connections,
    signing_keys, totp_recovery_codes, totps, wallet_imports, wallet_keys, wallets,
    webhook_secrets,
};

/// The rows of a world under each version below the given one, grouped by the column with the version. An extra condition is optional.
macro_rules! by_version {
    ($unit:expr, $world:expr, $version:expr, $table:ident::$column:ident $(, $condition:expr)?) => {{
        let query = in_world!($table, $world)
            .filter($table::$column.lt(i64::from($version)))
            $(.filter($condition))?
            .group_by($table::$column)
            .order($table::$column)
            .select(($table::$column, count_star()));
        let counted = query.load::<(i64, i64)>($unit.reading()?).await;
        standing(stringify!($table), $unit.done(counted)?)?
    }};
}

fn standing(table: &'static str, counted: Vec<(i64, i64)>) -> StoreResult<Vec<KeyUsage>> {
    let read = counted.into_iter().map(|(version, rows)| {
        let corrupt = |_error| StoreError::Corrupt {
            table,
            column: "key_version",
        };
        Ok(KeyUsage {
            version: u32::try_from(version).map_err(corrupt)?,
            table,
            rows: u64::try_from(rows).map_err(corrupt)?,
        })
    });
    read.collect()
}

impl Unit {
    /// Counts wallets, their keys, and import key pairs.
    pub(super) async fn references_by_wallets(
        &mut self,
        world: &World,
        version: u32,
    ) -> StoreResult<Vec<KeyUsage>> {
        let rows = by_version!(self, world, version, wallets::mac_key_version);
        let keys = by_version!(self, world, version, wallet_keys::key_version);
        let imports = by_version!(self, world, version, wallet_imports::private_key_version);
        Ok([rows, keys, imports].concat())
    }

    /// Counts what [`vestry_ports::store::PersistentSecrets`] finds.
    pub(super) async fn references_by_persistent_secrets(
        &mut self,
        world: &World,
        version: u32,
    ) -> StoreResult<Vec<KeyUsage>> {
        let unused = || totp_recovery_codes::used_at.is_null();
        let by_hash_alone = unused()
            .and(totp_recovery_codes::mac_key_version.ne(totp_recovery_codes::code_key_version));
        Ok([
            by_version!(self, world, version, signing_keys::private_key_version),
            by_version!(self, world, version, passwords::key_version),
            by_version!(self, world, version, totps::seed_key_version),
            by_version!(
                self,
                world,
                version,
                totp_recovery_codes::code_key_version,
                unused()
            ),
            by_version!(
                self,
                world,
                version,
                totp_recovery_codes::mac_key_version,
                by_hash_alone
            ),
            by_version!(
                self,
                world,
                version,
                provider_connections::secret_key_version
            ),
            by_version!(self, world, version, webhook_secrets::key_version),
        ]
        .concat())
    }

    /// Counts rows that expire. They are deleted no later than a day after they expire.
    pub(super) async fn references_by_expiring_rows(
        &mut self,
        world: &World,
        version: u32,
    ) -> StoreResult<Vec<KeyUsage>> {
        // Delivered and abandoned messages have no payload any longer.
        let waiting = outbox::payload.ne(Vec::<u8>::new());
        let answers = in_world!(idempotency_keys, world)
            .filter(idempotency_keys::answer_key_version.lt(i64::from(version)))
            .filter(
                idempotency_keys::answer_key_version
                    .ne(idempotency_keys::request_key_version.nullable()),
            )
            .group_by(idempotency_keys::answer_key_version)
            .order(idempotency_keys::answer_key_version)
            .select((
                idempotency_keys::answer_key_version.assume_not_null(),
                count_star(),
            ));
        let answers = answers.load::<(i64, i64)>(self.reading()?).await;
        let answers = standing("idempotency_keys", self.done(answers)?)?;
        Ok([
            by_version!(self, world, version, codes::mac_key_version),
            by_version!(self, world, version, outbox::payload_key_version, waiting),
            by_version!(self, world, version, idempotency_keys::request_key_version),
            answers,
            by_version!(self, world, version, oauth_flows::secrets_key_version),
            by_version!(self, world, version, oauth_tokens::identity_key_version),
        ]
        .concat())
    }
}
