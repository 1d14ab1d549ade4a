//! `vestry redirect-url add|list|remove`.

use vestry_domain::ids::{AppId, RedirectUrlId};
use vestry_domain::redirect::{RedirectKind, RedirectTarget};
use vestry_domain::{Invalid, World};
use vestry_ports::store::RedirectUrl;

use super::AdminError;
use crate::Service;
use crate::fault::retried;

impl Service {
    /// Registers a URL for one kind of redirect.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn add_redirect_url(
        &self,
        world: World,
        kind: RedirectKind,
        url: &str,
        is_default: bool,
    ) -> Result<RedirectUrl, AdminError> {
        let now = self.ports.clock.machine();
        let target = RedirectTarget::parse(url)?;
        if is_default && target.is_pattern() {
            return Err(Invalid::value(
                "url",
                "a URL with a star stands for many and cannot be the default",
            )
            .into());
        }
        let url = RedirectUrl {
            id: self.new_id(now),
            world,
            kind,
            target,
            is_default,
            created_at: now,
        };
        retried(|| self.store_redirect_url(&url)).await?;
        Ok(url)
    }

    async fn store_redirect_url(&self, url: &RedirectUrl) -> Result<(), AdminError> {
        let mut tx = self.ports.store.begin().await?;
        if tx.apps().find(url.world.app_id).await?.is_none() {
            return Err(AdminError::NotFound("app"));
        }
        if !tx.redirect_urls().insert(url).await? {
            return Err(AdminError::Exists("redirect URL"));
        }
        Ok(tx.commit().await?)
    }

    /// All registered URLs of an App, oldest first.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn list_redirect_urls(&self, app: AppId) -> Result<Vec<RedirectUrl>, AdminError> {
        self.show_app(app).await?;
        Ok(self
            .ports
            .store
            .read()
            .await?
            .redirect_urls()
            .list(app)
            .await?)
    }

    /// Removes a registered URL.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn remove_redirect_url(
        &self,
        app: AppId,
        id: RedirectUrlId,
    ) -> Result<(), AdminError> {
        retried(|| self.drop_redirect_url(app, id)).await
    }

    async fn drop_redirect_url(&self, app: AppId, id: RedirectUrlId) -> Result<(), AdminError> {
        let mut tx = self.ports.store.begin().await?;
        if !tx.redirect_urls().remove(app, id).await? {
            return Err(AdminError::NotFound("redirect URL"));
        }
        Ok(tx.commit().await?)
    }
}
