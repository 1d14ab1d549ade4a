//! The App `Demo`: created on the first start, reused on later ones.

use vestry_app::{Principal, Refusal, Service};
use vestry_domain::api_key::{ApiKey, ApiKeyKind, KeyFields};
use vestry_domain::ids::AppId;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::token::TokenHash;
use vestry_domain::{Environment, World};
use vestry_ports::store::RedirectUrl;

use super::record::{Keys, Record};
use crate::failure::{Context, Failure};

const NAME: &str = "Demo";
/// The usual callback of sample front ends.
const REDIRECT_URL: &str = "http://localhost:3000/callback";

/// The App and its keys, in plaintext.
pub(super) struct Demo {
    pub(super) app_id: AppId,
    pub(super) test: Keys,
    pub(super) live: Keys,
}

/// The App with working keys: those of an earlier start if its record exists, otherwise new ones.
///
/// Only hashes of keys are stored. Keys whose record is lost cannot be shown again and are revoked.
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
    set_up(service).await.context("cannot set up the Demo App")
}

async fn still_works(service: &Service, record: &Record) -> Result<bool, Failure> {
    let stored = match service
        .list_api_keys(Principal::cli(), record.app_id.into())
        .await
    {
        Ok(keys) => keys,
        Err(Refusal::NotFound(_)) => return Ok(false),
        Err(other) => return Err(other).context("cannot read the keys of the Demo App"),
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

async fn set_up(service: &Service) -> Result<Demo, Refusal> {
    let apps = service.list_apps(Principal::cli()).await?;
    let app_id = match apps.into_iter().find(|app| app.name == NAME) {
        Some(app) => app.id,
        None => service.create_app(Principal::cli(), NAME).await?.id,
    };
    for environment in Environment::ALL {
        complete(service, World::new(app_id, environment)).await?;
    }
    for key in service
        .list_api_keys(Principal::cli(), app_id.into())
        .await?
    {
        if key.revoked_at.is_none() {
            service
                .revoke_api_key(Principal::cli(), app_id.into(), key.id)
                .await?;
        }
    }
    Ok(Demo {
        app_id,
        test: make_keys(service, World::new(app_id, Environment::Test)).await?,
        live: make_keys(service, World::new(app_id, Environment::Live)).await?,
    })
}

/// Adds the missing parts of an environment. The next start completes one that was interrupted.
async fn complete(service: &Service, world: World) -> Result<(), Refusal> {
    if service
        .list_signing_keys(Principal::cli(), world)
        .await?
        .is_empty()
    {
        service.rotate_signing_key(Principal::cli(), world).await?;
    }
    let known = service
        .list_redirect_urls(Principal::cli(), world.app_id.into())
        .await?;
    for kind in RedirectKind::ALL {
        let is_it = |url: &RedirectUrl| {
            (url.world, url.kind, url.target.as_str()) == (world, kind, REDIRECT_URL)
        };
        // An existing URL is left alone: the developer may have made another one the default.
        if !known.iter().any(is_it) {
            let added = service.add_redirect_url(Principal::cli(), world, kind, REDIRECT_URL, true);
            added.await?;
        }
    }
    Ok(())
}

async fn make_keys(service: &Service, world: World) -> Result<Keys, Refusal> {
    let secret = service.create_api_key(
        Principal::cli(),
        world,
        ApiKeyKind::Secret,
        KeyFields::default(),
    );
    let secret = secret.await?;
    let public = service.create_api_key(
        Principal::cli(),
        world,
        ApiKeyKind::Public,
        KeyFields::default(),
    );
    let public = public.await?;
    Ok(Keys {
        secret_key: secret.key.expose().clone(),
        public_token: public.key.expose().clone(),
    })
}
