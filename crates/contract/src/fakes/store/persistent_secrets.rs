//! Small secrets that live as long as their rows, and everything that is protected by an App key.

use std::collections::BTreeMap;

use vestry_domain::World;
use vestry_domain::envelope::{KeyPurpose, Mac, Sealed};
use vestry_domain::totp::recovery_owner;
use vestry_ports::port;
use vestry_ports::store::{
    KeyUsage, PersistentKind, PersistentSecret, PersistentSecrets, StoreResult,
};

use super::Work;
use super::state::{State, at_most};

/// A stored secret, and the keyed hash next to it.
type Slots<'a> = (&'a mut Sealed, Option<&'a mut Mac>);

impl State {
    fn lasting(&self, world: World, kind: PersistentKind) -> Vec<PersistentSecret> {
        let secret = |owner: String, sealed: &Sealed| PersistentSecret {
            world,
            kind,
            owner,
            sealed: sealed.clone(),
            hash: None,
        };
        let mut found: Vec<PersistentSecret> = match kind {
            PersistentKind::SigningKey => {
                let keys = self.signing_keys.iter().filter(|key| key.world == world);
                keys.map(|key| secret(key.id.to_string(), &key.private))
                    .collect()
            }
            PersistentKind::Password => {
                let rows = self.passwords.iter().filter(|row| row.world == world);
                rows.map(|row| secret(row.user_id.to_string(), &row.sealed))
                    .collect()
            }
            PersistentKind::TotpSeed => {
                let rows = self.totps.iter().filter(|row| row.totp.world == world);
                rows.map(|row| secret(row.totp.id.to_string(), &row.totp.seed))
                    .collect()
            }
            PersistentKind::RecoveryCode => self.unused_recovery_codes(world),
            PersistentKind::ProviderSecret => {
                let rows = self.provider_connections.iter();
                rows.filter(|row| row.connection.world == world)
                    .map(|row| secret(row.connection.callback_id.to_string(), &row.secret))
                    .collect()
            }
            PersistentKind::WebhookSecret => {
                let rows = self.webhook_secrets.iter().filter(|row| row.world == world);
                rows.map(|row| secret(row.id.to_string(), &row.sealed))
                    .collect()
            }
        };
        found.sort_by(|a, b| a.owner.cmp(&b.owner));
        found
    }

    fn unused_recovery_codes(&self, world: World) -> Vec<PersistentSecret> {
        let rows = self.totps.iter().filter(|row| row.totp.world == world);
        rows.flat_map(|row| {
            let unused = row.recovery_codes.iter().filter(|code| !code.used);
            unused.map(move |code| PersistentSecret {
                world,
                kind: PersistentKind::RecoveryCode,
                owner: recovery_owner(&row.totp.id.to_string(), code.number),
                sealed: code.sealed.clone(),
                hash: Some((row.totp.user_id, code.mac.clone())),
            })
        })
        .collect()
    }

    fn lasting_slots(&mut self, secret: &PersistentSecret) -> Option<Slots<'_>> {
        let (world, owner) = (secret.world, secret.owner.as_str());
        match secret.kind {
            PersistentKind::SigningKey => {
                let mut rows = self.signing_keys.iter_mut();
                let row = rows.find(|key| key.world == world && key.id.to_string() == owner);
                row.map(|key| (&mut key.private, None))
            }
            PersistentKind::Password => {
                let mut rows = self.passwords.iter_mut();
                let row = rows.find(|row| row.world == world && row.user_id.to_string() == owner);
                row.map(|row| (&mut row.sealed, None))
            }
            PersistentKind::TotpSeed => {
                let mut rows = self.totps.iter_mut();
                let row =
                    rows.find(|row| row.totp.world == world && row.totp.id.to_string() == owner);
                row.map(|row| (&mut row.totp.seed, None))
            }
            PersistentKind::RecoveryCode => {
                let rows = self.totps.iter_mut();
                let mut codes = rows.filter(|row| row.totp.world == world).flat_map(|row| {
                    let totp = row.totp.id.to_string();
                    let codes = row.recovery_codes.iter_mut().filter(|code| !code.used);
                    codes.map(move |code| (recovery_owner(&totp, code.number), code))
                });
                let code = codes.find(|(id, _)| id == owner);
                code.map(|(_, code)| (&mut code.sealed, Some(&mut code.mac)))
            }
            PersistentKind::ProviderSecret => {
                let mut rows = self.provider_connections.iter_mut();
                let row = rows.find(|row| {
                    row.connection.world == world && row.connection.callback_id.to_string() == owner
                });
                row.map(|row| (&mut row.secret, None))
            }
            PersistentKind::WebhookSecret => {
                let mut rows = self.webhook_secrets.iter_mut();
                let row = rows.find(|row| row.world == world && row.id.to_string() == owner);
                row.map(|row| (&mut row.sealed, None))
            }
        }
    }

    /// Implements [`vestry_ports::store::AppKeys::references_below`].
    pub(super) fn references_below(
        &self,
        world: World,
        purpose: KeyPurpose,
        version: u32,
    ) -> Vec<KeyUsage> {
        let mut counts = BTreeMap::<(&'static str, u32), u64>::new();
        for (table, under) in self.versions_of(world, purpose) {
            if under < version {
                *counts.entry((table, under)).or_default() += 1;
            }
        }
        let counts = counts.into_iter();
        counts
            .map(|((table, version), rows)| KeyUsage {
                version,
                table,
                rows,
            })
            .collect()
    }

    fn versions_of(&self, world: World, purpose: KeyPurpose) -> Vec<(&'static str, u32)> {
        match purpose {
            KeyPurpose::Wallets => self.versions_of_wallets(world),
            KeyPurpose::Secrets => {
                let mut found = self.versions_of_passing(world);
                for kind in PersistentKind::ALL {
                    for secret in self.lasting(world, kind) {
                        found.push((kind.table(), secret.sealed.key_version));
                        if let Some((_, mac)) = secret.hash
                            && mac.key_version != secret.sealed.key_version
                        {
                            found.push((kind.table(), mac.key_version));
                        }
                    }
                }
                found
            }
            KeyPurpose::PastAudit | KeyPurpose::Decoys | KeyPurpose::Audit => Vec::new(),
        }
    }

    fn versions_of_wallets(&self, world: World) -> Vec<(&'static str, u32)> {
        let mut found = Vec::new();
        for (stored, key) in &self.wallets {
            if stored.wallet.world == world {
                found.push(("wallets", stored.mac.key_version));
                found.extend(key.iter().map(|key| ("wallet_keys", key.key_version)));
            }
        }
        let imports = self.wallet_imports.iter().filter(|key| key.world == world);
        found.extend(imports.map(|key| ("wallet_imports", key.private_key.key_version)));
        found
    }

    /// The key versions of secrets that expire.
    fn versions_of_passing(&self, world: World) -> Vec<(&'static str, u32)> {
        let mut found = Vec::new();
        let codes = self.codes.iter().map(|row| &row.code);
        let codes = codes.filter(|code| code.world == world);
        found.extend(codes.map(|code| ("codes", code.mac.key_version)));
        let jobs = self.jobs.iter().map(|row| &row.job);
        let jobs = jobs.filter(|job| job.world == world && !job.payload.bytes.is_empty());
        found.extend(jobs.map(|job| ("outbox", job.payload.key_version)));
        for row in self
            .idempotency
            .iter()
            .filter(|row| row.claim.world == world)
        {
            let request = row.claim.request.key_version;
            found.push(("idempotency_keys", request));
            let answer = row.answer.as_ref().map(|answer| answer.key_version);
            let other = answer.filter(|answer| *answer != request);
            found.extend(other.map(|answer| ("idempotency_keys", answer)));
        }
        let flows = self.oauth_flows.iter();
        let flows = flows.filter(|flow| flow.world == world);
        found.extend(flows.map(|flow| ("oauth_flows", flow.secrets.key_version)));
        let tokens = self.oauth_tokens.iter();
        let tokens = tokens.filter(|pending| pending.world == world);
        found.extend(tokens.map(|pending| ("oauth_tokens", pending.identity.key_version)));
        found
    }
}

#[port]
impl PersistentSecrets for Work {
    async fn under_older(
        &mut self,
        world: &World,
        kind: PersistentKind,
        version: u32,
        after: Option<&str>,
        limit: i64,
    ) -> StoreResult<Vec<PersistentSecret>> {
        self.reading(|state| {
            let mut found = state.lasting(*world, kind);
            found.retain(|secret| {
                let hash = secret.hash.as_ref().map(|(_, mac)| mac.key_version);
                let is_older =
                    secret.sealed.key_version < version || hash.is_some_and(|hash| hash < version);
                is_older && after.is_none_or(|after| secret.owner.as_str() > after)
            });
            found.truncate(at_most(limit));
            found
        })
    }

    async fn reseal(&mut self, fresh: &PersistentSecret, seen: &Sealed) -> StoreResult<bool> {
        self.writing(|state| {
            let Some((sealed, mac)) = state.lasting_slots(fresh) else {
                return Ok(false);
            };
            if sealed != seen {
                return Ok(false);
            }
            *sealed = fresh.sealed.clone();
            if let (Some(mac), Some((_, fresh))) = (mac, &fresh.hash) {
                *mac = fresh.clone();
            }
            Ok(true)
        })
    }

    async fn forget_used(&mut self, world: &World, version: u32) -> StoreResult<u64> {
        self.writing(|state| {
            let rows = state.totps.iter_mut();
            let codes = rows
                .filter(|row| row.totp.world == *world)
                .flat_map(|row| row.recovery_codes.iter_mut());
            let mut forgotten = 0;
            for code in codes.filter(|code| code.used && code.mac.key_version < version) {
                code.mac = Mac {
                    key_version: version,
                    tag: Vec::new(),
                };
                forgotten += 1;
            }
            Ok(forgotten)
        })
    }
}
