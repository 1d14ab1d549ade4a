//! Consequences of a credential change: other sessions end, and the owner is notified (S-6).

use vestry_domain::event::EndReason;
use vestry_domain::ids::{SessionId, UserId};
use vestry_domain::message::{CredentialChange, NOTICE_LIFETIME, OutboxJob, security_notice};
use vestry_domain::{Secret, Timestamp};
use vestry_ports::store::{Repositories, StoreError};

use crate::delivery::outbox_message::Delivery;
use crate::identity::sessions::ended;
use crate::{Caller, Fault, Service};

/// A pending credential change with its notices.
pub(crate) struct CredentialChangeNotice {
    user: UserId,
    notices: Vec<OutboxJob>,
}

impl Service {
    /// Prepares the notices of a change, before its transaction: one for every verified address of the user.
    ///
    /// Live Apps without a mail transport have none.
    pub(crate) async fn prepare_notice(
        &self,
        caller: &Caller,
        user: UserId,
        change: CredentialChange,
    ) -> Result<CredentialChangeNotice, Fault> {
        let mut notices = Vec::new();
        if caller.settings().notify_on_change && (caller.is_test() || self.has_mailer()) {
            let mut read = self.ports.store.read().await?;
            let profile = read.users().profile(&caller.world, user).await?;
            drop(read);
            let emails = profile.map(|profile| profile.emails).unwrap_or_default();
            for email in emails.iter().filter(|email| email.verified) {
                let to = email.email.address();
                let notice = Secret::new(security_notice(&caller.app.name, to, change));
                let delivery = Delivery::within(NOTICE_LIFETIME);
                notices.push(
                    self.letter(&caller.principal, &caller.world, &notice, delivery)
                        .await?,
                );
            }
        }
        Ok(CredentialChangeNotice { user, notices })
    }

    /// Applies the consequences of a change, in its transaction.
    ///
    /// The user's sessions end, except `current` (the one in which the change was made), unless the App set otherwise. The notices go to
    /// the outbox.
    pub(crate) async fn apply_with_notice(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        change: &CredentialChangeNotice,
        current: Option<SessionId>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if caller.settings().end_sessions_on_change {
            let (world, user) = (&caller.world, change.user);
            let sessions = tx.sessions();
            let ids = match current {
                Some(current) => sessions.delete_others(world, user, current, now).await?,
                None => sessions.delete_all(world, user, now).await?,
            };
            let facts = ended(Some(user), ids, EndReason::CredentialChanged);
            self.emit(&mut *tx, caller, facts).await?;
        }
        tell(tx, change).await
    }
}

/// Queues the notices of a change that ends no session: the App's backend attached something that does not yet allow a sign-in.
pub(crate) async fn tell(
    tx: &mut dyn Repositories,
    change: &CredentialChangeNotice,
) -> Result<(), StoreError> {
    for notice in &change.notices {
        tx.outbox().push(notice).await?;
    }
    Ok(())
}
