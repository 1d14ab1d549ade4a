//! Times store operations that no API call shows in isolation, with the statements of the service on its own store.
//!
//! They are a claim of webhooks with many pending deliveries, and the audit entries of a change of settings.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use vestry_contract::samples::Samples;
use vestry_domain::audit::control::{
    ControlAction, ControlEntry, ControlEvent, ControlHead, Detail, Outcome, Subject, SubjectKind,
};
use vestry_domain::event::Actor;
use vestry_domain::ids::{AppId, WebhookEndpointId};
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::store::{Lane, Queue, Store, Tx};
use vestry_store_sql::{Settings, SqlStore};

use crate::Failure;
use crate::stopwatch::print;

/// The size of a claim: the widest window that an endpoint can have.
const WINDOW: i64 = 32;
/// How long the service leaves a claimed delivery alone.
const LEASE: Seconds = Seconds(60);

/// The store to measure, and how often.
pub(crate) struct Workers<'a> {
    /// The URL of the database.
    pub(crate) database: &'a str,
    /// The App whose settings are changed.
    pub(crate) app: AppId,
    /// The endpoint of its test world for which deliveries wait.
    pub(crate) endpoint: WebhookEndpointId,
    /// The number of repetitions.
    pub(crate) calls: usize,
}

impl Workers<'_> {
    /// Runs the measurements and prints a line for each.
    pub(crate) async fn run(&self) -> Result<(), Failure> {
        let store = SqlStore::connect(&Settings::new(self.database.parse()?)).await?;
        self.claim(&store).await?;
        self.change_settings(&store).await
    }

    async fn claim(&self, store: &dyn Store) -> Result<(), Failure> {
        let queue = Queue {
            world: World::new(self.app, Environment::Test),
            endpoint_id: self.endpoint,
            lane: Lane::First,
        };
        let mut times = Vec::with_capacity(self.calls);
        let started = Instant::now();
        for _ in 0..self.calls {
            let begun = Instant::now();
            let now = machine_time()?;
            let mut tx = store.begin().await?;
            let (world, endpoint) = (&queue.world, queue.endpoint_id);
            tx.webhook_endpoints().find(world, endpoint).await?;
            let lease_until = now + LEASE;
            let taken = tx.deliveries().claim(&queue, now, lease_until, WINDOW);
            let taken = taken.await?;
            if taken.is_empty() {
                return Err("the endpoint has no pending deliveries left".into());
            }
            tx.webhook_endpoints().secrets(world, endpoint, now).await?;
            tx.apps().find(self.app).await?;
            let ids: Vec<_> = taken.iter().map(|delivery| delivery.event_id).collect();
            tx.events().find_all(world, &ids).await?;
            tx.commit().await?;
            times.push(begun.elapsed());
        }
        print("claim of webhooks", started.elapsed(), times)
    }

    /// Alternates between both, so that they meet the same disk conditions.
    async fn change_settings(&self, store: &dyn Store) -> Result<(), Failure> {
        let mut samples = Samples::from_seed(1);
        let mut times = BTreeMap::<_, Vec<Duration>>::new();
        for _ in 0..self.calls {
            for (name, is_recorded) in [("with its entries", true), ("without", false)] {
                let begun = Instant::now();
                let mut tx = store.begin().await?;
                let mut app = tx.apps().lock(self.app).await?.ok_or("unknown App")?;
                app.updated_at = machine_time()?;
                tx.apps().update(&app).await?;
                if is_recorded {
                    for environment in Environment::ALL {
                        let world = World::new(self.app, environment);
                        record(&mut *tx, world, &mut samples).await?;
                    }
                }
                tx.commit().await?;
                times.entry(name).or_default().push(begun.elapsed());
            }
        }
        for (name, times) in times {
            let whole = times.iter().sum();
            print(&format!("settings changed {name}"), whole, times)?;
        }
        Ok(())
    }
}

/// Appends an entry to the chain of a world, with hashes under no key.
async fn record(tx: &mut dyn Tx, world: World, samples: &mut Samples) -> Result<(), Failure> {
    let log = tx.control_log();
    let end = log
        .lock_head(&world)
        .await?
        .ok_or("the world has no chain")?;
    log.mark_at(&world, end.chain, end.sequence).await?;
    let event = ControlEvent {
        world,
        actor: Actor::Cli,
        action: ControlAction::AppUpdate,
        subject: Subject {
            kind: SubjectKind::App,
            id: world.app_id.to_string(),
        },
        detail: Detail::default().text(),
        outcome: Outcome::Done,
        request_id: None,
        at: machine_time()?,
    };
    let id = samples.id(event.at);
    let sequence = end.sequence + 1;
    let hash = ControlEntry::digest(id, end.chain, sequence, &event, &end.hash);
    let entry = ControlEntry {
        id,
        chain: end.chain,
        sequence,
        event,
        previous: end.hash,
        hash,
        mac: samples.mac(),
    };
    let head = ControlHead {
        sequence,
        hash,
        mac: samples.mac(),
        ..end.clone()
    };
    match log.append(Some(&end), &[entry], &head).await? {
        true => Ok(()),
        false => Err("another process moved the head of the chain".into()),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the claiming process supplies the time, and here that is this program"
)]
fn machine_time() -> Result<Timestamp, Failure> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(Timestamp::from_unix(i64::try_from(since.as_secs())?))
}
