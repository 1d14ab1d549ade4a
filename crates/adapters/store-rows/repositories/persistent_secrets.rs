//! Small secrets that live as long as their rows.

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, JoinOnDsl, QueryDsl};
use diesel_async::RunQueryDsl;
use vestry_domain::World;
use vestry_domain::envelope::{Mac, Sealed};
use vestry_domain::totp::recovery_owner;
use vestry_ports::port;
use vestry_ports::store::{
    PersistentKind, PersistentSecret, PersistentSecrets, StoreError, StoreResult,
};

use super::{Unit, count, in_world};
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::schema::{
    passwords, provider_connections, signing_keys, totp_recovery_codes, totps, webhook_secrets,
};

/// A page of the secrets of a table that has one per row.
macro_rules! page {
    ($unit:expr, $selection:expr, $table:ident, $owner:ident, $version:ident, $sealed:ident) => {{
        let Selection {
            world,
            version,
            after,
            limit,
            ..
        } = $selection;
        let query = in_world!($table, world)
            .filter($table::$version.lt(i64::from(version)))
            .filter($table::$owner.gt(after.unwrap_or_default()))
            .order($table::$owner)
            .limit(limit)
            .select(($table::$owner, $table::$version, $table::$sealed));
        let found = query.load::<Row>($unit.reading()?).await;
        $selection.read($unit.done(found)?)
    }};
}

/// Replaces a sealed secret, unless it changed since it was read.
macro_rules! put {
    ($unit:expr, $fresh:expr, $seen:expr, $table:ident, $owner:ident, $version:ident, $sealed:ident) => {{
        let row = in_world!($table, $fresh.world)
            .filter($table::$owner.eq(&$fresh.owner))
            .filter($table::$version.eq(i64::from($seen.key_version)))
            .filter($table::$sealed.eq(&$seen.bytes));
        let update = diesel::update(row).set((
            $table::$version.eq(i64::from($fresh.sealed.key_version)),
            $table::$sealed.eq(&$fresh.sealed.bytes),
        ));
        let updated = update.execute($unit.writing()?).await;
        Ok($unit.done(updated)? == 1)
    }};
}

/// Owner, key version, and sealed bytes.
type Row = (String, i64, Vec<u8>);
/// The same for a recovery code, by authenticator app and number, with its keyed hash and user.
type CodeRow = (String, i64, i64, Vec<u8>, i64, Vec<u8>, String);

/// The requested page.
#[derive(Clone, Copy)]
struct Selection<'a> {
    world: &'a World,
    kind: PersistentKind,
    version: u32,
    after: Option<&'a str>,
    limit: i64,
}

impl Selection<'_> {
    fn corrupt(&self, column: &'static str) -> StoreError {
        StoreError::Corrupt {
            table: self.kind.table(),
            column,
        }
    }

    fn sealed(&self, key_version: i64, bytes: Vec<u8>) -> StoreResult<Sealed> {
        let key_version = u32::try_from(key_version);
        Ok(Sealed {
            key_version: key_version.map_err(|_error| self.corrupt("key_version"))?,
            bytes,
        })
    }

    fn read(&self, rows: Vec<Row>) -> StoreResult<Vec<PersistentSecret>> {
        let read = rows.into_iter().map(|(owner, version, bytes)| {
            Ok(PersistentSecret {
                world: *self.world,
                kind: self.kind,
                owner,
                sealed: self.sealed(version, bytes)?,
                hash: None,
            })
        });
        read.collect()
    }

    fn read_code(&self, row: CodeRow) -> StoreResult<PersistentSecret> {
        let (totp_id, number, version, bytes, mac_version, tag, user) = row;
        let number = u32::try_from(number).map_err(|_error| self.corrupt("number"))?;
        let user = user.parse().map_err(|_error| self.corrupt("user_id"))?;
        let mac_version = u32::try_from(mac_version);
        let mac = Mac {
            key_version: mac_version.map_err(|_error| self.corrupt("mac_key_version"))?,
            tag,
        };
        Ok(PersistentSecret {
            world: *self.world,
            kind: self.kind,
            owner: recovery_owner(&totp_id, number),
            sealed: self.sealed(version, bytes)?,
            hash: Some((user, mac)),
        })
    }

    /// Returns the authenticator app and number of the recovery code after which the page begins.
    fn after_code(&self) -> (&str, i64) {
        let (totp_id, number) = self
            .after
            .and_then(|owner| owner.split_once('/'))
            .unwrap_or_default();
        (totp_id, number.parse().unwrap_or_default())
    }
}

impl Unit {
    async fn codes_under_older(
        &mut self,
        selection: Selection<'_>,
    ) -> StoreResult<Vec<PersistentSecret>> {
        let its_totp = totp_recovery_codes::app_id
            .eq(totps::app_id)
            .and(totp_recovery_codes::environment.eq(totps::environment))
            .and(totp_recovery_codes::totp_id.eq(totps::id));
        let version = i64::from(selection.version);
        let (totp_id, number) = selection.after_code();
        let query = in_world!(totp_recovery_codes, selection.world)
            .inner_join(totps::table.on(its_totp))
            .filter(totp_recovery_codes::used_at.is_null())
            .filter(
                totp_recovery_codes::code_key_version
                    .lt(version)
                    .or(totp_recovery_codes::mac_key_version.lt(version)),
            )
            .filter(
                totp_recovery_codes::totp_id
                    .gt(totp_id)
                    .or(totp_recovery_codes::totp_id
                        .eq(totp_id)
                        .and(totp_recovery_codes::number.gt(number))),
            )
            .order((totp_recovery_codes::totp_id, totp_recovery_codes::number))
            .limit(selection.limit)
            .select((
                totp_recovery_codes::totp_id,
                totp_recovery_codes::number,
                totp_recovery_codes::code_key_version,
                totp_recovery_codes::code,
                totp_recovery_codes::mac_key_version,
                totp_recovery_codes::mac,
                totps::user_id,
            ));
        let found = query.load::<CodeRow>(self.reading()?).await;
        let found = self.done(found)?.into_iter();
        found.map(|row| selection.read_code(row)).collect()
    }

    async fn reseal_code(&mut self, fresh: &PersistentSecret, seen: &Sealed) -> StoreResult<bool> {
        let Some((totp_id, number)) = fresh.owner.split_once('/') else {
            return Ok(false);
        };
        let Some((_, mac)) = &fresh.hash else {
            return Ok(false);
        };
        let number: i64 = number.parse().unwrap_or(-1);
        let row = in_world!(totp_recovery_codes, fresh.world)
            .filter(totp_recovery_codes::totp_id.eq(totp_id))
            .filter(totp_recovery_codes::number.eq(number))
            .filter(totp_recovery_codes::used_at.is_null())
            .filter(totp_recovery_codes::code_key_version.eq(i64::from(seen.key_version)))
            .filter(totp_recovery_codes::code.eq(&seen.bytes));
        let update = diesel::update(row).set((
            totp_recovery_codes::code_key_version.eq(i64::from(fresh.sealed.key_version)),
            totp_recovery_codes::code.eq(&fresh.sealed.bytes),
            totp_recovery_codes::mac_key_version.eq(i64::from(mac.key_version)),
            totp_recovery_codes::mac.eq(&mac.tag),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }
}

#[port]
impl PersistentSecrets for Unit {
    async fn under_older(
        &mut self,
        world: &World,
        kind: PersistentKind,
        version: u32,
        after: Option<&str>,
        limit: i64,
    ) -> StoreResult<Vec<PersistentSecret>> {
        let selection = Selection {
            world,
            kind,
            version,
            after,
            limit,
        };
        match kind {
            PersistentKind::SigningKey => {
                page!(
                    self,
                    selection,
                    signing_keys,
                    id,
                    private_key_version,
                    private
                )
            }
            PersistentKind::Password => {
                page!(self, selection, passwords, user_id, key_version, sealed)
            }
            PersistentKind::TotpSeed => page!(self, selection, totps, id, seed_key_version, seed),
            PersistentKind::RecoveryCode => self.codes_under_older(selection).await,
            PersistentKind::ProviderSecret => page!(
                self,
                selection,
                provider_connections,
                callback_id,
                secret_key_version,
                secret
            ),
            PersistentKind::WebhookSecret => {
                page!(self, selection, webhook_secrets, id, key_version, secret)
            }
        }
    }

    async fn reseal(&mut self, fresh: &PersistentSecret, seen: &Sealed) -> StoreResult<bool> {
        match fresh.kind {
            PersistentKind::SigningKey => {
                put!(
                    self,
                    fresh,
                    seen,
                    signing_keys,
                    id,
                    private_key_version,
                    private
                )
            }
            PersistentKind::Password => {
                put!(self, fresh, seen, passwords, user_id, key_version, sealed)
            }
            PersistentKind::TotpSeed => put!(self, fresh, seen, totps, id, seed_key_version, seed),
            PersistentKind::RecoveryCode => self.reseal_code(fresh, seen).await,
            PersistentKind::ProviderSecret => put!(
                self,
                fresh,
                seen,
                provider_connections,
                callback_id,
                secret_key_version,
                secret
            ),
            PersistentKind::WebhookSecret => {
                put!(self, fresh, seen, webhook_secrets, id, key_version, secret)
            }
        }
    }

    async fn forget_used(&mut self, world: &World, version: u32) -> StoreResult<u64> {
        let used = in_world!(totp_recovery_codes, world)
            .filter(totp_recovery_codes::used_at.is_not_null())
            .filter(totp_recovery_codes::mac_key_version.lt(i64::from(version)));
        let update = diesel::update(used).set((
            totp_recovery_codes::mac_key_version.eq(i64::from(version)),
            totp_recovery_codes::mac.eq(Vec::<u8>::new()),
        ));
        let forgotten = Prepared(update).execute(self.writing()?).await;
        self.done(forgotten).map(count)
    }
}
