//! The administration of the deployment: operators, how they join and sign in, management keys, and its state.

mod alarms;
mod change;
mod company_connection;
mod company_sign_in;
mod dev_owner;
mod events;
mod join;
mod links;
mod list;
mod management_keys;
mod root_keys;
mod sessions;
mod sign_in;
mod status;
mod test_message;
mod throttle;

pub use alarms::Alarm;
pub use change::OperatorChange;
pub use join::JoinError;
pub use links::{Handover, NewOperatorLink};
pub use list::{ListedOperator, OperatorLookup};
pub use management_keys::{NewManagementKey, NewManagementKeyFields};
pub use root_keys::RootKeyStatus;
pub use sessions::{ConsoleRequest, OperatorSession};
pub use sign_in::{Factors, NewSession, SecondFactor, SignInError};
pub use status::{CheckpointAge, DeploymentLimits, DeploymentStatus};
pub use test_message::TestMessage;

use vestry_domain::World;
use vestry_domain::action::Action;
use vestry_domain::api_key::Restriction;
use vestry_domain::event::Fact;
use vestry_domain::extent::Extent;
use vestry_domain::ids::UserId;
use vestry_domain::operator::{Grants, Operator};

use crate::kernel::change::Change;
use crate::{Principal, Refusal, Service};

impl Service {
    /// Begins a transaction that changes operators or their links, with all operators locked.
    ///
    /// # Errors
    /// [`Refusal::InvalidSession`] if the principal is an operator whose roles have changed since.
    async fn begin_with_operators(
        &self,
        by: &Principal,
    ) -> Result<(Change<'_>, Vec<Operator>), Refusal> {
        let mut tx = self.begin_change([WORLD]).await?;
        let operators = tx.operators().lock_all().await?;
        by.is_still_among(&operators)?;
        Ok((tx, operators))
    }
}

/// Permits the management of an operator with these roles: to give them, or to take them away (MG-3).
fn authorize_grants(by: &Principal, grants: &Grants) -> Result<(), Refusal> {
    if grants.is_owner() {
        return by.authorize(Action::ManageOwners, Extent::Deployment);
    }
    for (app, _) in grants.in_apps() {
        by.authorize(Action::ManageOperators, app)?;
    }
    if grants.in_all().is_some() {
        by.authorize(Action::ManageOperators, Extent::Deployment)?;
    }
    by.grant_roles(grants)
}

/// Permits a change of an operator who has these roles. Where the principal does not reach one of the Apps, it says so without naming it.
fn authorize_target(by: &Principal, grants: &Grants) -> Result<(), Refusal> {
    match authorize_grants(by, grants) {
        Err(Refusal::NotFound(_)) if by.as_management_key().is_some() => {
            Err(Refusal::Restricted(Restriction::AllApps))
        }
        Err(Refusal::NotFound(_)) => Err(Refusal::RoleNotAllowed),
        permitted => permitted,
    }
}

/// The events about an operator who joined with these roles.
fn joined(user: UserId, grants: &Grants) -> Vec<Fact> {
    let roles = grants.by_role().into_iter();
    roles
        .map(|(role, apps)| Fact::operator_joined(user, role, apps))
        .collect()
}

/// The audit entry of every change here belongs to the deployment.
const WORLD: World = World::DEPLOYMENT;
