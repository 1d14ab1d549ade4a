//! `vestry signing-key list|rotate`: the keys of session JWTs.

use vestry_domain::app::App;
use vestry_domain::signing_key::{PUBLISHED_BEFORE_USE, SigningKey};
use vestry_domain::{Timestamp, World};

use super::AdminError;
use crate::fault::retried;
use crate::{Fault, Service};

impl Service {
    /// The signing keys of a world, oldest first.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn list_signing_keys(&self, world: World) -> Result<Vec<SigningKey>, AdminError> {
        self.show_app(world.app_id).await?;
        Ok(self
            .ports
            .store
            .read()
            .await?
            .signing_keys()
            .list(&world)
            .await?)
    }

    /// Makes the next signing key, with the algorithm of the App's settings. It is published at once and signs five minutes
    /// later, when every process and client has had the time to fetch it; the old one stays published until its last token
    /// has expired (S-13). The first key of a world signs at once.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn rotate_signing_key(&self, world: World) -> Result<SigningKey, AdminError> {
        let app = self.show_app(world.app_id).await?;
        let now = self.ports.clock.machine();
        let first = self.list_signing_keys(world).await?.is_empty();
        let active_from = if first {
            now
        } else {
            now + PUBLISHED_BEFORE_USE
        };
        self.make_signing_key(&app, world, active_from).await
    }

    pub(super) async fn make_signing_key(
        &self,
        app: &App,
        world: World,
        active_from: Timestamp,
    ) -> Result<SigningKey, AdminError> {
        let now = self.ports.clock.machine();
        let id = self.new_id(now);
        let key = self
            .ports
            .tokens
            .generate(id, world, app.settings.jwt_algorithm, now, active_from)
            .await
            .map_err(Fault::from)?;
        retried(|| self.store_signing_key(&key)).await?;
        Ok(key)
    }

    async fn store_signing_key(&self, key: &SigningKey) -> Result<(), AdminError> {
        let mut tx = self.ports.store.begin().await?;
        tx.signing_keys().insert(key).await?;
        Ok(tx.commit().await?)
    }
}
