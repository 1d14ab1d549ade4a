//! `vestry signing-key list|rotate|revoke`: the keys of session JWTs.

use vestry_domain::action::Action;
use vestry_domain::app::App;
use vestry_domain::audit::control::{ControlAction, ControlEvent, Detail};
use vestry_domain::event::Fact;
use vestry_domain::extent::Extent;
use vestry_domain::ids::SigningKeyId;
use vestry_domain::signing_key::{MAX_KEYS, PUBLISHED_BEFORE_USE, SigningKey, active};
use vestry_domain::{Timestamp, World};

use crate::kernel::fault::retried;
use crate::{Fault, Principal, Refusal, Service};

/// Result of an attempt to revoke a key.
enum Revocation {
    Done,
    /// The key is the active one and no successor was passed. Nothing was changed.
    NeedsAnother,
}

impl Service {
    /// Lists the signing keys of an environment, oldest first.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn list_signing_keys(
        &self,
        by: &Principal,
        world: World,
    ) -> Result<Vec<SigningKey>, Refusal> {
        by.authorize(Action::ReadSigningKeys, world)?;
        self.app(world.app_id).await?;
        Ok(self
            .ports
            .store
            .read()
            .await?
            .signing_keys()
            .list(&world)
            .await?)
    }

    /// Creates the next signing key, with the algorithm from the App's settings.
    ///
    /// It is published at once and used for signing five minutes later, when every process and client has had time to fetch it. The old key
    /// stays published until its last token has expired (S-13). The first key of an environment signs at once.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn rotate_signing_key(
        &self,
        by: &Principal,
        world: World,
    ) -> Result<SigningKey, Refusal> {
        by.authorize(Action::RotateSigningKey, world)?;
        let app = self.app(world.app_id).await?;
        let now = self.ports.clock.machine();
        let first = self.list_signing_keys(by, world).await?.is_empty();
        let active_from = if first {
            now
        } else {
            now + PUBLISHED_BEFORE_USE
        };
        let key = self.new_signing_key(&app, world, active_from).await?;
        retried(|| self.store_signing_key(by, &key)).await?;
        Ok(key)
    }

    /// Revokes a compromised key at once.
    ///
    /// From now on every process rejects JWTs signed with it, it is no longer published, and its private half is destroyed. Sessions are
    /// unaffected. If it is the active key, a successor is created in the same transaction, signs at once, and is returned. A process that
    /// read the keys within the last second may still sign with the old key until that second is over; those tokens are rejected too.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn revoke_signing_key(
        &self,
        by: &Principal,
        of: Extent,
        id: SigningKeyId,
    ) -> Result<Option<SigningKey>, Refusal> {
        by.authorize(Action::RevokeSigningKey, of)?;
        let app = self.app_of(of).await?;
        let world = self.world_of_signing_key(of, id).await?;
        if let Revocation::Done = retried(|| self.try_to_revoke(by, &world, id, None)).await? {
            return Ok(None);
        }
        // Key generation is slow, so it happens before the transaction.
        let next = self
            .new_signing_key(&app, world, self.ports.clock.machine())
            .await?;
        retried(|| self.try_to_revoke(by, &world, id, Some(&next))).await?;
        Ok(Some(next))
    }

    async fn world_of_signing_key(&self, of: Extent, id: SigningKeyId) -> Result<World, Refusal> {
        let mut read = self.ports.store.read().await?;
        for world in of.worlds() {
            let keys = read.signing_keys().list(&world).await?;
            if keys.iter().any(|key| key.id == id) {
                return Ok(world);
            }
        }
        Err(Refusal::NotFound("signing key"))
    }

    async fn try_to_revoke(
        &self,
        by: &Principal,
        world: &World,
        id: SigningKeyId,
        next: Option<&SigningKey>,
    ) -> Result<Revocation, Refusal> {
        let now = self.ports.clock.machine();
        let mut tx = self.begin_change([*world]).await?;
        let keys = tx.signing_keys().list(world).await?;
        let signs = active(&keys, now).is_some_and(|key| key.id == id);
        match next {
            Some(next) => tx.signing_keys().insert(next).await?,
            None if signs => return Ok(Revocation::NeedsAnother),
            None => {}
        }
        if !tx.signing_keys().remove(world, id).await? {
            return Err(Refusal::NotFound("signing key"));
        }
        let rotated = next.map(|next| Fact::signing_key_rotated(next.id));
        let facts = rotated.into_iter().chain([Fact::signing_key_revoked(id)]);
        self.emit(&mut *tx, by.at(*world), facts).await?;
        if let Some(next) = next {
            tx.note(self.signing_key_made(by, next));
        }
        let action = ControlAction::SigningKeyRevoke;
        tx.note(self.done(&by.at(*world), action, id, &Detail::default()));
        tx.commit_last(by).await?;
        Ok(Revocation::Done)
    }

    /// Generates a signing key. Nothing is stored.
    pub(crate) async fn new_signing_key(
        &self,
        app: &App,
        world: World,
        active_from: Timestamp,
    ) -> Result<SigningKey, Fault> {
        let now = self.ports.clock.machine();
        let id = self.new_id(now);
        let algorithm = app.settings.jwt_algorithm;
        let tokens = &self.ports.tokens;
        let made = tokens.generate(id, world, algorithm, now, active_from);
        Ok(made.await?)
    }

    async fn store_signing_key(&self, by: &Principal, key: &SigningKey) -> Result<(), Refusal> {
        let (mut tx, _app) = self.begin_with_app(key.world).await?;
        if tx.signing_keys().list(&key.world).await?.len() >= MAX_KEYS {
            let kind = "signing keys";
            return Err(Refusal::too_many_in_world("signing_key", kind, MAX_KEYS));
        }
        tx.signing_keys().insert(key).await?;
        let fact = Fact::signing_key_rotated(key.id);
        self.emit(&mut *tx, by.at(key.world), [fact]).await?;
        tx.note(self.signing_key_made(by, key));
        Ok(tx.commit_last(by).await?)
    }

    /// Builds the entry about a new signing key.
    pub(crate) fn signing_key_made(&self, by: &Principal, key: &SigningKey) -> ControlEvent {
        let detail = Detail::default()
            .with("algorithm", key.algorithm.as_str())
            .with("active_from", key.active_from.unix());
        self.done(
            &by.at(key.world),
            ControlAction::SigningKeyRotate,
            key.id,
            &detail,
        )
    }
}
