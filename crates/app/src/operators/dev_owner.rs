//! The owner of `vestry dev`.

use vestry_domain::Secret;
use vestry_domain::audit::control::{ControlAction, Detail};
use vestry_domain::email::Email;
use vestry_domain::ids::UserId;
use vestry_domain::operator::{Grants, LINK_LIFETIME, Operator, Role};
use vestry_domain::password::Password;

use super::links::{Draft, Handover};
use super::{WORLD, joined};
use crate::identity::passwords::set::Grounds;
use crate::kernel::fault::retried;
use crate::{Principal, Refusal, Service};

impl Service {
    /// Makes sure that there is an owner with this address and password, and returns a link that signs the owner in. A known password is
    /// not set again.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn prepare_dev_owner(
        &self,
        email: &str,
        password: &Secret<String>,
        is_known: bool,
    ) -> Result<Secret<String>, Refusal> {
        self.prepare_built_in_app().await?;
        let by = Principal::cli();
        let email = Email::parse(email)?;
        let link = self
            .draft_operator_link(by, email, None, LINK_LIFETIME, Handover::Shown)
            .await?;
        let (user, is_new) = retried(|| self.store_dev_owner(&link)).await?;
        if is_new || !is_known {
            let caller = self.built_in_caller(by.clone());
            let password = Password::presented("password", password.clone())?;
            let new = self.new_password(&caller, user, &password).await?;
            let mut tx = self.ports.store.begin().await?;
            let now = self.machine_time();
            new.store(self, &mut *tx, &caller, Grounds::Link, None, now)
                .await?;
            tx.commit().await?;
        }
        Ok(link.url)
    }

    async fn store_dev_owner(&self, link: &Draft) -> Result<(UserId, bool), Refusal> {
        let (by, now) = (Principal::cli(), self.machine_time());
        let email = &link.record.email;
        let mut tx = self.begin_change([WORLD]).await?;
        let found = tx
            .identifiers()
            .email_by_identity(&WORLD, email.identity())
            .await?;
        let (user, is_new) = match found {
            Some((_, user)) => (user.id, false),
            None => {
                let (user, _, facts) = self.add_user(&mut *tx, email, now).await?;
                let operator = Operator {
                    user_id: user,
                    grants: Grants::new(Role::Owner, None)?,
                    created_by: by.actor(),
                    created_at: now,
                    updated_at: now,
                };
                tx.operators().insert(&operator).await?;
                let facts = facts.into_iter().chain(joined(user, &operator.grants));
                self.emit(&mut *tx, by.at(WORLD), facts).await?;
                (user, true)
            }
        };
        tx.operator_links().remove_unused(email.identity()).await?;
        link.store(&mut *tx).await?;
        let action = ControlAction::OperatorInvite;
        tx.note(self.done(&by.at(WORLD), action, link.record.id, &Detail::default()));
        tx.commit().await?;
        Ok((user, is_new))
    }
}
