//! `vestry config export|apply`: the configuration of an App as one document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use vestry_domain::action::Action;
use vestry_domain::app::App;
use vestry_domain::config::{
    Config, ConfigChange, Provider, RedirectUrl as UrlEntry, Section, WebhookEndpoint,
    counterparts, without_secrets,
};
use vestry_domain::ids::{AppId, OauthCallbackId};
use vestry_domain::provider::{Connection, MAX_PROVIDERS, ProviderName};
use vestry_domain::redirect::{MAX_URLS, RedirectKind, RedirectTarget};
use vestry_domain::timestamp::Seconds;
use vestry_domain::webhook::{Endpoint, EndpointUrl, EventTypes, MAX_ENDPOINTS, SealedSecret};
use vestry_domain::{Environment, Invalid, Timestamp, World};
use vestry_ports::store::{RedirectUrl, Repositories, StoredConnection};

use super::apps::{AppChange, SettingsChange, authorize_weakening, json};
use super::providers::is_sent_alike;
use super::redirect_urls::registered_target;
use super::webhooks::{checked_name, name_events, parsed_types};
use crate::kernel::change::{Change, worlds_of};
use crate::kernel::fault::retried;
use crate::kernel::precondition::Precondition;
use crate::kernel::provider_connection::secret_place;
use crate::{Fault, Principal, Refusal, Service};

/// The stored configuration of an App.
struct Stored {
    app: App,
    urls: Vec<RedirectUrl>,
    connections: Vec<StoredConnection>,
    endpoints: Vec<Endpoint>,
}

/// A checked section of a document.
struct WantedSection {
    world: World,
    urls: Vec<(RedirectKind, RedirectTarget, bool)>,
    connections: BTreeMap<ProviderName, Provider>,
    endpoints: Vec<(EndpointUrl, Option<String>, EventTypes)>,
}

/// A checked document.
struct Wanted {
    settings: Option<Map<String, Value>>,
    sections: Vec<WantedSection>,
}

/// New objects, whose secrets are encrypted before the transaction begins.
#[derive(Default)]
struct Prepared {
    connections: Vec<StoredConnection>,
    endpoints: Vec<(Endpoint, SealedSecret)>,
}

/// What applying a document does.
#[derive(Debug, Clone)]
pub struct ConfigPlan {
    /// The configuration before it, as far as the principal may change it.
    pub before: Config,
    /// The configuration after it.
    pub after: Config,
    /// The changes that lead to the document.
    pub changes: Vec<ConfigChange>,
}

impl Service {
    /// Returns the configuration of an App, as far as the principal may change it: the settings belong to both environments.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn show_config(&self, by: &Principal, app: AppId) -> Result<Config, Refusal> {
        by.authorize_in_app(Action::ReadConfig, app)?;
        let mut read = self.ports.store.read().await?;
        let found = customers(read.apps().find(app).await?)?;
        stored(&mut *read, found).await?.document(by)
    }

    /// Returns what [`Service::apply_config`] would change.
    ///
    /// # Errors
    /// Those of [`Service::apply_config`].
    pub async fn plan_config(
        &self,
        by: &Principal,
        app: AppId,
        document: &Config,
        is_expected: Precondition<'_, Config>,
    ) -> Result<ConfigPlan, Refusal> {
        let wanted = permitted(by, app, document)?;
        let mut read = self.ports.store.read().await?;
        let found = customers(read.apps().find(app).await?)?;
        let stored = stored(&mut *read, found).await?;
        stored.plan(by, &wanted, self.machine_time(), is_expected)
    }

    /// Changes the configuration of an App to that of a document, in one transaction, if it is in the expected state.
    ///
    /// A part that the document lacks is left as it is. In a part that it has, everything that is not listed is removed or gets its default
    /// value. New webhook endpoints get a secret, which only rotation shows. New providers have none.
    ///
    /// # Errors
    /// [`Refusal`], naming the path in the document; nothing changes then.
    pub async fn apply_config(
        &self,
        by: &Principal,
        app: AppId,
        document: &Config,
        is_expected: Precondition<'_, Config>,
    ) -> Result<ConfigPlan, Refusal> {
        let wanted = permitted(by, app, document)?;
        retried(|| self.change_config(by, app, &wanted, is_expected)).await
    }

    async fn change_config(
        &self,
        by: &Principal,
        app: AppId,
        wanted: &Wanted,
        is_expected: Precondition<'_, Config>,
    ) -> Result<ConfigPlan, Refusal> {
        let mut read = self.ports.store.read().await?;
        let found = customers(read.apps().find(app).await?)?;
        let known = stored(&mut *read, found).await?;
        drop(read);
        // Reject invalid changes before encrypting anything and before taking the lock.
        known.plan(by, wanted, self.machine_time(), is_expected)?;
        let prepared = self.prepared(&known, wanted).await?;
        let mut tx = self.begin_change(worlds_of(app)).await?;
        let found = customers(tx.apps().lock(app).await?)?;
        let known = stored(&mut *tx, found).await?;
        let now = self.machine_time();
        let plan = known.plan(by, wanted, now, is_expected)?;
        if plan.changes.is_empty() {
            return Ok(plan);
        }
        if let Some(settings) = &wanted.settings {
            let app = known.with_settings(settings, now)?;
            self.write_app(by, &mut tx, &known.app, &app).await?;
        }
        for section in &wanted.sections {
            self.write_urls(by, &mut tx, &known, section).await?;
            self.write_connections(by, &mut tx, &known, section, &prepared)
                .await?;
            self.write_endpoints(by, &mut tx, &known, section, &prepared)
                .await?;
        }
        name_events(&mut *tx, &known.app).await?;
        tx.commit().await?;
        Ok(plan)
    }

    /// Creates the objects that the document adds. A provider has an empty secret until its own is set.
    async fn prepared(&self, known: &Stored, wanted: &Wanted) -> Result<Prepared, Fault> {
        let now = self.machine_time();
        let mut prepared = Prepared::default();
        for section in &wanted.sections {
            for (name, provider) in &section.connections {
                if known.connection(section.world, name).is_some() {
                    continue;
                }
                let mut connection = connection(section.world, name, provider);
                connection.callback_id = self.new_id(now);
                (connection.created_at, connection.updated_at) = (now, now);
                let owner = connection.callback_id.to_string();
                let sealed = self
                    .ports
                    .sealer
                    .seal(secret_place(section.world, &owner), b"");
                let secret = sealed.await?;
                prepared.connections.push(StoredConnection {
                    connection,
                    secret,
                    hint: None,
                });
            }
            for (before, after) in counterparts(&known.hooks(section.world), &section.hooks()) {
                let added = after.filter(|_| before.is_none());
                let Some((url, name, types)) = added.and_then(|index| section.endpoints.get(index))
                else {
                    continue;
                };
                let endpoint = Endpoint {
                    id: self.new_id(now),
                    world: section.world,
                    url: url.clone(),
                    name: name.clone(),
                    types: types.clone(),
                    disabled: None,
                    failing_since: None,
                    last_success_at: None,
                    created_at: now,
                    updated_at: now,
                };
                let (_, sealed) = self.new_secret(section.world, endpoint.id, now).await?;
                prepared.endpoints.push((endpoint, sealed));
            }
        }
        Ok(prepared)
    }

    async fn write_urls(
        &self,
        by: &Principal,
        tx: &mut Change<'_>,
        known: &Stored,
        section: &WantedSection,
    ) -> Result<(), Refusal> {
        let now = self.machine_time();
        let is_same =
            |known: &RedirectUrl, (kind, target, _): &(RedirectKind, RedirectTarget, bool)| {
                (known.kind, &known.target) == (*kind, target)
            };
        let mut new_defaults = Vec::new();
        for url in known.urls.iter().filter(|url| url.world == section.world) {
            match section.urls.iter().find(|wanted| is_same(url, wanted)) {
                None => self.delete_redirect_url(by, tx, url).await?,
                Some((_, _, is_default)) if *is_default == url.is_default => {}
                Some((_, _, is_default)) => {
                    let url = RedirectUrl {
                        is_default: *is_default,
                        ..url.clone()
                    };
                    // The former default of a kind gives way before the new one.
                    match is_default {
                        true => new_defaults.push(url),
                        false => self.rewrite_redirect_url(by, tx, &url).await?,
                    }
                }
            }
        }
        for url in &new_defaults {
            self.rewrite_redirect_url(by, tx, url).await?;
        }
        for wanted in &section.urls {
            let mut urls = known.urls.iter().filter(|url| url.world == section.world);
            if urls.any(|url| is_same(url, wanted)) {
                continue;
            }
            let (kind, target, is_default) = wanted.clone();
            let url = RedirectUrl {
                id: self.new_id(now),
                world: section.world,
                kind,
                target,
                is_default,
                created_at: now,
            };
            if !self.insert_redirect_url(by, tx, &url).await? {
                return Err(Fault::LostRace.into());
            }
        }
        Ok(())
    }

    async fn write_connections(
        &self,
        by: &Principal,
        tx: &mut Change<'_>,
        known: &Stored,
        section: &WantedSection,
        prepared: &Prepared,
    ) -> Result<(), Refusal> {
        let world = section.world;
        for StoredConnection { connection, .. } in known.connections_of(world) {
            if !section.connections.contains_key(&connection.name) {
                self.delete_provider(by, tx, world, &connection.name)
                    .await?;
            }
        }
        for (name, provider) in &section.connections {
            let Some(before) = known.connection(world, name) else {
                let mut added = prepared.connections.iter();
                let is_it = |new: &&StoredConnection| {
                    new.connection.world == world && new.connection.name == *name
                };
                // Absent if it was removed since the document was compared.
                let new = added.find(is_it).ok_or(Fault::LostRace)?;
                self.write_provider(by, tx, None, new, false).await?;
                continue;
            };
            let known = &before.connection;
            if (&known.client_id, &known.settings) == (&provider.client_id, &provider.settings) {
                continue;
            }
            let connection = Connection {
                client_id: provider.client_id.clone(),
                settings: provider.settings.clone(),
                updated_at: self.machine_time().max(known.updated_at + Seconds(1)),
                ..known.clone()
            };
            let stored = StoredConnection {
                connection,
                secret: before.secret.clone(),
                hint: before.hint.clone(),
            };
            self.write_provider(by, tx, Some(known), &stored, false)
                .await?;
        }
        Ok(())
    }

    async fn write_endpoints(
        &self,
        by: &Principal,
        tx: &mut Change<'_>,
        known: &Stored,
        section: &WantedSection,
        prepared: &Prepared,
    ) -> Result<(), Refusal> {
        let world = section.world;
        let endpoints = known.endpoints_of(world);
        let pairs = counterparts(&known.hooks(world), &section.hooks());
        let before = pairs.iter().filter_map(|(before, _)| *before);
        let mut ids: Vec<_> = before
            .filter_map(|index| endpoints.get(index))
            .map(|endpoint| endpoint.id)
            .collect();
        ids.sort_unstable();
        // In the order in which the sequencer holds them.
        for id in ids {
            tx.webhook_endpoints().lock(&world, id).await?;
        }
        for (before, after) in pairs {
            let before = before.and_then(|index| endpoints.get(index));
            let after = after.and_then(|index| section.endpoints.get(index));
            match (before, after) {
                (Some(removed), None) => self.delete_webhook(by, tx, world, removed.id).await?,
                (Some(before), Some((_, name, types))) => {
                    let wanted = Endpoint {
                        name: name.clone(),
                        types: types.clone(),
                        ..(*before).clone()
                    };
                    self.write_webhook(by, tx, before, wanted).await?;
                }
                (None, Some((url, name, types))) => {
                    let mut added = prepared.endpoints.iter();
                    let new = added.find(|(new, _)| {
                        new.world == world
                            && (&new.url, &new.name, &new.types) == (url, name, types)
                    });
                    let (endpoint, secret) = new.ok_or(Fault::LostRace)?;
                    self.insert_webhook(by, tx, endpoint, secret).await?;
                }
                (None, None) => {}
            }
        }
        Ok(())
    }
}

/// Refuses an App that does not exist, and the built-in one.
fn customers(found: Option<App>) -> Result<App, Refusal> {
    let found = found.filter(|app| app.id != AppId::BUILT_IN);
    found.ok_or(Refusal::NotFound("app"))
}

/// Checks the principal's rights to each part of a document, then the document.
fn permitted(by: &Principal, app: AppId, document: &Config) -> Result<Wanted, Refusal> {
    by.authorize_in_app(Action::ApplyConfig, app)?;
    if document.settings.is_some() {
        by.authorize(Action::ApplyConfig, app)?;
    }
    let mut sections = Vec::new();
    for world in worlds_of(app) {
        if let Some(section) = document.section(world.environment) {
            by.authorize(Action::ApplyConfig, world)?;
            sections.push((world, section));
        }
    }
    let sections = sections.into_iter().map(|(world, section)| {
        let checked = checked(world, section);
        checked.map_err(|invalid| invalid.within(world.environment.as_str()))
    });
    Ok(Wanted {
        settings: document.settings.clone(),
        sections: sections.collect::<Result<_, _>>()?,
    })
}

fn checked(world: World, section: &Section) -> Result<WantedSection, Invalid> {
    let lengths = [
        ("redirect_urls", section.redirect_urls.len(), MAX_URLS),
        ("providers", section.providers.len(), MAX_PROVIDERS),
        (
            "webhook_endpoints",
            section.webhook_endpoints.len(),
            MAX_ENDPOINTS,
        ),
    ];
    for (list, length, most) in lengths {
        if length > most {
            let message = format!("{list} can have at most {most} entries in an environment");
            return Err(Invalid::value(list, message));
        }
    }
    let item = |list: &str, index: usize| format!("{list}[{index}]");
    let mut urls = Vec::new();
    let (mut seen, mut defaults) = (BTreeSet::new(), BTreeSet::new());
    for (index, url) in section.redirect_urls.iter().enumerate() {
        let place = item("redirect_urls", index);
        let within = |invalid: Invalid| invalid.within(&place);
        let kind: RedirectKind = url.kind.parse().map_err(within)?;
        let target = registered_target(&url.url, url.default).map_err(within)?;
        if !seen.insert((kind.as_str(), url.url.as_str())) {
            let message = "this URL is listed twice for its kind";
            return Err(within(Invalid::value("url", message)));
        }
        if url.default && !defaults.insert(kind.as_str()) {
            let message = "a kind can have one default";
            return Err(within(Invalid::value("default", message)));
        }
        urls.push((kind, target, url.default));
    }
    let mut connections = BTreeMap::new();
    for (name, provider) in &section.providers {
        let within = |invalid: Invalid| invalid.within(name).within("providers");
        let name = ProviderName::parse(name).map_err(within)?;
        connection(world, &name, provider).check().map_err(within)?;
        connections.insert(name, provider.clone());
    }
    let (mut endpoints, mut seen) = (Vec::new(), Vec::new());
    for (index, endpoint) in section.webhook_endpoints.iter().enumerate() {
        let place = item("webhook_endpoints", index);
        let within = |invalid: Invalid| invalid.within(&place);
        let url = EndpointUrl::parse(&endpoint.url, world.environment).map_err(within)?;
        let name = checked_name(endpoint.name.clone()).map_err(within)?;
        let types = parsed_types(&endpoint.types).map_err(within)?;
        let named = (url.as_str().to_owned(), types.names().to_vec());
        if seen.contains(&named) {
            let message = "an endpoint with this URL and these types is listed twice";
            return Err(within(Invalid::value("url", message)));
        }
        seen.push(named);
        endpoints.push((url, name, types));
    }
    // In the order of the plan, so that the same endpoints are kept as it says.
    endpoints.sort_by_cached_key(|(url, name, types)| entry_of(url, name.as_ref(), types));
    Ok(WantedSection {
        world,
        urls,
        connections,
        endpoints,
    })
}

/// A connection as a document describes it.
fn connection(world: World, name: &ProviderName, provider: &Provider) -> Connection {
    Connection {
        callback_id: OauthCallbackId::of_test_provider(world.app_id),
        world,
        name: name.clone(),
        client_id: provider.client_id.clone(),
        settings: provider.settings.clone(),
        created_at: Timestamp::default(),
        updated_at: Timestamp::default(),
    }
}

async fn stored(read: &mut dyn Repositories, app: App) -> Result<Stored, Refusal> {
    let mut endpoints = read.webhook_endpoints().list(app.id).await?;
    let key =
        |endpoint: &Endpoint| entry_of(&endpoint.url, endpoint.name.as_ref(), &endpoint.types);
    endpoints.sort_by_cached_key(|endpoint| (key(endpoint), endpoint.id));
    Ok(Stored {
        urls: read.redirect_urls().list(app.id).await?,
        connections: read.provider_connections().list(app.id).await?,
        endpoints,
        app,
    })
}

fn entry_of(url: &EndpointUrl, name: Option<&String>, types: &EventTypes) -> WebhookEndpoint {
    WebhookEndpoint {
        url: url.as_str().to_owned(),
        types: types.names().to_vec(),
        name: name.cloned(),
    }
}

impl WantedSection {
    fn hooks(&self) -> Vec<WebhookEndpoint> {
        let endpoints = self.endpoints.iter();
        let hooks = endpoints.map(|(url, name, types)| entry_of(url, name.as_ref(), types));
        hooks.collect()
    }

    /// The section as it is exported: in a fixed order.
    fn document(&self) -> Section {
        let urls = self.urls.iter().map(|(kind, target, default)| UrlEntry {
            kind: kind.as_str().to_owned(),
            url: target.as_str().to_owned(),
            default: *default,
        });
        let connections = self.connections.iter();
        let connections = connections.map(|(name, provider)| (name.to_string(), provider.clone()));
        sorted(urls.collect(), connections.collect(), self.hooks())
    }
}

fn sorted(
    mut redirect_urls: Vec<UrlEntry>,
    providers: BTreeMap<String, Provider>,
    mut webhook_endpoints: Vec<WebhookEndpoint>,
) -> Section {
    redirect_urls.sort();
    webhook_endpoints.sort();
    Section {
        redirect_urls,
        providers,
        webhook_endpoints,
    }
}

impl Stored {
    fn endpoints_of(&self, world: World) -> Vec<&Endpoint> {
        let endpoints = self.endpoints.iter();
        endpoints
            .filter(|endpoint| endpoint.world == world)
            .collect()
    }

    fn hooks(&self, world: World) -> Vec<WebhookEndpoint> {
        let endpoints = self.endpoints_of(world).into_iter();
        let hooks = endpoints
            .map(|endpoint| entry_of(&endpoint.url, endpoint.name.as_ref(), &endpoint.types));
        hooks.collect()
    }

    fn connections_of(&self, world: World) -> impl Iterator<Item = &StoredConnection> {
        let connections = self.connections.iter();
        connections.filter(move |stored| stored.connection.world == world)
    }

    fn connection(&self, world: World, name: &ProviderName) -> Option<&StoredConnection> {
        self.connections_of(world)
            .find(|stored| stored.connection.name == *name)
    }

    fn section(&self, world: World) -> Section {
        let urls = self.urls.iter().filter(|url| url.world == world);
        let urls = urls.map(|url| UrlEntry {
            kind: url.kind.as_str().to_owned(),
            url: url.target.as_str().to_owned(),
            default: url.is_default,
        });
        let connections = self.connections_of(world).map(|stored| {
            let Connection {
                name,
                client_id,
                settings,
                ..
            } = &stored.connection;
            let provider = Provider {
                client_id: client_id.clone(),
                settings: settings.clone(),
            };
            (name.to_string(), provider)
        });
        sorted(urls.collect(), connections.collect(), self.hooks(world))
    }

    /// The document, without what the principal may not change.
    fn document(&self, by: &Principal) -> Result<Config, Refusal> {
        let mut config = Config::default();
        if by.covers(self.app.id) {
            config.settings = Some(settings_of(&self.app)?);
        }
        for environment in Environment::ALL {
            let world = World::new(self.app.id, environment);
            if by.covers(world) {
                *config.section_mut(environment) = Some(self.section(world));
            }
        }
        Ok(config)
    }

    /// The App with the settings of a document.
    fn with_settings(&self, settings: &Map<String, Value>, now: Timestamp) -> Result<App, Refusal> {
        let change = AppChange {
            settings: Some(SettingsChange::All(settings.clone())),
            ..AppChange::default()
        };
        let app = change
            .applied(&self.app, now)
            .map_err(|refused| match refused {
                Refusal::Invalid(invalid) => without_secrets(invalid.within("settings")).into(),
                refused => refused,
            })?;
        Ok(App {
            updated_at: now,
            ..app
        })
    }

    /// Compares the document with the stored configuration.
    fn plan(
        &self,
        by: &Principal,
        wanted: &Wanted,
        now: Timestamp,
        is_expected: Precondition<'_, Config>,
    ) -> Result<ConfigPlan, Refusal> {
        let before = self.document(by)?;
        let mut after = before.clone();
        if let Some(settings) = &wanted.settings {
            let app = self.with_settings(settings, now)?;
            authorize_weakening(by, &self.app, &app)?;
            after.settings = Some(settings_of(&app)?);
        }
        if !is_expected(&before) {
            return Err(Refusal::PreconditionFailed);
        }
        for section in &wanted.sections {
            self.check_secrets(section)?;
            *after.section_mut(section.world.environment) = Some(section.document());
        }
        Ok(ConfigPlan {
            changes: before.changes_to(&after),
            before,
            after,
        })
    }

    /// Refuses a change that would send the stored secret of a provider elsewhere.
    fn check_secrets(&self, section: &WantedSection) -> Result<(), Invalid> {
        for (name, provider) in &section.connections {
            let known = self.connection(section.world, name);
            let wanted = connection(section.world, name, provider);
            // Without a secret there is nothing to protect.
            let known = known.filter(|known| known.hint.is_some());
            if known.is_some_and(|known| !is_sent_alike(&known.connection, &wanted)) {
                let message =
                    "this change needs the client secret; set the provider with its own call first";
                let environment = section.world.environment;
                let path = format!("{environment}.providers.{name}");
                return Err(Invalid::value(path, message));
            }
        }
        Ok(())
    }
}

fn settings_of(app: &App) -> Result<Map<String, Value>, Fault> {
    match json(&app.settings)? {
        Value::Object(settings) => Ok(settings),
        _ => Err(Fault::Internal("settings are not an object".into())),
    }
}
