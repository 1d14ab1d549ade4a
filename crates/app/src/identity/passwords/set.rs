//! Shared steps of every way to set a password.

use vestry_domain::event::Fact;
use vestry_domain::ids::{SessionId, UserId};
use vestry_domain::message::CredentialChange;
use vestry_domain::password::{self, Password, PasswordHash, Rules, StoredPassword};
use vestry_domain::user::UserProfile;
use vestry_domain::{Invalid, Timestamp};
use vestry_ports::store::{Repositories, StoreError};

use super::compare::RightPassword;
use crate::identity::password_seal;
use crate::identity::users::notices::CredentialChangeNotice;
use crate::{Caller, Fault, Refusal, Service};

/// A password that was accepted, hashed and sealed, before its transaction.
pub(crate) struct NewPassword {
    row: StoredPassword,
    change: CredentialChangeNotice,
}

/// What authorises setting a password.
#[derive(Clone, Copy)]
pub(crate) enum Grounds<'a> {
    /// The current password, which matched.
    Current(&'a RightPassword),
    /// The factors of a session.
    Session,
    /// A mailed link.
    Link,
}

impl Service {
    /// Checks a password against the rules of the App and the list of breached ones (P-1, P-8, P-9), hashes and seals it, and
    /// prepares the notices. Slow; before the transaction in which [`NewPassword::store`] writes it.
    pub(crate) async fn new_password(
        &self,
        caller: &Caller,
        user: UserId,
        password: &Password,
    ) -> Result<NewPassword, Refusal> {
        let world = &caller.world;
        let mut read = self.ports.store.read().await?;
        let profile = read.users().profile(world, user).await?;
        drop(read);
        rules(caller, profile.as_ref()).check("password", password)?;
        self.refuse_breached(caller, password).await?;
        let hash: PasswordHash = self.ports.passwords.hash(password).await?;
        let now = self.now(world);
        let row = password_seal::seal(&*self.ports.sealer, world, user, &hash, now).await?;
        let change = self
            .prepare_notice(caller, user, CredentialChange::Password)
            .await?;
        Ok(NewPassword { row, change })
    }

    /// Refuses breached passwords. An unreadable list is an outage, unless the App decided otherwise (attack 19).
    async fn refuse_breached(&self, caller: &Caller, password: &Password) -> Result<(), Refusal> {
        let Some(list) = &self.ports.breached else {
            return Ok(());
        };
        match list.contains(password).await {
            Ok(false) => Ok(()),
            Ok(true) => Err(Invalid::value(
                "password",
                "this password appears in a known data breach; choose a different one",
            )
            .into()),
            Err(unavailable) if caller.settings().breach_check_fail_closed => {
                Err(Fault::from(unavailable).into())
            }
            Err(unavailable) => {
                let reason = crate::kernel::fault::causes(&unavailable);
                tracing::warn!(reason, "breached-password check skipped: list unavailable");
                Ok(())
            }
        }
    }
}

impl NewPassword {
    /// Writes the password, ends the user's sessions except `kept`, and queues the notices.
    ///
    /// When authorised by the current password, it replaces only the row that was compared. It returns `false` and writes nothing if that
    /// row has changed.
    ///
    /// It must be the first statement of its transaction, so that changes of one password are serialised.
    pub(crate) async fn store(
        &self,
        service: &Service,
        tx: &mut dyn Repositories,
        caller: &Caller,
        grounds: Grounds<'_>,
        kept: Option<SessionId>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let user = self.row.user_id;
        let fact = match grounds {
            Grounds::Current(right) => {
                let seen = Some(&right.seen().sealed);
                if !tx.passwords().swap(&self.row, seen).await? {
                    return Ok(false);
                }
                Fact::password_changed(user)
            }
            Grounds::Session => {
                // Guarded, so that of two concurrent calls only one is first.
                if tx.passwords().swap(&self.row, None).await? {
                    Fact::password_set(user)
                } else {
                    tx.passwords().put(&self.row).await?;
                    Fact::password_changed(user)
                }
            }
            Grounds::Link => {
                tx.passwords().put(&self.row).await?;
                Fact::password_reset(user)
            }
        };
        let subject = password::guarded_user(user);
        tx.lockouts().reset(&caller.world, &subject).await?;
        service.emit(&mut *tx, caller, [fact]).await?;
        service
            .apply_with_notice(tx, caller, &self.change, kept, now)
            .await?;
        Ok(true)
    }
}

/// The rules that apply to this user's password.
fn rules(caller: &Caller, profile: Option<&UserProfile>) -> Rules {
    let mut words = vec![caller.app.name.clone()];
    if let Some(profile) = profile {
        let user = &profile.user;
        words.extend([&user.first_name, &user.middle_name, &user.last_name].map(Clone::clone));
        words.push(format!("{}{}", user.first_name, user.last_name));
        for email in &profile.emails {
            let address = email.email.address();
            let local = address.rsplit_once('@').map_or(address, |(local, _)| local);
            words.extend([local.to_owned(), address.to_owned()]);
        }
    }
    Rules {
        least: caller.settings().password_length(),
        words,
    }
}
