//! `vestry webhook …`: the endpoints that receive an environment's events.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use vestry_domain::action::Action;
use vestry_domain::app::{App, NamedEvents};
use vestry_domain::audit::control::{ControlAction, Detail};
use vestry_domain::event::{ChangedFields, EventKind, Fact, TEST, sample};
use vestry_domain::extent::Extent;
use vestry_domain::ids::{EventId, WebhookDeliveryId, WebhookEndpointId};
use vestry_domain::timestamp::Seconds;
use vestry_domain::webhook::{
    Attempt, Delivery, DeliveryState, DisabledReason, Endpoint, EndpointUrl, EventTypes,
    MAX_ENDPOINTS, SealedSecret, SigningSecret,
};
use vestry_domain::{Invalid, Secret, Timestamp, World};
pub use vestry_ports::store::DeliveryFilter;
use vestry_ports::store::{Changed, Lane, Queue, Repositories, StoreResult, Tx};
use vestry_ports::webhooks::WebhookError;

use crate::delivery::webhooks::{opened_secrets, secret_place, webhook_request};
use crate::kernel::change::Change;
use crate::kernel::fault::retried;
use crate::kernel::precondition::Precondition;
use crate::{Fault, Principal, Refusal, Service};

pub(super) const NO_ENDPOINT: Refusal = Refusal::NotFound("webhook endpoint");
/// Maximum length of an endpoint name in characters.
const NAME_LENGTH: usize = 100;
/// Maximum overlap in minutes during which the previous secret still signs: a week.
const MAX_OVERLAP: i64 = 10_080;
/// Maximum number of deliveries on a page.
const MAX_ON_A_PAGE: i64 = 1_000;

/// Settings of a new endpoint.
#[derive(Debug, Clone)]
pub struct NewEndpoint {
    /// The URL that receives events.
    pub url: String,
    /// The display name.
    pub name: Option<String>,
    /// Event types to send: type names, `group.*` or `*`.
    pub types: Vec<String>,
    /// Whether deliveries start at once.
    pub enabled: bool,
}

/// Changes to an endpoint; a field that is `None` is left unchanged.
#[derive(Debug, Clone, Default)]
pub struct EndpointChange {
    /// The URL that receives events.
    pub url: Option<String>,
    /// The display name; `Some(None)` removes it.
    pub name: Option<Option<String>>,
    /// Event types to send: type names, `group.*` or `*`.
    pub types: Option<Vec<String>>,
}

/// An endpoint with its secrets, still encrypted.
#[derive(Debug, Clone)]
pub struct ListedEndpoint {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The secrets in use for signing, newest first.
    pub secrets: Vec<SealedSecret>,
}

/// What happens to the deliveries held while an endpoint was disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// They are sent.
    All,
    /// They are discarded.
    Nothing,
}

/// Result of a test delivery.
#[derive(Debug, Clone)]
pub struct Trial {
    /// HTTP status of the response.
    pub status: Option<u16>,
    /// The error, if there was no response.
    pub error: Option<String>,
    /// Duration of the request.
    pub duration: Duration,
    /// The beginning of the response body.
    pub response_excerpt: Option<String>,
}

/// The single event to replay.
#[derive(Debug, Clone, Copy)]
pub enum Replayed {
    /// An event by its id.
    Event(EventId),
    /// The event of an earlier delivery.
    Delivery(WebhookDeliveryId),
}

pub(super) fn checked_name(name: Option<String>) -> Result<Option<String>, Invalid> {
    let is_fit = |name: &String| {
        (1..=NAME_LENGTH).contains(&name.chars().count()) && !name.chars().any(char::is_control)
    };
    match name {
        Some(name) if !is_fit(&name) => Err(Invalid::value(
            "name",
            "name must be 1 to 100 characters long, without control characters",
        )),
        name => Ok(name),
    }
}

pub(super) fn parsed_types(names: &[String]) -> Result<EventTypes, Invalid> {
    EventTypes::parse(names.iter().map(String::as_str))
}

impl Service {
    /// Creates an endpoint. Its signing secret is returned only here.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::Duplicate`] if the environment already has an endpoint with the same URL and types.
    pub async fn add_webhook(
        &self,
        by: &Principal,
        world: World,
        new: NewEndpoint,
    ) -> Result<(ListedEndpoint, Secret<String>), Refusal> {
        by.authorize(Action::AddWebhook, world)?;
        let now = self.ports.clock.machine();
        let endpoint = Endpoint {
            id: self.new_id(now),
            world,
            url: EndpointUrl::parse(&new.url, world.environment)?,
            name: checked_name(new.name)?,
            types: parsed_types(&new.types)?,
            disabled: (!new.enabled).then_some(DisabledReason::Operator),
            failing_since: None,
            last_success_at: None,
            created_at: now,
            updated_at: now,
        };
        self.app(world.app_id).await?;
        let (secret, sealed) = self.new_secret(world, endpoint.id, now).await?;
        retried(|| self.store_webhook(by, &endpoint, &sealed)).await?;
        let listed = ListedEndpoint {
            endpoint,
            secrets: vec![sealed],
        };
        Ok((listed, secret.text()))
    }

    pub(super) async fn new_secret(
        &self,
        world: World,
        endpoint_id: WebhookEndpointId,
        now: Timestamp,
    ) -> Result<(SigningSecret, SealedSecret), Fault> {
        let mut random = [0_u8; 32];
        self.ports.entropy.fill(&mut random);
        let secret = SigningSecret::new(random);
        let id = self.new_id(now);
        let owner = format!("{id}");
        let place = secret_place(world, &owner);
        let sealed = self.ports.sealer.seal(place, secret.bytes().expose());
        let sealed = SealedSecret {
            id,
            endpoint_id,
            world,
            sealed: sealed.await?,
            last_four: secret.last_four(),
            created_at: now,
            expires_at: None,
        };
        Ok((secret, sealed))
    }

    async fn store_webhook(
        &self,
        by: &Principal,
        endpoint: &Endpoint,
        secret: &SealedSecret,
    ) -> Result<(), Refusal> {
        let world = endpoint.world;
        let (mut tx, app) = self.begin_with_app(world).await?;
        self.insert_webhook(by, &mut tx, endpoint, secret).await?;
        name_events(&mut *tx, &app).await?;
        Ok(tx.commit_last(by).await?)
    }

    /// Inserts an endpoint in an open transaction that holds the App's lock.
    pub(super) async fn insert_webhook(
        &self,
        by: &Principal,
        tx: &mut Change<'_>,
        endpoint: &Endpoint,
        secret: &SealedSecret,
    ) -> Result<(), Refusal> {
        let world = endpoint.world;
        if !tx.webhook_endpoints().insert(endpoint).await? {
            return Err(Refusal::Duplicate("webhook endpoint"));
        }
        let known = tx.webhook_endpoints().list(world.app_id).await?;
        let known = known.iter().filter(|known| known.world == world).count();
        if known > MAX_ENDPOINTS {
            let message = "an environment can have at most 20 webhook endpoints; remove one first";
            return Err(Invalid::value("url", message).into());
        }
        tx.webhook_endpoints().insert_secret(secret).await?;
        let fact = Fact::webhook_endpoint_created(endpoint.id);
        self.emit(&mut **tx, by.at(world), [fact]).await?;
        let action = ControlAction::WebhookEndpointCreate;
        tx.note(self.done(&by.at(world), action, endpoint.id, &changes(None, endpoint)));
        Ok(())
    }

    /// Begins a transaction that changes the configuration of an environment. The lock on the App serialises it with concurrent changes.
    pub(super) async fn begin_with_app(&self, world: World) -> Result<(Change<'_>, App), Refusal> {
        let mut tx = self.begin_change([world]).await?;
        let app = tx.apps().lock(world.app_id).await?;
        Ok((tx, app.ok_or(Refusal::NotFound("app"))?))
    }

    /// Lists the endpoints of an App, or of one of its environments, by environment, oldest first.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn list_webhooks(
        &self,
        by: &Principal,
        of: Extent,
    ) -> Result<Vec<ListedEndpoint>, Refusal> {
        by.authorize(Action::ReadWebhooks, of)?;
        self.app_of(of).await?;
        let app = of.app_id().ok_or(Refusal::NotFound("app"))?;
        let now = self.ports.clock.machine();
        let mut read = self.ports.store.read().await?;
        let endpoints = read.webhook_endpoints().list(app).await?;
        let mut secrets = read.webhook_endpoints().all_secrets(app, now).await?;
        drop(read);
        let wanted = endpoints.into_iter().filter(|one| of.includes(&one.world));
        Ok(wanted
            .map(|endpoint| ListedEndpoint {
                secrets: secrets
                    .extract_if(.., |secret| secret.endpoint_id == endpoint.id)
                    .collect(),
                endpoint,
            })
            .collect())
    }

    /// Returns one endpoint of an App.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn show_webhook(
        &self,
        by: &Principal,
        of: Extent,
        id: WebhookEndpointId,
    ) -> Result<ListedEndpoint, Refusal> {
        by.authorize(Action::ReadWebhooks, of)?;
        self.app_of(of).await?;
        let mut read = self.ports.store.read().await?;
        self.listed_one(&mut *read, of, id).await
    }

    /// Changes URL, name or types. Pending deliveries go to the new URL.
    ///
    /// # Errors
    /// [`Refusal`]; nothing changes then.
    pub async fn change_webhook(
        &self,
        by: &Principal,
        of: Extent,
        id: WebhookEndpointId,
        change: EndpointChange,
    ) -> Result<ListedEndpoint, Refusal> {
        self.change_expected_webhook(by, of, id, change, &|_| true)
            .await
    }

    /// Does the same if the endpoint is in the expected state.
    ///
    /// # Errors
    /// [`Refusal`]; nothing changes then.
    pub async fn change_expected_webhook(
        &self,
        by: &Principal,
        of: Extent,
        id: WebhookEndpointId,
        change: EndpointChange,
        is_expected: Precondition<'_, ListedEndpoint>,
    ) -> Result<ListedEndpoint, Refusal> {
        by.authorize(Action::UpdateWebhook, of)?;
        retried(|| self.rewrite_webhook(by, of, id, change.clone(), is_expected)).await?;
        self.show_webhook(by, of, id).await
    }

    async fn rewrite_webhook(
        &self,
        by: &Principal,
        of: Extent,
        id: WebhookEndpointId,
        change: EndpointChange,
        is_expected: Precondition<'_, ListedEndpoint>,
    ) -> Result<(), Refusal> {
        let world = self.show_webhook(by, of, id).await?.endpoint.world;
        let (mut tx, app) = self.begin_with_app(world).await?;
        let known = self.expected(&mut *tx, world, id, is_expected).await?;
        let mut wanted = known.clone();
        if let Some(url) = change.url {
            wanted.url = EndpointUrl::parse(&url, known.world.environment)?;
        }
        if let Some(name) = change.name {
            wanted.name = checked_name(name)?;
        }
        if let Some(types) = change.types {
            wanted.types = parsed_types(&types)?;
        }
        if !self.write_webhook(by, &mut tx, &known, wanted).await? {
            return Ok(());
        }
        name_events(&mut *tx, &app).await?;
        Ok(tx.commit().await?)
    }

    /// Writes the URL, name and types of an endpoint in an open transaction; `false` if none differs.
    pub(super) async fn write_webhook(
        &self,
        by: &Principal,
        tx: &mut Change<'_>,
        known: &Endpoint,
        mut wanted: Endpoint,
    ) -> Result<bool, Refusal> {
        let fields = [
            ("url", wanted.url != known.url),
            ("name", wanted.name != known.name),
            ("types", wanted.types != known.types),
        ];
        let changed = fields.into_iter().filter(|(_, differs)| *differs);
        let changed: Vec<_> = changed.map(|(name, _)| name.to_owned()).collect();
        if changed.is_empty() {
            return Ok(false);
        }
        let id = known.id;
        // Always increase it: concurrent changes are detected by comparing `updated_at`.
        let later = known.updated_at + Seconds(1);
        wanted.updated_at = self.ports.clock.machine().max(later);
        let seen = known.updated_at;
        match tx.webhook_endpoints().update(&wanted, seen).await? {
            Changed::Yes => {}
            Changed::Taken => return Err(Refusal::Duplicate("webhook endpoint")),
            Changed::Lost => return Err(Fault::LostRace.into()),
        }
        let fact = Fact::webhook_endpoint_updated(id, ChangedFields(changed));
        self.emit(&mut **tx, by.at(known.world), [fact]).await?;
        let action = ControlAction::WebhookEndpointUpdate;
        let detail = changes(Some(known), &wanted);
        tx.note(self.done(&by.at(known.world), action, id, &detail));
        Ok(true)
    }

    /// Creates a new signing secret, returned only here.
    ///
    /// The previous secret still signs for `overlap_minutes`. Any older one stops signing at once.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn rotate_webhook_secret(
        &self,
        by: &Principal,
        of: Extent,
        id: WebhookEndpointId,
        overlap_minutes: i64,
    ) -> Result<Secret<String>, Refusal> {
        by.authorize(Action::RotateWebhookSecret, of)?;
        if !(0..=MAX_OVERLAP).contains(&overlap_minutes) {
            let message = "overlap_minutes must be a whole number from 0 to 10080";
            return Err(Invalid::value("overlap_minutes", message).into());
        }
        let endpoint = self.show_webhook(by, of, id).await?.endpoint;
        let now = self.ports.clock.machine();
        let (secret, sealed) = self.new_secret(endpoint.world, id, now).await?;
        let until = now + Seconds::from_minutes(overlap_minutes);
        retried(|| self.store_secret(by, &sealed, until)).await?;
        Ok(secret.text())
    }

    async fn store_secret(
        &self,
        by: &Principal,
        secret: &SealedSecret,
        until: Timestamp,
    ) -> Result<(), Refusal> {
        let (world, endpoint) = (secret.world, secret.endpoint_id);
        let mut tx = self.begin_change([world]).await?;
        let endpoints = tx.webhook_endpoints();
        // Serialises concurrent rotations.
        if !endpoints.lock(&world, endpoint).await? {
            return Err(NO_ENDPOINT);
        }
        let now = secret.created_at;
        endpoints
            .expire_secrets(&world, endpoint, until, now)
            .await?;
        endpoints.insert_secret(secret).await?;
        let fact = Fact::webhook_endpoint_secret_rotated(endpoint);
        self.emit(&mut *tx, by.at(world), [fact]).await?;
        let detail = Detail::default().with("previous_secret_expires_at", until.unix());
        let action = ControlAction::WebhookEndpointRotateSecret;
        tx.note(self.done(&by.at(world), action, endpoint, &detail));
        Ok(tx.commit_last(by).await?)
    }

    /// Enables an endpoint and clears its failure history. An enabled endpoint is left unchanged.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn enable_webhook(
        &self,
        by: &Principal,
        of: Extent,
        id: WebhookEndpointId,
        resume: Resume,
    ) -> Result<ListedEndpoint, Refusal> {
        by.authorize(Action::SwitchWebhook, of)?;
        let endpoint = self.show_webhook(by, of, id).await?.endpoint;
        let world = endpoint.world;
        if resume == Resume::All {
            self.throttle_held(world, id).await?;
        }
        let enabled = retried(|| async {
            let now = self.ports.clock.machine();
            let (mut tx, app) = self.begin_with_app(world).await?;
            if !tx.webhook_endpoints().enable(&world, id, now).await? {
                return self.listed_one(&mut *tx, world.into(), id).await;
            }
            name_events(&mut *tx, &app).await?;
            if resume == Resume::Nothing {
                tx.deliveries().drop_waiting(&world, id, now).await?;
            }
            let fact = Fact::webhook_endpoint_enabled(id);
            self.emit(&mut *tx, by.at(world), [fact]).await?;
            let detail = Detail::default().with("discard_pending", resume == Resume::Nothing);
            let action = ControlAction::WebhookEndpointEnable;
            tx.note(self.done(&by.at(world), action, id, &detail));
            let enabled = self.listed_one(&mut *tx, world.into(), id).await?;
            tx.commit_last(by).await?;
            Ok(enabled)
        });
        let enabled = enabled.await?;
        // In an idempotent run the commit comes later. The workers look for due deliveries every second anyway.
        self.ring_for(world, id);
        Ok(enabled)
    }

    /// Disables an endpoint. Pending deliveries are held for 30 days.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn disable_webhook(
        &self,
        by: &Principal,
        of: Extent,
        id: WebhookEndpointId,
    ) -> Result<ListedEndpoint, Refusal> {
        by.authorize(Action::SwitchWebhook, of)?;
        let endpoint = self.show_webhook(by, of, id).await?.endpoint;
        let (world, reason) = (endpoint.world, DisabledReason::Operator);
        retried(|| async {
            let now = self.ports.clock.machine();
            let (mut tx, app) = self.begin_with_app(world).await?;
            let endpoints = tx.webhook_endpoints();
            if !endpoints.disable(&world, id, reason, now).await? {
                return self.listed_one(&mut *tx, world.into(), id).await;
            }
            name_events(&mut *tx, &app).await?;
            let fact = Fact::webhook_endpoint_disabled(id, reason);
            self.emit(&mut *tx, by.at(world), [fact]).await?;
            let detail = Detail::default().with("reason", reason.as_str());
            let action = ControlAction::WebhookEndpointDisable;
            tx.note(self.done(&by.at(world), action, id, &detail));
            let disabled = self.listed_one(&mut *tx, world.into(), id).await?;
            tx.commit_last(by).await?;
            Ok(disabled)
        })
        .await
    }

    /// Finds an endpoint without its secrets, for a principal who may read it.
    pub(super) async fn endpoint_of(
        &self,
        of: Extent,
        id: WebhookEndpointId,
    ) -> Result<Endpoint, Refusal> {
        let app = of.app_id().ok_or(Refusal::NotFound("app"))?;
        let mut read = self.ports.store.read().await?;
        let endpoints = read.webhook_endpoints().list(app).await?;
        drop(read);
        let is_it = |one: &Endpoint| one.id == id && of.includes(&one.world);
        match endpoints.into_iter().find(is_it) {
            Some(endpoint) => Ok(endpoint),
            None => {
                self.app_of(of).await?;
                Err(NO_ENDPOINT)
            }
        }
    }

    async fn listed_one(
        &self,
        read: &mut dyn Repositories,
        of: Extent,
        id: WebhookEndpointId,
    ) -> Result<ListedEndpoint, Refusal> {
        let app = of.app_id().ok_or(Refusal::NotFound("app"))?;
        let endpoints = read.webhook_endpoints().list(app).await?;
        let is_it = |one: &Endpoint| one.id == id && of.includes(&one.world);
        let endpoint = endpoints.into_iter().find(is_it).ok_or(NO_ENDPOINT)?;
        let now = self.ports.clock.machine();
        let secrets = read.webhook_endpoints();
        let secrets = secrets.secrets(&endpoint.world, id, now).await?;
        Ok(ListedEndpoint { endpoint, secrets })
    }

    /// Reads an endpoint under the App's lock and compares it with what the caller expects.
    async fn expected(
        &self,
        tx: &mut dyn Repositories,
        world: World,
        id: WebhookEndpointId,
        is_expected: Precondition<'_, ListedEndpoint>,
    ) -> Result<Endpoint, Refusal> {
        let listed = self.listed_one(tx, world.into(), id).await?;
        match is_expected(&listed) {
            true => Ok(listed.endpoint),
            false => Err(Refusal::PreconditionFailed),
        }
    }

    /// Removes an endpoint and discards its pending deliveries.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn remove_webhook(
        &self,
        by: &Principal,
        of: Extent,
        id: WebhookEndpointId,
    ) -> Result<(), Refusal> {
        self.remove_expected_webhook(by, of, id, &|_| true).await
    }

    /// Does the same if the endpoint is in the expected state.
    ///
    /// # Errors
    /// [`Refusal`]; nothing changes then.
    pub async fn remove_expected_webhook(
        &self,
        by: &Principal,
        of: Extent,
        id: WebhookEndpointId,
        is_expected: Precondition<'_, ListedEndpoint>,
    ) -> Result<(), Refusal> {
        by.authorize(Action::RemoveWebhook, of)?;
        let world = self.show_webhook(by, of, id).await?.endpoint.world;
        retried(|| async {
            let (mut tx, app) = self.begin_with_app(world).await?;
            self.expected(&mut *tx, world, id, is_expected).await?;
            self.delete_webhook(by, &mut tx, world, id).await?;
            name_events(&mut *tx, &app).await?;
            Ok(tx.commit().await?)
        })
        .await
    }

    /// Removes an endpoint in an open transaction, with its pending deliveries.
    pub(super) async fn delete_webhook(
        &self,
        by: &Principal,
        tx: &mut Change<'_>,
        world: World,
        id: WebhookEndpointId,
    ) -> Result<(), Refusal> {
        let now = self.ports.clock.machine();
        // Removal waits for a sequencer that holds the endpoint. After it, no new delivery can be created.
        if !tx.webhook_endpoints().remove(&world, id).await? {
            return Err(NO_ENDPOINT);
        }
        tx.deliveries().drop_waiting(&world, id, now).await?;
        let fact = Fact::webhook_endpoint_deleted(id);
        self.emit(&mut **tx, by.at(world), [fact]).await?;
        let action = ControlAction::WebhookEndpointDelete;
        tx.note(self.done(&by.at(world), action, id, &Detail::default()));
        Ok(())
    }

    /// Sends one signed sample event, without a retry. The event is not stored in the log.
    ///
    /// # Errors
    /// [`Refusal`]. A failed request is part of the result, not an error.
    pub async fn try_webhook(
        &self,
        by: &Principal,
        of: Extent,
        id: WebhookEndpointId,
        kind: Option<EventKind>,
    ) -> Result<Trial, Refusal> {
        by.authorize(Action::TestWebhook, of)?;
        let ListedEndpoint { endpoint, secrets } = self.show_webhook(by, of, id).await?;
        let sender = self.ports.webhooks.as_ref();
        let sender = sender.ok_or(Fault::NoTransport("webhooks"))?;
        let now = self.ports.clock.machine();
        let event: EventId = self.new_id(now);
        let body = sample(kind, endpoint.world, event, self.now(&endpoint.world));
        let body = body.map_err(|error| Fault::Internal(Box::new(error)))?;
        let secrets = opened_secrets(&*self.ports.sealer, &secrets);
        let secrets = secrets.await.map_err(Fault::from)?;
        let request = webhook_request(&endpoint.url, &secrets, event, now, body, []);
        let detail = Detail::default().with("type", kind.map_or(TEST, EventKind::as_str));
        let (source, action) = (by.at(endpoint.world), ControlAction::WebhookEndpointTest);
        self.record_change(self.done(&source, action, id, &detail))
            .await?;
        let begun = Instant::now();
        let answer = sender.send(request).await;
        Ok(Trial {
            duration: begun.elapsed(),
            status: answer.as_ref().ok().map(|answer| answer.status),
            error: answer.as_ref().err().map(WebhookError::to_string),
            response_excerpt: answer.ok().and_then(|answer| answer.excerpt),
        })
    }

    /// Lists the deliveries to an endpoint, newest first.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn list_deliveries(
        &self,
        by: &Principal,
        of: Extent,
        id: WebhookEndpointId,
        mut filter: DeliveryFilter,
        limit: i64,
    ) -> Result<Vec<Delivery>, Refusal> {
        by.authorize(Action::ReadWebhooks, of)?;
        if !(1..=MAX_ON_A_PAGE).contains(&limit) {
            let message = "limit must be a whole number from 1 to 1000";
            return Err(Invalid::value("limit", message).into());
        }
        let endpoint = self.endpoint_of(of, id).await?;
        // `Held` is not stored: it means waiting for a disabled endpoint.
        let is_disabled = endpoint.disabled.is_some();
        filter.state = match filter.state {
            Some(DeliveryState::Held) if is_disabled => Some(DeliveryState::Waiting),
            Some(DeliveryState::Held) => return Ok(Vec::new()),
            Some(DeliveryState::Waiting) if is_disabled => return Ok(Vec::new()),
            state => state,
        };
        let mut read = self.ports.store.read().await?;
        let found = read.deliveries().list(&endpoint.world, id, &filter, limit);
        let found = found.await?.into_iter();
        Ok(found
            .map(|delivery| as_shown(delivery, &endpoint))
            .collect())
    }

    /// Returns one delivery and its attempts.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn show_delivery(
        &self,
        by: &Principal,
        of: Extent,
        id: WebhookEndpointId,
        delivery: WebhookDeliveryId,
    ) -> Result<(Delivery, Vec<Attempt>), Refusal> {
        by.authorize(Action::ReadWebhooks, of)?;
        let endpoint = self.endpoint_of(of, id).await?;
        let world = endpoint.world;
        let mut read = self.ports.store.read().await?;
        let found = read.deliveries().find(&world, id, delivery).await?;
        let found = found.ok_or(Refusal::NotFound("delivery"))?;
        let attempts = read.deliveries().attempts(&world, delivery).await?;
        Ok((as_shown(found, &endpoint), attempts))
    }

    /// Sends an event to an endpoint again, even if its types do not select the event.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn replay_webhook(
        &self,
        by: &Principal,
        of: Extent,
        id: WebhookEndpointId,
        what: Replayed,
    ) -> Result<Delivery, Refusal> {
        by.authorize(Action::ReplayDeliveries, of)?;
        let world = self.show_webhook(by, of, id).await?.endpoint.world;
        let event = match what {
            Replayed::Event(event) => event,
            Replayed::Delivery(delivery) => {
                let (delivery, _) = self.show_delivery(by, of, id, delivery).await?;
                delivery.event_id
            }
        };
        let mut read = self.ports.store.read().await?;
        let event = read.events().find(&world, event).await?;
        let event = event.ok_or(Refusal::NotFound("event"))?;
        drop(read);
        let now = self.ports.clock.machine();
        let delivery = Delivery {
            id: self.new_id(now),
            world,
            endpoint_id: id,
            event_id: event.event.id,
            position: event.position,
            kind: event.event.kind,
            is_replay: true,
            state: DeliveryState::Waiting,
            attempts: 0,
            due_at: now,
            created_at: now,
        };
        retried(|| self.store_replay(by, &delivery)).await?;
        self.ring_for(world, id);
        Ok(delivery)
    }

    async fn store_replay(&self, by: &Principal, delivery: &Delivery) -> Result<(), Refusal> {
        let (world, id) = (delivery.world, delivery.endpoint_id);
        let mut tx = self.begin_change([world]).await?;
        // The lock conflicts with a concurrent removal, so a removed endpoint is left without deliveries.
        if !tx.webhook_endpoints().lock(&world, id).await? {
            return Err(NO_ENDPOINT);
        }
        let one = std::slice::from_ref(delivery);
        tx.deliveries().insert(one).await?;
        let detail = Detail::default()
            .with("event_id", delivery.event_id.to_string())
            .with("delivery_id", delivery.id.to_string());
        let action = ControlAction::WebhookEndpointReplay;
        tx.note(self.done(&by.at(world), action, id, &detail));
        Ok(tx.commit_last(by).await?)
    }

    fn ring_for(&self, world: World, endpoint_id: WebhookEndpointId) {
        let queue = |lane| Queue {
            world,
            endpoint_id,
            lane,
        };
        self.webhooks.ring(Lane::ALL.map(queue));
    }
}

/// Returns the changed fields for the audit entry. Only the host of the URL is recorded, because many webhook URLs carry a secret in their
/// path.
fn changes(before: Option<&Endpoint>, after: &Endpoint) -> Detail {
    let host = |endpoint: &Endpoint| endpoint.url.url().host_str().map(str::to_owned);
    let name = |endpoint: &Endpoint| endpoint.name.clone();
    let types = |endpoint: &Endpoint| endpoint.types.names().to_vec();
    let detail = Detail::default()
        .changed("host", json!(before.map(host)), json!(host(after)))
        .changed("name", json!(before.map(name)), json!(name(after)))
        .changed("types", json!(before.map(types)), json!(types(after)));
    let is_moved = before.is_some_and(|before| before.url != after.url);
    if is_moved {
        detail.with("url", "changed")
    } else {
        detail
    }
}

/// Updates the on-demand event types that the App's enabled endpoints name, so that events of these types are written.
pub(super) async fn name_events(tx: &mut dyn Tx, app: &App) -> StoreResult<()> {
    let endpoints = tx.webhook_endpoints().list(app.id).await?;
    let enabled = endpoints
        .iter()
        .filter(|endpoint| endpoint.disabled.is_none());
    let named = NamedEvents::by(enabled);
    if named == app.named_events {
        return Ok(());
    }
    tx.apps().name_events(app.id, &named).await
}

/// Shows deliveries that wait for a disabled endpoint as held.
pub(super) fn as_shown(delivery: Delivery, endpoint: &Endpoint) -> Delivery {
    match delivery.state {
        DeliveryState::Waiting if endpoint.disabled.is_some() => Delivery {
            state: DeliveryState::Held,
            ..delivery
        },
        _ => delivery,
    }
}
