//! `vestry redirect-url add|list|remove`.

use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, Detail};
use vestry_domain::event::Fact;
use vestry_domain::extent::Extent;
use vestry_domain::ids::RedirectUrlId;
use vestry_domain::redirect::{MAX_URLS, RedirectKind, RedirectTarget};
use vestry_domain::{Invalid, World};
use vestry_ports::store::RedirectUrl;

use crate::kernel::change::Change;
use crate::kernel::fault::retried;
use crate::{Fault, Principal, Refusal, Service};

const NO_URL: Refusal = Refusal::NotFound("redirect URL");

impl Service {
    /// Registers a URL for one kind of redirect.
    ///
    /// The call is idempotent: an existing URL is left unchanged, except that it becomes the default if requested. A command that was
    /// interrupted between two kinds can therefore be run again.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn add_redirect_url(
        &self,
        by: &Principal,
        world: World,
        kind: RedirectKind,
        url: &str,
        is_default: bool,
    ) -> Result<RedirectUrl, Refusal> {
        by.authorize(Action::AddRedirectUrl, world)?;
        let now = self.ports.clock.machine();
        let target = registered_target(url, is_default)?;
        let url = RedirectUrl {
            id: self.new_id(now),
            world,
            kind,
            target,
            is_default,
            created_at: now,
        };
        retried(|| self.store_redirect_url(by, &url)).await
    }

    async fn store_redirect_url(
        &self,
        by: &Principal,
        url: &RedirectUrl,
    ) -> Result<RedirectUrl, Refusal> {
        self.app(url.world.app_id).await?;
        let (mut tx, _app) = self.begin_with_app(url.world).await?;
        let is_new = self.insert_redirect_url(by, &mut tx, url).await?;
        let known = tx.redirect_urls().list(url.world.app_id).await?;
        if is_new {
            let known = known.iter().filter(|known| known.world == url.world);
            if known.count() > MAX_URLS {
                return Err(Refusal::too_many_in_world("url", "redirect URLs", MAX_URLS));
            }
            tx.commit_last(by).await?;
            return Ok(url.clone());
        }
        let is_same = |known: &RedirectUrl| {
            (known.world, known.kind, &known.target) == (url.world, url.kind, &url.target)
        };
        let known = known.into_iter().find(is_same);
        // Absent here means that it was removed since our insert conflicted, so a retry can insert it.
        let mut known = known.ok_or(Fault::LostRace)?;
        if url.is_default && !known.is_default {
            known.is_default = true;
            self.rewrite_redirect_url(by, &mut tx, &known).await?;
            tx.commit_last(by).await?;
        }
        Ok(known)
    }

    /// Inserts a URL in an open transaction; `false` if it is registered already.
    pub(super) async fn insert_redirect_url(
        &self,
        by: &Principal,
        tx: &mut Change<'_>,
        url: &RedirectUrl,
    ) -> Result<bool, Refusal> {
        if !tx.redirect_urls().insert(url).await? {
            return Ok(false);
        }
        let fact = Fact::redirect_url_added(url.id, url.kind);
        self.emit(&mut **tx, by.at(url.world), [fact]).await?;
        let action = ControlAction::RedirectUrlAdd;
        tx.note(self.done(&by.at(url.world), action, url.id, &described(url)));
        Ok(true)
    }

    /// Makes a URL the default or not, in an open transaction.
    pub(super) async fn rewrite_redirect_url(
        &self,
        by: &Principal,
        tx: &mut Change<'_>,
        url: &RedirectUrl,
    ) -> Result<(), Refusal> {
        // A removed URL stays removed.
        if !tx.redirect_urls().remove(url.world.app_id, url.id).await? {
            return Err(NO_URL);
        }
        tx.redirect_urls().insert(url).await?;
        let action = ControlAction::RedirectUrlUpdate;
        tx.note(self.done(&by.at(url.world), action, url.id, &described(url)));
        Ok(())
    }

    /// Lists the registered URLs of an App or one of its environments, oldest first.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn list_redirect_urls(
        &self,
        by: &Principal,
        of: Extent,
    ) -> Result<Vec<RedirectUrl>, Refusal> {
        by.authorize(Action::ReadRedirectUrls, of)?;
        let app = self.app_of(of).await?.id;
        let mut read = self.ports.store.read().await?;
        let urls = read.redirect_urls().list(app).await?.into_iter();
        Ok(urls.filter(|url| of.includes(&url.world)).collect())
    }

    /// Makes a registered URL the default of its kind.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn make_redirect_url_default(
        &self,
        by: &Principal,
        of: Extent,
        id: RedirectUrlId,
    ) -> Result<RedirectUrl, Refusal> {
        by.authorize(Action::UpdateRedirectUrl, of)?;
        retried(|| self.store_default(by, of, id)).await
    }

    async fn store_default(
        &self,
        by: &Principal,
        of: Extent,
        id: RedirectUrlId,
    ) -> Result<RedirectUrl, Refusal> {
        let known = self.list_redirect_urls(by, of).await?;
        let known = known.into_iter().find(|url| url.id == id);
        let known = known.ok_or(NO_URL)?;
        if known.target.is_pattern() {
            let message = "a URL with a wildcard cannot be the default";
            return Err(Invalid::value("default", message).into());
        }
        if known.is_default {
            return Ok(known);
        }
        let url = RedirectUrl {
            is_default: true,
            ..known
        };
        let (mut tx, _app) = self.begin_with_app(url.world).await?;
        self.rewrite_redirect_url(by, &mut tx, &url).await?;
        tx.commit().await?;
        Ok(url)
    }

    /// Removes a registered URL.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn remove_redirect_url(
        &self,
        by: &Principal,
        of: Extent,
        id: RedirectUrlId,
    ) -> Result<(), Refusal> {
        by.authorize(Action::RemoveRedirectUrl, of)?;
        retried(|| self.drop_redirect_url(by, of, id)).await
    }

    async fn drop_redirect_url(
        &self,
        by: &Principal,
        of: Extent,
        id: RedirectUrlId,
    ) -> Result<(), Refusal> {
        let known = self.list_redirect_urls(by, of).await?;
        let Some(url) = known.into_iter().find(|url| url.id == id) else {
            return Err(NO_URL);
        };
        let (mut tx, _app) = self.begin_with_app(url.world).await?;
        self.delete_redirect_url(by, &mut tx, &url).await?;
        Ok(tx.commit().await?)
    }

    /// Removes a URL in an open transaction.
    pub(super) async fn delete_redirect_url(
        &self,
        by: &Principal,
        tx: &mut Change<'_>,
        url: &RedirectUrl,
    ) -> Result<(), Refusal> {
        if !tx.redirect_urls().remove(url.world.app_id, url.id).await? {
            return Err(NO_URL);
        }
        let fact = Fact::redirect_url_removed(url.id);
        self.emit(&mut **tx, by.at(url.world), [fact]).await?;
        let action = ControlAction::RedirectUrlRemove;
        tx.note(self.done(&by.at(url.world), action, url.id, &described(url)));
        Ok(())
    }
}

/// Parses a URL to register.
pub(super) fn registered_target(url: &str, is_default: bool) -> Result<RedirectTarget, Invalid> {
    let target = RedirectTarget::register(url)?;
    if is_default && target.is_pattern() {
        return Err(Invalid::value(
            "url",
            "a URL with a wildcard cannot be the default; register an exact URL as the default",
        ));
    }
    Ok(target)
}

fn described(url: &RedirectUrl) -> Detail {
    Detail::default()
        .with("kind", url.kind.as_str())
        .with("url", url.target.as_str())
        .with("is_default", url.is_default)
}
