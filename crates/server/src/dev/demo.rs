//! The App `Demo`: made on the first start, found again on later ones.

use vestry_app::Service;
use vestry_app::admin::AdminError;
use vestry_domain::api_key::{ApiKey, ApiKeyKind};
use vestry_domain::ids::AppId;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::token::TokenHash;
use vestry_domain::{Environment, World};
use vestry_ports::store::RedirectUrl;

use super::record::{Keys, Record};
use crate::failure::{Context, Failure};

const NAME: &str = "Demo";
/// Where the sample of most front ends listens.
const REDIRECT_URL: &str = "http://localhost:3000/callback";

/// The App and its keys, in the clear.
pub(super) struct Demo {
    pub(super) app_id: AppId,
    pub(super) test: Keys,
    pub(super) live: Keys,
}

/// The App with keys that work: those of the earlier start when its record is there, otherwise new ones.
///
/// Keys are stored hashed, so keys whose record is lost cannot be shown again; they are revoked rather than left lying
/// about.
pub(super) async fn prepare(service: &Service, earlier: Option<&Record>) -> Result<Demo, Failure> {
    if let Some(record) = earlier
        && still_works(service, record).await?
    {
        return Ok(Demo {
            app_id: record.app_id,
            test: record.test.clone(),
            live: record.live.clone(),
        });
    }
    set_up(service)
        .await
        .context("the App Demo could not be prepared")
}

async fn still_works(service: &Service, record: &Record) -> Result<bool, Failure> {
    let stored = match service.list_api_keys(record.app_id).await {
        Ok(keys) => keys,
        Err(AdminError::NotFound(_)) => return Ok(false),
        Err(other) => return Err(other).context("the keys of the App Demo cannot be read"),
    };
    let works = |text: &str, kind: ApiKeyKind, environment: Environment| {
        let hash = TokenHash::of(text);
        stored.iter().any(|key: &ApiKey| {
            key.hash == hash
                && key.kind == kind
                && key.world.environment == environment
                && key.revoked_at.is_none()
        })
    };
    let both_work = |keys: &Keys, environment: Environment| {
        works(&keys.secret_key, ApiKeyKind::Secret, environment)
            && works(&keys.public_token, ApiKeyKind::Public, environment)
    };
    Ok(both_work(&record.test, Environment::Test) && both_work(&record.live, Environment::Live))
}

async fn set_up(service: &Service) -> Result<Demo, AdminError> {
    let apps = service.list_apps().await?;
    let app_id = match apps.into_iter().find(|app| app.name == NAME) {
        Some(app) => app.id,
        None => service.create_app(NAME).await?.id,
    };
    for environment in Environment::ALL {
        complete(service, World::new(app_id, environment)).await?;
    }
    for key in service.list_api_keys(app_id).await? {
        if key.revoked_at.is_none() {
            service.revoke_api_key(app_id, key.id).await?;
        }
    }
    Ok(Demo {
        app_id,
        test: make_keys(service, World::new(app_id, Environment::Test)).await?,
        live: make_keys(service, World::new(app_id, Environment::Live)).await?,
    })
}

/// Adds what is missing in a world, so that a first start that was cut off is finished by the next.
async fn complete(service: &Service, world: World) -> Result<(), AdminError> {
    if service.list_signing_keys(world).await?.is_empty() {
        service.rotate_signing_key(world).await?;
    }
    let known = service.list_redirect_urls(world.app_id).await?;
    for kind in RedirectKind::ALL {
        let is_it = |url: &RedirectUrl| {
            (url.world, url.kind, url.target.as_str()) == (world, kind, REDIRECT_URL)
        };
        // One that is there stays as it is: the developer may have made another one the default.
        if !known.iter().any(is_it) {
            let added = service.add_redirect_url(world, kind, REDIRECT_URL, true);
            added.await?;
        }
    }
    Ok(())
}

async fn make_keys(service: &Service, world: World) -> Result<Keys, AdminError> {
    let secret = service.create_api_key(world, ApiKeyKind::Secret, Vec::new());
    let secret = secret.await?;
    let public = service.create_api_key(world, ApiKeyKind::Public, Vec::new());
    let public = public.await?;
    Ok(Keys {
        secret_key: secret.key.expose().clone(),
        public_token: public.key.expose().clone(),
    })
}
