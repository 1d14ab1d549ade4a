//! Redirect URLs of sign-ins: only URLs registered by the App are allowed (ML-4, attack 17).

use vestry_domain::World;
use vestry_domain::redirect::{Landing, RedirectKind};
use vestry_ports::store::{RedirectUrl, Store};

use crate::Fault;
use crate::kernel::refusal::RedirectError;

/// The registered URLs of one world.
pub(crate) struct Registered(Vec<RedirectUrl>);

impl Registered {
    /// Reads the URLs that the App registered for this world.
    pub(crate) async fn read(store: &dyn Store, world: &World) -> Result<Self, Fault> {
        let mut read = store.read().await?;
        let mut urls = read.redirect_urls().list(world.app_id).await?;
        urls.retain(|url| url.world == *world);
        Ok(Self(urls))
    }

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
