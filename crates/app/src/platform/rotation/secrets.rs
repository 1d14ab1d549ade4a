//! Moves long-lived small secrets to another App key. Short-lived ones expire on their own.

use vestry_domain::envelope::{KeyPurpose, Mac, Place, Sealed, SecretKind};
use vestry_domain::ids::UserId;
use vestry_domain::totp;
use vestry_domain::{Secret, World};
use vestry_ports::custody::CustodyError;
use vestry_ports::store::{PersistentKind, PersistentSecret};

use super::{BATCH, Course, FailedSecret};
use crate::kernel::fault::retried;
use crate::kernel::throttle::paced;
use crate::{Fault, Service};

/// A re-encrypted secret, and the ciphertext it replaces.
struct Resealed {
    fresh: PersistentSecret,
    seen: Sealed,
}

impl Service {
    /// Returns whether a secret under an older version can be moved to this one.
    ///
    /// Secrets that fail authentication are not counted: otherwise they would keep the environment from ever getting a new key.
    pub(super) async fn has_secrets_to_reseal(
        &self,
        world: &World,
        version: u32,
    ) -> Result<bool, Fault> {
        for kind in PersistentKind::ALL {
            let mut after = None;
            loop {
                let page = self.secrets_page(world, kind, version, after).await?;
                let Some(last) = page.last() else { break };
                after = Some(last.owner.clone());
                let (batch, _failed) = self.reseal_page(page, version).await?;
                if !batch.is_empty() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Returns the number of secrets under older versions.
    pub(super) async fn secrets_under_older(
        &self,
        world: &World,
        version: u32,
    ) -> Result<u64, Fault> {
        let mut read = self.ports.store.read().await?;
        let purpose = KeyPurpose::Secrets;
        let standing = read.app_keys().references_below(world, purpose, version);
        let standing = standing.await?;
        let lasting = standing.iter().filter(|standing| {
            let mut kinds = PersistentKind::ALL.into_iter();
            kinds.any(|kind| kind.table() == standing.table)
        });
        Ok(lasting.map(|standing| standing.rows).sum())
    }

    /// Scans the environment until a scan finds nothing left to move.
    pub(super) async fn reseal_secrets(
        &self,
        world: &World,
        version: u32,
        course: &mut Course<'_>,
    ) -> Result<(), Fault> {
        loop {
            let before = course.rotation.resealed;
            for kind in PersistentKind::ALL {
                self.reseal_kind(world, kind, version, course).await?;
            }
            if course.rotation.resealed == before {
                return Ok(());
            }
        }
    }

    async fn reseal_kind(
        &self,
        world: &World,
        kind: PersistentKind,
        version: u32,
        course: &mut Course<'_>,
    ) -> Result<(), Fault> {
        let mut after = None;
        loop {
            let page = self.secrets_page(world, kind, version, after).await?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            after = Some(last.owner.clone());
            let (batch, failed) = self.reseal_page(page, version).await?;
            course.rotation.failed_secrets.extend(failed);
            course.rotation.resealed += paced(retried(|| self.keep_resealed(&batch))).await?;
            course.show();
        }
    }

    /// Re-encrypts a page. Returns the secrets to write, and those that failed authentication.
    async fn reseal_page(
        &self,
        page: Vec<PersistentSecret>,
        version: u32,
    ) -> Result<(Vec<Resealed>, Vec<FailedSecret>), Fault> {
        let (mut batch, mut failed) = (Vec::with_capacity(page.len()), Vec::new());
        for secret in page {
            let (world, kind) = (secret.world, secret.kind);
            let (owner, seen) = (secret.owner.clone(), secret.sealed.clone());
            match self.resealed(secret, version).await {
                Ok(fresh) => batch.push(Resealed { fresh, seen }),
                Err(Fault::Tampered(_)) => failed.push(FailedSecret { world, kind, owner }),
                Err(other) => return Err(other),
            }
        }
        Ok((batch, failed))
    }

    pub(crate) async fn secrets_page(
        &self,
        world: &World,
        kind: PersistentKind,
        version: u32,
        after: Option<String>,
    ) -> Result<Vec<PersistentSecret>, Fault> {
        let mut read = self.ports.store.read().await?;
        let secrets = read.persistent_secrets();
        let page = secrets.under_older(world, kind, version, after.as_deref(), BATCH);
        Ok(page.await?)
    }

    /// Re-encrypts the secret under the given version, with its keyed hash if it has one.
    async fn resealed(
        &self,
        secret: PersistentSecret,
        version: u32,
    ) -> Result<PersistentSecret, Fault> {
        let sealer = &self.ports.sealer;
        let sealed = sealer
            .reseal(place(&secret), &secret.sealed, version)
            .await?;
        let hash = match &secret.hash {
            None => None,
            Some((user_id, mac)) => {
                let code = self.recovery_code(&secret, *user_id, mac).await?;
                let user = user_id.to_string();
                let parts = totp::bound_parts(&user, code.expose());
                let kind = SecretKind::RecoveryCode;
                let fresh = sealer.mac_under(&secret.world, kind, &parts, version);
                Some((*user_id, fresh.await?))
            }
        };
        Ok(PersistentSecret {
            sealed,
            hash,
            ..secret
        })
    }

    /// Checks that a secret decrypts, and that its keyed hash matches.
    pub(crate) async fn secret_opens(&self, secret: &PersistentSecret) -> Result<(), Fault> {
        match &secret.hash {
            None => {
                let opened = self.ports.sealer.open(place(secret), &secret.sealed);
                opened.await?;
            }
            Some((user_id, mac)) => {
                self.recovery_code(secret, *user_id, mac).await?;
            }
        }
        Ok(())
    }

    /// Returns a recovery code in its canonical form, if its keyed hash matches.
    async fn recovery_code(
        &self,
        secret: &PersistentSecret,
        user_id: UserId,
        mac: &Mac,
    ) -> Result<Secret<String>, Fault> {
        let sealer = &self.ports.sealer;
        let code = sealer.open(place(secret), &secret.sealed).await?;
        let canonical = str::from_utf8(code.expose()).ok();
        let canonical = canonical.and_then(totp::canonical_recovery_code);
        let canonical = canonical.ok_or(ALTERED)?;
        let user = user_id.to_string();
        let parts = totp::bound_parts(&user, canonical.expose());
        let matches = sealer.mac_matches(&secret.world, SecretKind::RecoveryCode, &parts, mac);
        if !matches.await? {
            return Err(ALTERED.into());
        }
        Ok(canonical)
    }

    /// Writes a batch. Returns the number of rows that were unchanged since they were read.
    async fn keep_resealed(&self, batch: &[Resealed]) -> Result<u64, Fault> {
        if batch.is_empty() {
            return Ok(0);
        }
        let mut tx = self.ports.store.begin().await?;
        let mut kept = 0;
        for Resealed { fresh, seen } in batch {
            if tx.persistent_secrets().reseal(fresh, seen).await? {
                kept += 1;
            }
        }
        tx.commit().await?;
        Ok(kept)
    }
}

/// Returns the encryption context of the secret.
fn place(secret: &PersistentSecret) -> Place<'_> {
    Place {
        world: secret.world,
        kind: secret.kind.secret(),
        owner: &secret.owner,
    }
}

/// A recovery code and its keyed hash do not match.
const ALTERED: CustodyError = CustodyError::Tampered {
    place: "recovery code",
};
