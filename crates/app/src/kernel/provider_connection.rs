//! What setting a connection with an identity provider and signing in with it have in common.

use vestry_domain::World;
use vestry_domain::envelope::{Place, SecretKind};
use vestry_domain::ids::OauthCallbackId;

use crate::Service;

impl Service {
    /// The address at which a provider brings the browser back to us. Built from the public URL alone (attack 15).
    pub fn callback_url(&self, id: OauthCallbackId) -> String {
        format!(
            "{}/v1/auth/oauth/callback/{id}",
            self.settings.public_url.trim_end_matches('/')
        )
    }
}

/// Where the client secret of a connection stands: `owner` is its callback id.
pub(crate) const fn secret_place(world: World, owner: &str) -> Place<'_> {
    Place {
        world,
        kind: SecretKind::ProviderSecret,
        owner,
    }
}
