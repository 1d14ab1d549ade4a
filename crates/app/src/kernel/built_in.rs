//! The built-in App, whose users are the operators of the deployment.
//!
//! It has fixed settings, whatever its row says, no API keys, and no address under `/v1`. It has one environment, [`World::DEPLOYMENT`].

use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::app::{App, AppSettings, NamedEvents};
use vestry_domain::event::{Actor, EventKind, Fact, FailReason, Method};
use vestry_domain::ids::{AppId, SessionId, UserId};
use vestry_domain::operator::STEP_UP_LIFETIME;
use vestry_domain::passkey::UserVerification;
use vestry_domain::session::Proof;
use vestry_domain::test_clock::TestClock;
use vestry_ports::store::{Repositories, StoreResult};

use crate::kernel::change::worlds_of;
use crate::{Caller, Fault, Principal, Service, Settings};

/// Its name in mails and authenticator apps.
const NAME: &str = "Vestry";
/// Minutes without a request after which an operator's session ends.
const IDLE_MINUTES: i64 = 30;
/// Maximum lifetime of an operator's session, in minutes.
pub(crate) const ABSOLUTE_MINUTES: i64 = 12 * 60;

/// Returns the built-in App.
pub(crate) fn app(settings: &Settings) -> App {
    let created_at = AppId::BUILT_IN.timestamp();
    let console = settings.console.as_ref();
    App {
        id: AppId::BUILT_IN,
        name: NAME.to_owned(),
        settings: AppSettings {
            session_idle_minutes: IDLE_MINUTES,
            session_absolute_minutes: ABSOLUTE_MINUTES,
            freshness_minutes: STEP_UP_LIFETIME.0 / 60,
            enumeration_safe: true,
            end_sessions_on_change: true,
            events_optional: vec![EventKind::SignInFailed.as_str().to_owned()],
            webauthn_domains: console.map(|it| it.host.clone()).into_iter().collect(),
            webauthn_origins: console.map(|it| it.origin.clone()).into_iter().collect(),
            webauthn_user_verification: UserVerification::Required,
            ..AppSettings::default()
        },
        test_clock: TestClock::default(),
        named_events: NamedEvents::default(),
        disabled_at: None,
        created_at,
        updated_at: created_at,
    }
}

/// A failed sign-in: of an operator, or of a user of any other App.
pub(crate) fn sign_in_failed(
    world: &World,
    user: UserId,
    method: Method,
    reason: FailReason,
    count: Option<u64>,
) -> Fact {
    let user = Some(user);
    match *world == World::DEPLOYMENT {
        true => Fact::operator_sign_in_failed(user, method, reason, count),
        false => Fact::sign_in_failed(user, method, reason, count),
    }
}

impl Service {
    /// Returns a principal as the caller in the built-in App.
    pub(crate) fn built_in_caller(&self, principal: Principal) -> Caller {
        Caller {
            world: World::DEPLOYMENT,
            app: Arc::new(app(&self.settings)),
            principal,
        }
    }

    /// Emits that an operator signed in. Any other user has only `session.created`, and so has an operator who used a link.
    pub(crate) async fn emit_sign_in_of_operator(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        user: UserId,
        session: SessionId,
        proof: Proof,
    ) -> StoreResult<()> {
        if caller.world != World::DEPLOYMENT || matches!(proof, Proof::EmailLink { .. }) {
            return Ok(());
        }
        let mut source = caller.principal.at(caller.world);
        source.actor = Actor::Operator(user);
        let fact = Fact::operator_signed_in(user, session, proof);
        self.emit(tx, source, [fact]).await
    }

    /// Returns all Apps: those of customers, and the built-in one.
    pub(crate) async fn every_app(&self) -> Result<Vec<App>, Fault> {
        let mut apps = self.ports.store.read().await?.apps().list().await?;
        apps.push(app(&self.settings));
        Ok(apps)
    }

    /// Returns all worlds: both of each App of a customer, and the one of the built-in App.
    pub(crate) async fn every_world(&self) -> Result<Vec<World>, Fault> {
        let apps = self.ports.store.read().await?.apps().list().await?;
        let worlds = apps.iter().flat_map(|app| worlds_of(app.id));
        Ok(worlds.chain([World::DEPLOYMENT]).collect())
    }
}
