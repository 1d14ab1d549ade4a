//! Where a link leads: only to what the App has registered (ML-4, attack 17).

use vestry_domain::World;
use vestry_domain::redirect::{Landing, RedirectKind};
use vestry_ports::store::RedirectUrl;

use crate::refusal::RedirectError;
use crate::{Fault, Service};

/// The URLs that are registered in one world.
pub(crate) struct Registered(Vec<RedirectUrl>);

impl Service {
    /// What the App has registered for this world.
    pub(crate) async fn registered_urls(&self, world: &World) -> Result<Registered, Fault> {
        let mut read = self.ports.store.read().await?;
        let mut urls = read.redirect_urls().list(world.app_id).await?;
        urls.retain(|url| url.world == *world);
        Ok(Registered(urls))
    }
}

impl Registered {
    /// The URL that the field `param` named, or the default of the kind when it named none.
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
