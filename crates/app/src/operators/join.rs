//! Using a link: an operator joins, or comes back to set up new factors.

use vestry_domain::audit::control::{ControlAction, Detail};
use vestry_domain::email::Email;
use vestry_domain::event::{Actor, Fact, Via};
use vestry_domain::ids::{EmailId, UserId};
use vestry_domain::operator::{self, Operator, OperatorLink};
use vestry_domain::session::{Factor, Proof, Session, SignIn};
use vestry_domain::token::TokenHash;
use vestry_domain::user::{User, UserEmail, UserStatus};
use vestry_domain::{Secret, Timestamp};
use vestry_ports::store::{Attached, Repositories};

use super::WORLD;
use super::links::with_grants;
use super::sessions::ConsoleRequest;
use super::sign_in::{NewSession, new_session, of_operator};
use crate::identity::sessions::issue::{SessionRequest, from_start_session_error};
use crate::kernel::fault::retried;
use crate::kernel::refusal::has_common;
use crate::{Caller, Fault, Refusal, Service};

/// The reason why a link was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// Unknown, used or expired, or its operator is disabled or gone: one answer for all (OPR-4).
    #[error("the link is not valid")]
    InvalidLink,
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(JoinError);
from_start_session_error!(JoinError::InvalidLink);

impl Service {
    /// Finds the address that an open link is for. Changes nothing.
    ///
    /// # Errors
    /// [`JoinError::InvalidLink`].
    pub async fn look_at_operator_link(&self, token: &Secret<String>) -> Result<Email, JoinError> {
        Ok(self.open_link(token).await?.email)
    }

    async fn open_link(&self, token: &Secret<String>) -> Result<OperatorLink, JoinError> {
        if !operator::is_link_token(token.expose()) {
            return Err(JoinError::InvalidLink);
        }
        let mut read = self.ports.store.read().await?;
        let hash = TokenHash::of(token.expose());
        let link = read.operator_links().find(&hash).await?;
        let now = self.machine_time();
        link.filter(|link| link.is_open(now))
            .ok_or(JoinError::InvalidLink)
    }

    /// Uses a link up and starts a session, in which the operator sets up factors. An operator who has factors already has to prove them.
    ///
    /// # Errors
    /// [`JoinError`]; nothing is changed then, and the link stays valid.
    pub async fn use_operator_link(
        &self,
        request: &ConsoleRequest,
        token: &Secret<String>,
    ) -> Result<NewSession, JoinError> {
        self.open_link(token).await?;
        self.prepare_built_in_app().await?;
        let caller = self.console_caller(request);
        let fields = new_session();
        let session_request = self.check_session_fields(&caller, &fields).await?;
        let signing_key = self.key_for(&WORLD, &session_request).await?;
        let hash = TokenHash::of(token.expose());
        let joining = retried(|| self.let_in(&caller, request, &hash, &session_request));
        let (user_id, granted) = joining.await?;
        let issued = self.issued(&caller, signing_key.as_ref(), granted).await?;
        self.limit_sessions(request, user_id, issued.as_ref()).await;
        Ok(of_operator(user_id, issued)?)
    }

    async fn let_in(
        &self,
        caller: &Caller,
        request: &ConsoleRequest,
        hash: &TokenHash,
        session_request: &SessionRequest,
    ) -> Result<(UserId, Option<(Session, Secret<String>)>), JoinError> {
        let now = self.machine_time();
        let mut tx = self.begin_change([WORLD]).await?;
        // The guarded statement decides between parallel uses. If anything below refuses, it is undone.
        let link = tx.operator_links().consume(hash, now).await?;
        let link = link.ok_or(JoinError::InvalidLink)?;
        let operators = tx.operators().lock_all().await?;
        let identity = link.email.identity();
        let found = tx.identifiers().email_by_identity(&WORLD, identity).await?;
        let (user_id, email_id, facts) = match found {
            Some((email, user)) => (user.id, email.id, Vec::new()),
            None if link.grants.is_none() => return Err(JoinError::InvalidLink),
            None => self.add_user(&mut *tx, &link.email, now).await?,
        };
        let mut known = operators.into_iter();
        let known = known.find(|operator| operator.user_id == user_id);
        store_roles(&mut *tx, user_id, known, &link, now).await?;
        self.emit(&mut *tx, caller, facts).await?;
        let mut source = caller.principal.at(WORLD);
        source.actor = Actor::Operator(user_id);
        source.client = request.client;
        let grants = link.grants.iter();
        let joined = grants.flat_map(|grants| super::joined(user_id, grants));
        self.emit(&mut *tx, source.clone(), joined).await?;
        let sign_in = SignIn {
            user_id,
            factor: Factor {
                proof: Proof::EmailLink {
                    email_id,
                    email: link.email.address().to_owned(),
                },
                last_verified_at: now,
            },
            device_fingerprint: request.device(),
        };
        let granted = self
            .start_or_extend(&mut *tx, caller, session_request, sign_in, now)
            .await?;
        let mut detail = Detail::default().with("link", link.id.to_string());
        if let Some(grants) = &link.grants {
            detail = with_grants(detail, grants)?;
        }
        tx.note(self.done(&source, ControlAction::OperatorJoin, user_id, &detail));
        tx.commit().await?;
        Ok((user_id, granted))
    }

    /// Adds the user of a new operator. The link proves the address: it was mailed there, or handed over by an administrator.
    pub(super) async fn add_user(
        &self,
        tx: &mut dyn Repositories,
        email: &Email,
        now: Timestamp,
    ) -> Result<(UserId, EmailId, Vec<Fact>), Fault> {
        let user = User {
            is_owned: true,
            ..User::new(self.new_id(now), WORLD, UserStatus::Active, now)
        };
        tx.users().insert(&user).await?;
        let row = UserEmail {
            id: self.new_id(now),
            user_id: user.id,
            email: email.clone(),
            verified: true,
            created_at: now,
            updated_at: now,
            pending_owner: None,
            of_owned: true,
        };
        // A concurrent link to the same address was faster: look again.
        if tx.identifiers().attach_email(&WORLD, &row).await? != Attached::Yes {
            return Err(Fault::LostRace);
        }
        let facts = vec![
            Fact::user_created(user.id, Via::Invite),
            Fact::email_added(user.id, row.id),
            Fact::email_verified(user.id, row.id),
        ];
        Ok((user.id, row.id, facts))
    }
}

/// Gives the roles of a link to its operator, or checks that one who comes back is still an operator.
async fn store_roles(
    tx: &mut dyn Repositories,
    user_id: UserId,
    known: Option<Operator>,
    link: &OperatorLink,
    now: Timestamp,
) -> Result<(), JoinError> {
    match (known, &link.grants) {
        (None, None) => Err(JoinError::InvalidLink),
        (Some(_), None) => Ok(()),
        // The link was made for a person who was no operator. The factors set up in the meantime can be those of another one.
        (Some(_), Some(_)) => Err(JoinError::InvalidLink),
        (None, Some(grants)) => {
            let operator = Operator {
                user_id,
                grants: grants.clone(),
                created_by: link.created_by,
                created_at: now,
                updated_at: now,
            };
            match tx.operators().insert(&operator).await? {
                true => Ok(()),
                false => Err(Fault::LostRace.into()),
            }
        }
    }
}
