//! Mails to the operators of an App about its webhook endpoints (WH-11).

use std::sync::Arc;

use vestry_domain::ids::WebhookEndpointId;
use vestry_domain::limits::Limit;
use vestry_domain::message::{NOTICE_LIFETIME, OutboxJob};
use vestry_domain::operator::Right;
use vestry_domain::timestamp::Seconds;
use vestry_domain::webhook::{Trouble, endpoint_notice};
use vestry_domain::{Environment, Secret, Timestamp, World};
use vestry_ports::clock::Clock;
use vestry_ports::custody::Sealer;
use vestry_ports::entropy::Entropy;
use vestry_ports::store::{Repositories, Store, StoreResult};

use crate::Fault;
use crate::kernel::fault::causes;
use crate::kernel::letter::{self, Delivery};
use crate::kernel::mint;
use crate::kernel::ports::Ports;

/// The counter of mails, by endpoint.
const MAILS: &str = "webhook_notice";
/// Mails about one endpoint.
const ONE_A_DAY: Limit = Limit {
    most: 1,
    window: Seconds(86_400),
};

/// An endpoint that operators are told about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Troubled {
    pub(crate) world: World,
    pub(crate) endpoint: WebhookEndpointId,
    pub(crate) trouble: Trouble,
}

impl Troubled {
    /// The world of the mail. Messages of a test environment are captured, but operators are to read this one. It is of the same App, because
    /// a transaction names one.
    const fn world_of_mail(&self) -> World {
        World::new(self.world.app_id, Environment::Live)
    }

    /// Counts a mail about the endpoint, unless there was one in the last day.
    pub(crate) async fn is_due(
        &self,
        tx: &mut dyn Repositories,
        machine: Timestamp,
    ) -> StoreResult<bool> {
        let (world, endpoint) = (self.world_of_mail(), self.endpoint.to_string());
        let quotas = tx.quotas();
        let verdict = quotas.consume(&world, MAILS, &endpoint, ONE_A_DAY, machine);
        Ok(verdict.await?.admitted)
    }
}

/// The writer of these mails.
pub(crate) struct EndpointNotices {
    store: Arc<dyn Store>,
    sealer: Arc<dyn Sealer>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    /// Whether mail can be sent.
    pub(crate) is_possible: bool,
}

impl EndpointNotices {
    pub(crate) fn new(ports: &Ports) -> Self {
        Self {
            store: Arc::clone(&ports.store),
            sealer: Arc::clone(&ports.sealer),
            clock: Arc::clone(&ports.clock),
            entropy: Arc::clone(&ports.entropy),
            is_possible: ports.mailer.is_some(),
        }
    }

    /// Writes the mails, before the transaction that enqueues them. If that is impossible there are none, because the state of an endpoint
    /// does not wait for mail.
    pub(crate) async fn letters(&self, troubled: &Troubled) -> Vec<OutboxJob> {
        match self.try_letters(troubled).await {
            Ok(letters) => letters,
            Err(fault) => {
                let error = causes(&fault);
                let endpoint = troubled.endpoint;
                tracing::error!(error, %endpoint, "operators not told about a failing webhook endpoint");
                Vec::new()
            }
        }
    }

    async fn try_letters(&self, troubled: &Troubled) -> Result<Vec<OutboxJob>, Fault> {
        let Troubled {
            world,
            endpoint,
            trouble,
        } = troubled;
        let mut read = self.store.read().await?;
        let app = read.apps().find(world.app_id).await?;
        let endpoint = read.webhook_endpoints().find(world, *endpoint).await?;
        let (Some(app), Some(endpoint)) = (app, endpoint) else {
            return Ok(Vec::new());
        };
        let mut letters = Vec::new();
        for to in recipients(&mut *read, world).await? {
            let now = self.clock.machine();
            let notice = Secret::new(endpoint_notice(&to, &app.name, &endpoint, *trouble));
            let delivery = Delivery::within(NOTICE_LIFETIME);
            let (world, id) = (troubled.world_of_mail(), mint::id(&*self.entropy, now));
            let letter = letter::sealed(&*self.sealer, &world, id, now, &notice, delivery);
            letters.push(letter.await?);
        }
        Ok(letters)
    }
}

/// The addresses of the operators who configure an App and may sign in.
async fn recipients(read: &mut dyn Repositories, world: &World) -> StoreResult<Vec<String>> {
    let mut addresses = Vec::new();
    for operator in read.operators().list().await? {
        let grants = &operator.grants;
        if grants
            .permit_in_app(Right::Configure, world.app_id)
            .is_err()
        {
            continue;
        }
        let users = read.users();
        let profile = users.profile(&World::DEPLOYMENT, operator.user_id).await?;
        let profile = profile.filter(|profile| profile.user.disabled.is_none());
        let emails = profile.into_iter().flat_map(|profile| profile.emails);
        let address = emails.map(|email| email.email.address().to_owned()).next();
        addresses.extend(address);
    }
    Ok(addresses)
}
