//! Changes of operators: roles, disabling, removal, and new factors.

use vestry_domain::action::Action;
use vestry_domain::api_key::Restriction;
use vestry_domain::audit::control::{ControlAction, Detail};
use vestry_domain::email::Email;
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::event::{Actor, EndReason, Fact};
use vestry_domain::extent::Extent;
use vestry_domain::ids::{AppId, UserId};
use vestry_domain::message::{NOTICE_LIFETIME, OutboxJob, operator_reset_notice};
use vestry_domain::operator::{Grants, LINK_LIFETIME, MAX_APPS, Operator, Role};
use vestry_domain::user::UserDisabled;
use vestry_domain::{Invalid, Secret};
use vestry_ports::store::Repositories;

use super::links::{Draft, Handover, NewOperatorLink, with_grants};
use super::list::address;
use super::{WORLD, authorize_grants, authorize_target};
use crate::delivery::outbox_message::Delivery;
use crate::identity::lockout;
use crate::identity::sessions::ended;
use crate::kernel::fault::retried;
use crate::{Fault, Principal, Refusal, Service};

/// A change of an operator.
#[derive(Debug, Clone)]
pub enum OperatorChange {
    /// A role in some Apps, or instead of all others in every App (`None`). A role of `None` takes it away.
    Role(Option<Role>, Option<Vec<AppId>>),
    /// The operator may no longer sign in.
    Disable,
    /// The operator may sign in again.
    Enable,
    /// The operator is deleted with their factors.
    Remove,
}

/// The link and the mails of a reset.
struct Reset {
    link: Draft,
    notices: Vec<OutboxJob>,
}

impl Service {
    /// Changes an operator, and ends the operator's sessions in the same transaction (OPR-9). Taking the last role away removes the
    /// operator.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::LastOwner`] if no owner who can sign in would be left.
    pub async fn change_operator(
        &self,
        by: &Principal,
        user: UserId,
        change: OperatorChange,
    ) -> Result<(), Refusal> {
        by.authorize_somewhere(Action::ManageOperators)?;
        if let OperatorChange::Role(role, apps) = &change {
            // The same lists as for a new operator.
            Grants::new(role.unwrap_or(Role::Viewer), apps.clone())?;
            for app in apps.iter().flatten() {
                by.authorize_in_app(Action::ManageOperators, *app)?;
                self.app(*app).await?;
            }
        }
        self.hold_deployment_key(KeyPurpose::Secrets).await?;
        retried(|| self.try_to_change(by, user, &change)).await
    }

    async fn try_to_change(
        &self,
        by: &Principal,
        user: UserId,
        change: &OperatorChange,
    ) -> Result<(), Refusal> {
        let now = self.machine_time();
        let (mut tx, operators) = self.begin_with_operators(by).await?;
        let target = visible(by, &operators, user)?;
        let mut grants = target.grants.clone();
        if let OperatorChange::Role(role, apps) = change {
            let apps = apps.as_deref();
            authorize_target(by, &target.grants.within(apps))?;
            grants.set(*role, apps);
            authorize_grants(by, &grants.within(apps))?;
            if grants.in_apps().count() > MAX_APPS {
                let message = format!("an operator can have a role in at most {MAX_APPS} Apps");
                return Err(Invalid::value("apps", message).into());
            }
        } else {
            authorize_target(by, &target.grants)?;
        }
        let is_removed = matches!(change, OperatorChange::Remove) || grants.is_empty();
        let stays_owner = grants.is_owner() && !is_removed;
        let is_weakened = !stays_owner || matches!(change, OperatorChange::Disable);
        if target.grants.is_owner() && is_weakened {
            self.leave_an_owner(&mut *tx, &operators, user).await?;
        }
        if !matches!(change, OperatorChange::Enable) {
            // What the operator handed out goes with the right to do so.
            let maker = Actor::Operator(user);
            tx.operator_links().remove_made_by(&maker).await?;
        }
        // Locked before its sessions end: a sign-in comes first, or finds the operator changed.
        tx.users().lock(&WORLD, user).await?;
        if !matches!(change, OperatorChange::Disable) {
            leave_disabled(by, &mut *tx, user).await?;
        }
        let ids = tx.sessions().delete_all(&WORLD, user, now).await?;
        let (action, detail, fact) = match change {
            _ if is_removed => {
                self.forget(&mut *tx, target).await?;
                let fact = Fact::operator_removed(user);
                (ControlAction::OperatorRemove, Detail::default(), fact)
            }
            OperatorChange::Role(role, apps) => {
                if grants == target.grants {
                    return Ok(());
                }
                tx.operators().update(user, &grants, now).await?;
                let detail = with_grants(Detail::default(), &grants)?;
                let fact = Fact::operator_role_changed(user, *role, apps.clone());
                (ControlAction::OperatorUpdate, detail, fact)
            }
            OperatorChange::Disable => {
                let disabled = UserDisabled {
                    at: now,
                    reason: String::new(),
                };
                if !tx.users().disable(&WORLD, user, &disabled).await? {
                    return Ok(());
                }
                let fact = Fact::operator_disabled(user);
                (ControlAction::OperatorDisable, Detail::default(), fact)
            }
            OperatorChange::Enable | OperatorChange::Remove => {
                if !tx.users().enable(&WORLD, user, now).await? {
                    return Ok(());
                }
                let fact = Fact::operator_enabled(user);
                (ControlAction::OperatorEnable, Detail::default(), fact)
            }
        };
        let reason = match is_removed {
            true => EndReason::UserDeleted,
            false => EndReason::UserDisabled,
        };
        let facts = ended(Some(user), ids, reason).into_iter();
        let facts = facts.chain(is_removed.then(|| Fact::user_deleted(user)));
        let facts = facts.chain([fact]);
        self.emit(&mut *tx, by.at(WORLD), facts).await?;
        tx.note(self.done(&by.at(WORLD), action, user, &detail));
        Ok(tx.commit().await?)
    }

    /// Checks that an owner who can sign in is left without this one (OPR-3). All operators are locked, and none of them can remove the last
    /// own second factor.
    async fn leave_an_owner(
        &self,
        tx: &mut dyn Repositories,
        operators: &[Operator],
        user: UserId,
    ) -> Result<(), Refusal> {
        let others = operators
            .iter()
            .filter(|one| one.user_id != user && one.grants.is_owner());
        for other in others {
            if self.can_sign_in(tx, other.user_id).await? {
                return Ok(());
            }
        }
        Err(Refusal::LastOwner)
    }

    /// Whether an operator is enabled and has the factors that signing in needs.
    async fn can_sign_in(&self, tx: &mut dyn Repositories, user: UserId) -> Result<bool, Fault> {
        let profile = tx.users().profile(&WORLD, user).await?;
        if profile.is_none_or(|profile| profile.user.disabled.is_some()) {
            return Ok(false);
        }
        if !tx.passkeys().of_user(&WORLD, user).await?.is_empty() {
            return Ok(true);
        }
        let has_second =
            !self.needs_second_factor() || tx.totps().count_verified(&WORLD, user).await? > 0;
        let has_first = self.has_mailer() || tx.passwords().find(&WORLD, user).await?.is_some();
        Ok(has_first && has_second)
    }

    /// Deletes an operator with everything that belongs to the user, and the open links to the address.
    async fn forget(&self, tx: &mut dyn Repositories, target: &Operator) -> Result<(), Fault> {
        let user = target.user_id;
        if let Some(profile) = tx.users().profile(&WORLD, user).await? {
            for email in &profile.emails {
                let identity = email.email.identity();
                tx.operator_links().remove_unused(identity).await?;
            }
        }
        tx.operators().remove(user).await?;
        lockout::forget_failures_of(tx, &WORLD, user).await?;
        tx.users().delete(&WORLD, user).await?;
        tx.idempotency().erase(&WORLD, user).await?;
        Ok(())
    }

    /// Clears the lockouts of an operator. They are caused by wrong passwords and codes, which anyone can send.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn unlock_operator(&self, by: &Principal, user: UserId) -> Result<(), Refusal> {
        by.authorize_somewhere(Action::ManageOperators)?;
        self.hold_deployment_key(KeyPurpose::Secrets).await?;
        retried(|| self.clear_lockouts_of(by, user)).await
    }

    async fn clear_lockouts_of(&self, by: &Principal, user: UserId) -> Result<(), Refusal> {
        let (mut tx, operators) = self.begin_with_operators(by).await?;
        authorize_target(by, &visible(by, &operators, user)?.grants)?;
        lockout::forget_failures_of(&mut *tx, &WORLD, user).await?;
        let (action, detail) = (ControlAction::OperatorUnlock, Detail::default());
        tx.note(self.done(&by.at(WORLD), action, user, &detail));
        Ok(tx.commit().await?)
    }

    /// Replaces lost factors: removes all factors of an operator, ends the sessions, and creates a link with which the operator enrols new
    /// ones. All owners are told by mail.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn reset_operator(
        &self,
        by: &Principal,
        user: UserId,
        handover: Handover,
    ) -> Result<NewOperatorLink, Refusal> {
        by.authorize(Action::ManageOwners, Extent::Deployment)?;
        self.hold_deployment_key(KeyPurpose::Secrets).await?;
        let mut read = self.ports.store.read().await?;
        let operators = read.operators().list().await?;
        visible(by, &operators, user)?;
        let email = address_of(&mut *read, user).await?;
        let email = Email::parse(&email).map_err(|_none| Refusal::NotFound("operator"))?;
        drop(read);
        let notices = self
            .notices_of_reset(by, &operators, email.address())
            .await?;
        let link = self
            .draft_operator_link(by, email, None, LINK_LIFETIME, handover)
            .await?;
        let reset = Reset { link, notices };
        retried(|| self.try_to_reset(by, user, &reset)).await?;
        Ok(reset.link.into())
    }

    async fn notices_of_reset(
        &self,
        by: &Principal,
        operators: &[Operator],
        of: &str,
    ) -> Result<Vec<OutboxJob>, Fault> {
        let mut notices = Vec::new();
        if !self.has_mailer() {
            return Ok(notices);
        }
        for owner in operators.iter().filter(|one| one.grants.is_owner()) {
            let mut read = self.ports.store.read().await?;
            let to = address_of(&mut *read, owner.user_id).await?;
            drop(read);
            if !to.is_empty() {
                let notice = Secret::new(operator_reset_notice(&to, of));
                let delivery = Delivery::within(NOTICE_LIFETIME);
                notices.push(self.letter(by, &WORLD, &notice, delivery).await?);
            }
        }
        Ok(notices)
    }

    async fn try_to_reset(
        &self,
        by: &Principal,
        user: UserId,
        reset: &Reset,
    ) -> Result<(), Refusal> {
        let now = self.machine_time();
        let (mut tx, operators) = self.begin_with_operators(by).await?;
        visible(by, &operators, user)?;
        tx.users().lock(&WORLD, user).await?;
        let ids = tx.sessions().delete_all(&WORLD, user, now).await?;
        remove_factors(&mut *tx, user).await?;
        let identity = reset.link.record.email.identity();
        tx.operator_links().remove_unused(identity).await?;
        reset.link.store(&mut *tx).await?;
        for notice in &reset.notices {
            tx.outbox().push(notice).await?;
        }
        let facts = ended(Some(user), ids, EndReason::CredentialChanged);
        self.emit(&mut *tx, by.at(WORLD), facts).await?;
        let action = ControlAction::OperatorReset;
        tx.note(self.done(&by.at(WORLD), action, user, &Detail::default()));
        Ok(tx.commit_last(by).await?)
    }
}

/// Finds an operator whom the principal may see.
fn visible<'a>(
    by: &Principal,
    operators: &'a [Operator],
    user: UserId,
) -> Result<&'a Operator, Refusal> {
    let mut operators = operators.iter();
    let found = operators.find(|operator| operator.user_id == user);
    found
        .filter(|operator| by.sees_operator(&operator.grants))
        .ok_or(Refusal::NotFound("operator"))
}

/// Keeps a management key from undoing that someone else disabled an operator: by enabling, or by removing and inviting again.
async fn leave_disabled(
    by: &Principal,
    tx: &mut dyn Repositories,
    user: UserId,
) -> Result<(), Refusal> {
    if by.as_management_key().is_none() {
        return Ok(());
    }
    let profile = tx.users().profile(&WORLD, user).await?;
    match profile.is_some_and(|profile| profile.user.disabled.is_some()) {
        true => Err(Refusal::Restricted(Restriction::DisabledOperator)),
        false => Ok(()),
    }
}

/// Removes everything that signs an operator in.
async fn remove_factors(tx: &mut dyn Repositories, user: UserId) -> Result<(), Fault> {
    tx.passwords().remove(&WORLD, user).await?;
    tx.totps().remove_all(&WORLD, user).await?;
    tx.passkeys().remove_all(&WORLD, user).await?;
    tx.provider_links().remove_all(&WORLD, user).await?;
    lockout::forget_failures_of(tx, &WORLD, user).await?;
    Ok(())
}

async fn address_of(read: &mut dyn Repositories, user: UserId) -> Result<String, Fault> {
    let profile = read.users().profile(&WORLD, user).await?;
    Ok(profile.as_ref().map(address).unwrap_or_default())
}
