//! The configuration that decides whether an environment is ready for users.

use vestry_domain::World;
use vestry_domain::action::Action;
use vestry_domain::api_key::ApiKey;
use vestry_domain::webhook::Endpoint;
use vestry_ports::store::RedirectUrl;

use super::providers::ListedConnection;
use crate::{Principal, Refusal, Service};

/// The configuration of an environment.
#[derive(Debug, Clone)]
pub struct Readiness {
    /// Its keys, revoked and expired ones included.
    pub keys: Vec<ApiKey>,
    /// Its redirect URLs.
    pub redirect_urls: Vec<RedirectUrl>,
    /// Its identity providers.
    pub providers: Vec<ListedConnection>,
    /// Its webhook endpoints.
    pub endpoints: Vec<Endpoint>,
}

impl Service {
    /// Returns the configuration of an environment in four statements.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn readiness(&self, by: &Principal, world: World) -> Result<Readiness, Refusal> {
        for action in [
            Action::ReadApiKeys,
            Action::ReadRedirectUrls,
            Action::ReadProviders,
            Action::ReadWebhooks,
        ] {
            by.authorize(action, world)?;
        }
        let app = world.app_id;
        let mut read = self.ports.store.read().await?;
        let mut keys = read.api_keys().list(app).await?;
        keys.retain(|key| key.world == world);
        let mut redirect_urls = read.redirect_urls().list(app).await?;
        redirect_urls.retain(|url| url.world == world);
        let providers = read.provider_connections().list(app).await?.into_iter();
        let providers = providers.filter(|stored| stored.connection.world == world);
        let providers = providers.map(|stored| self.listed_connection(stored));
        let providers = providers.collect();
        let mut endpoints = read.webhook_endpoints().list(app).await?;
        endpoints.retain(|endpoint| endpoint.world == world);
        Ok(Readiness {
            keys,
            redirect_urls,
            providers,
            endpoints,
        })
    }
}
