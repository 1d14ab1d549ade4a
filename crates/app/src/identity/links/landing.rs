//! Redirect URLs of links: only URLs registered by the App are allowed (ML-4, attack 17).

use vestry_domain::World;
use vestry_domain::redirect::{Landing, RedirectKind};
use vestry_ports::store::RedirectUrl;

use crate::kernel::refusal::RedirectError;
use crate::{Fault, Service};

/// The registered URLs of one world.
pub(crate) struct Registered(Vec<RedirectUrl>);

impl Service {
    /// Returns the URLs that the App registered for this world.
    pub(crate) async fn registered_urls(&self, world: &World) -> Result<Registered, Fault> {
        let mut read = self.ports.store.read().await?;
        let mut urls = read.redirect_urls().list(world.app_id).await?;
        urls.retain(|url| url.world == *world);
        Ok(Registered(urls))
    }
}

impl Registered {
    /// Returns the URL named by the field `param`, or the default of its kind if none was named.
    pub(crate) fn choose(
        &self,
        kind: RedirectKind,
        param: &'static str,
        wanted: Option<&str>,
    ) -> Result<Landing, RedirectError> {
        let mut of_kind = self.0.iter().filter(|url| url.kind == kind);
        match wanted {
            Some(_) => of_kind
                .find_map(|url| url.target.landing(wanted))
                .ok_or(RedirectError::NotAllowed(param)),
            None => of_kind
                .find(|url| url.is_default)
                .and_then(|url| url.target.landing(None))
                .ok_or(RedirectError::Missing(param)),
        }
    }
}
