//! Links that let operators in: the first owner's, invitations, and those that replace lost factors.

use vestry_domain::Secret;
use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, Detail};
use vestry_domain::email::Email;
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::event::Fact;
use vestry_domain::ids::OperatorLinkId;
use vestry_domain::limits::{codes, console};
use vestry_domain::link::LinkPurpose;
use vestry_domain::message::{MailedLink, OutboxJob, invite_mail};
use vestry_domain::operator::{self, Grants, INVITATION_LIFETIME, LINK_LIFETIME, OperatorLink};
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_ports::entropy::Bytes;
use vestry_ports::store::Repositories;

use super::{WORLD, authorize_grants};
use crate::delivery::outbox_message::Delivery;
use crate::identity::quotas::{Kind, Send};
use crate::kernel::fault::retried;
use crate::{Fault, Principal, Refusal, Service};

/// How long links are kept after they expire.
const KEPT: Seconds = Seconds(7 * 24 * 60 * 60);

/// Maximum number of open invitations by one principal.
const MAX_OPEN: usize = 100;

/// How a link reaches its operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handover {
    /// By mail.
    Mail,
    /// Through the administrator who created it, who sees it once.
    Shown,
}

/// A link that was created.
#[derive(Debug)]
pub struct NewOperatorLink {
    /// The stored record.
    pub record: OperatorLink,
    /// The whole URL. It cannot be read again later.
    pub url: Secret<String>,
}

/// A link with everything that is written in its transaction.
pub(super) struct Draft {
    pub(super) record: OperatorLink,
    pub(super) url: Secret<String>,
    mail: Option<OutboxJob>,
}

impl Service {
    /// How the console hands links over: by mail, or if no mail can be sent, to the operator who creates them.
    pub fn invitation_handover(&self) -> Handover {
        match self.has_mailer() {
            true => Handover::Mail,
            false => Handover::Shown,
        }
    }

    /// Invites an operator: creates a link that gives roles to the holder of an address. A link that makes an owner is valid for 30 minutes
    /// if it is shown, every other one for 72 hours.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::Duplicate`] if there is an operator with this address; [`Fault::NoTransport`] if the link is
    /// to be mailed and no mail can be sent; [`Refusal::TooMany`] if too many were mailed.
    pub async fn invite_operator(
        &self,
        by: &Principal,
        email: &str,
        grants: Grants,
        handover: Handover,
    ) -> Result<NewOperatorLink, Refusal> {
        authorize_grants(by, &grants)?;
        let email = Email::parse(email)?;
        for (app, _) in grants.in_apps() {
            self.app(app).await?;
        }
        let lifetime = match (grants.is_owner(), handover) {
            (true, Handover::Shown) => LINK_LIFETIME,
            _ => INVITATION_LIFETIME,
        };
        self.hold_deployment_key(KeyPurpose::Secrets).await?;
        let draft = self
            .draft_operator_link(by, email, Some(grants), lifetime, handover)
            .await?;
        retried(|| self.store_invitation(by, &draft)).await?;
        Ok(draft.into())
    }

    async fn store_invitation(&self, by: &Principal, draft: &Draft) -> Result<(), Refusal> {
        let (mut tx, _operators) = self.begin_with_operators(by).await?;
        let email = &draft.record.email;
        let known = tx
            .identifiers()
            .email_by_identity(&WORLD, email.identity())
            .await?;
        let operator = match known {
            Some((_, user)) => tx.operators().find(user.id).await?,
            None => None,
        };
        let grants = draft.record.grants.as_ref();
        if operator.is_some() {
            return Err(Refusal::Duplicate("operator"));
        }
        let open = tx.operator_links().list_open(self.machine_time()).await?;
        let own = open.iter().filter(|link| link.created_by == by.actor());
        if own.count() >= MAX_OPEN {
            return Err(Refusal::NotNow(
                "too many invitations are open; withdraw some, or wait until they expire",
            ));
        }
        if draft.mail.is_some() {
            self.spend_invitation(&mut *tx, by, email).await?;
        }
        draft.store(&mut *tx).await?;
        let mut detail = Detail::default();
        if let Some(grants) = grants {
            detail = with_grants(detail, grants)?;
            let roles = grants.by_role().into_iter();
            let invited =
                roles.map(|(role, apps)| Fact::operator_invited(draft.record.id, role, apps));
            self.emit(&mut *tx, by.at(WORLD), invited).await?;
        }
        let detail = detail.with("expires_at", draft.record.expires_at.unix());
        let action = ControlAction::OperatorInvite;
        tx.note(self.done(&by.at(WORLD), action, draft.record.id, &detail));
        Ok(tx.commit_last(by).await?)
    }

    /// Counts a mailed invitation against the limits of its address and its maker. A withdrawn one still counts.
    async fn spend_invitation(
        &self,
        tx: &mut dyn Repositories,
        by: &Principal,
        email: &Email,
    ) -> Result<(), Refusal> {
        let now = self.machine_time();
        let quota = self.send_quota(&WORLD, now);
        let send = Send {
            identifier: email.identity().as_str(),
            kind: Kind::Link(LinkPurpose::Invite),
            a_day: codes::SENDS_PER_IDENTIFIER_AND_DAY,
            device: None,
        };
        let turn = quota.take_turn(tx, send.identifier).await?;
        quota.spend_narrow(tx, turn, send).await?;
        let maker = by.actor().to_string();
        let limit = console::INVITATIONS_PER_MAKER;
        let quotas = tx.quotas();
        let verdict = quotas.consume(&WORLD, "operator_invite", &maker, limit, now);
        let verdict = verdict.await?;
        match verdict.admitted {
            true => Ok(()),
            false => Err(Refusal::TooMany {
                retry_after: verdict.reset - now,
            }),
        }
    }

    /// Withdraws an invitation that was not accepted.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn withdraw_invitation(
        &self,
        by: &Principal,
        id: OperatorLinkId,
    ) -> Result<(), Refusal> {
        by.authorize_somewhere(Action::ManageOperators)?;
        self.hold_deployment_key(KeyPurpose::Secrets).await?;
        retried(|| self.remove_invitation(by, id)).await
    }

    async fn remove_invitation(&self, by: &Principal, id: OperatorLinkId) -> Result<(), Refusal> {
        let (mut tx, _operators) = self.begin_with_operators(by).await?;
        let open = tx.operator_links().list_open(self.machine_time()).await?;
        let mut open = open.into_iter();
        let grants = open.find(|link| link.id == id).and_then(|link| link.grants);
        let grants = grants.filter(|grants| by.sees_operator(grants));
        let grants = grants.ok_or(Refusal::NotFound("invitation"))?;
        authorize_grants(by, &grants)?;
        if !tx.operator_links().remove(id).await? {
            return Err(Refusal::NotFound("invitation"));
        }
        let action = ControlAction::OperatorWithdraw;
        tx.note(self.done(&by.at(WORLD), action, id, &Detail::default()));
        Ok(tx.commit().await?)
    }

    /// Lists the invitations that were neither accepted nor expired and that the principal may see, oldest first.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn list_invitations(&self, by: &Principal) -> Result<Vec<OperatorLink>, Refusal> {
        by.authorize_somewhere(Action::ReadOperators)?;
        let mut read = self.ports.store.read().await?;
        let open = read.operator_links().list_open(self.machine_time()).await?;
        let seen = open.into_iter().filter_map(|mut link| {
            let grants = link.grants.filter(|grants| by.sees_operator(grants))?;
            link.grants = Some(grants.seen(|app| by.sees_roles_in(app)));
            Some(link)
        });
        Ok(seen.collect())
    }

    /// Creates a link before the transaction in which it is stored.
    pub(super) async fn draft_operator_link(
        &self,
        by: &Principal,
        email: Email,
        grants: Option<Grants>,
        lifetime: Seconds,
        handover: Handover,
    ) -> Result<Draft, Refusal> {
        if handover == Handover::Mail && !self.has_mailer() {
            return Err(Fault::NoTransport("mail").into());
        }
        let now = self.machine_time();
        let token = operator::link_token(&mut Bytes(&*self.ports.entropy));
        let url = self.link_url(&token)?;
        let mail = match handover {
            Handover::Shown => None,
            Handover::Mail => {
                let link = MailedLink {
                    url: url.expose(),
                    token: token.expose(),
                    lifetime,
                };
                let mail = invite_mail("Vestry", email.address(), "", link);
                let delivery = Delivery::within(lifetime);
                Some(
                    self.letter(by, &WORLD, &Secret::new(mail), delivery)
                        .await?,
                )
            }
        };
        Ok(Draft {
            record: OperatorLink {
                id: self.new_id(now),
                hash: TokenHash::of(token.expose()),
                email,
                grants,
                created_by: by.actor(),
                created_at: now,
                expires_at: now + lifetime,
                used_at: None,
            },
            url,
            mail,
        })
    }

    fn link_url(&self, token: &Secret<String>) -> Result<Secret<String>, Refusal> {
        let console = self.settings.console.as_ref();
        let console = console.ok_or(Refusal::NotNow(
            "set console.base_url first, so that links lead to the console",
        ))?;
        let (origin, token) = (&console.origin, token.expose());
        Ok(Secret::new(format!("{origin}/console/join?token={token}")))
    }
}

impl Draft {
    /// Writes the link and its mail.
    pub(super) async fn store(&self, tx: &mut dyn Repositories) -> Result<(), Fault> {
        let links = tx.operator_links();
        // Few are ever created, so each creation can remove the old ones.
        links.sweep(self.record.created_at - KEPT).await?;
        links.insert(&self.record).await?;
        if let Some(mail) = &self.mail {
            tx.outbox().push(mail).await?;
        }
        Ok(())
    }
}

impl From<Draft> for NewOperatorLink {
    fn from(draft: Draft) -> Self {
        Self {
            record: draft.record,
            url: draft.url,
        }
    }
}

/// Adds roles to an audit entry.
pub(super) fn with_grants(detail: Detail, grants: &Grants) -> Result<Detail, Fault> {
    let value = serde_json::to_value(grants);
    let value = value.map_err(|error| Fault::Internal(Box::new(error)))?;
    let members = value.as_object().into_iter().flatten();
    Ok(members.fold(detail, |detail, (name, value)| {
        detail.with(name, value.clone())
    }))
}
