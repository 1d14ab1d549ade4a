//! Sessions of operators: who sends a request of the console, and how sessions end.

use std::net::IpAddr;
use std::sync::Arc;

use vestry_domain::audit::control::{ControlAction, ControlEvent, Detail, Outcome, Subject};
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::event::{Actor, EndReason};
use vestry_domain::ids::{SessionId, UserId};
use vestry_domain::operator::{
    LINK_LIFETIME, MAX_SESSIONS, Operator, STEP_UP_LIFETIME, second_factor,
};
use vestry_domain::session::{DeviceFingerprint, Proof, Session};
use vestry_domain::{Secret, Timestamp, token};

use super::WORLD;
use super::list::address;
use crate::identity::sessions::{IssuedSession, ended};
use crate::identity::users::second_factor::has_second_factor;
use crate::kernel::act::Act;
use crate::kernel::fault::{causes, retried};
use crate::kernel::source::Source;
use crate::{Caller, Fault, Principal, Refusal, Service};

/// The origin of a request of the console.
#[derive(Debug, Clone)]
pub struct ConsoleRequest {
    /// The request id.
    pub id: Arc<str>,
    /// The client address.
    pub client: Option<IpAddr>,
    /// The browser's `User-Agent`.
    pub user_agent: String,
}

impl ConsoleRequest {
    /// The operator's device. Parts that are too long are left out.
    pub(super) fn device(&self) -> DeviceFingerprint {
        let ip = self.client.map(|client| client.to_string());
        let named = DeviceFingerprint::new(ip.clone(), Some(self.user_agent.clone()));
        named.unwrap_or_else(|_unfit| DeviceFingerprint {
            ip: ip.unwrap_or_default(),
            user_agent: String::new(),
        })
    }
}

/// A live session of an operator.
#[derive(Debug, Clone)]
pub struct OperatorSession {
    /// The operator.
    pub operator: Operator,
    /// The address.
    pub email: String,
    /// The session.
    pub session: Session,
    /// Whether the operator has a second factor.
    pub is_enrolled: bool,
    /// When a second factor was last proved; `None` if never.
    proved_at: Option<Timestamp>,
    /// Whether that was lately.
    is_fresh: bool,
    /// Whether it began with a link, in the last half hour.
    came_by_link: bool,
    client: Option<IpAddr>,
    request_id: Arc<str>,
}

impl OperatorSession {
    /// The operator as a principal; `None` until a second factor is proved (OPR-5).
    pub fn principal(&self) -> Option<Principal> {
        self.proved_at?;
        let operator = Principal::operator(Arc::new(self.operator.clone()), self.is_fresh);
        let request_id = Arc::clone(&self.request_id);
        Some(operator.with_address(self.client).of_request(request_id))
    }

    /// Whether the session may add or remove factors of its operator. It needs a second factor that was proved lately (OPR-6). Until there is
    /// one, it must have begun with a link in the last half hour.
    pub const fn may_change_factors(&self) -> bool {
        self.is_fresh || (!self.is_enrolled && self.came_by_link)
    }
}

impl Service {
    /// Finds the operator behind a session token and records the use of the session. Session and roles are read for each request, so a
    /// change holds at once (OPR-9).
    ///
    /// # Errors
    /// [`Refusal::InvalidSession`] if there is no live session with this token, or its user is no operator.
    pub async fn operator_session(
        &self,
        request: &ConsoleRequest,
        token: &Secret<String>,
    ) -> Result<OperatorSession, Refusal> {
        if !token::is_session(token.expose()) {
            return Err(Refusal::InvalidSession);
        }
        let caller = self.console_caller(request);
        let presented = self.presented(&caller, Some(token), None).await?;
        let mut session = presented.ok_or(Refusal::InvalidSession)?.session;
        let user = session.user_id;
        let mut read = self.ports.store.read().await?;
        let operator = read.operators().find(user).await?;
        let operator = operator.ok_or(Refusal::InvalidSession)?;
        let profile = read.users().profile(&WORLD, user).await?;
        let profile = profile.filter(|profile| profile.user.disabled.is_none());
        let profile = profile.ok_or(Refusal::InvalidSession)?;
        let is_enrolled = has_second_factor(&mut *read, &WORLD, user).await?;
        drop(read);
        let now = self.now(&WORLD);
        let limits = caller.settings().session_limits();
        self.note_activity(&mut session, limits, now).await?;
        let proved_at = match self.needs_second_factor() {
            true => second_factor(&session),
            false => Some(now),
        };
        let came_by_link = session.factors.iter().any(|factor| {
            matches!(factor.proof, Proof::EmailLink { .. })
                && now - factor.last_verified_at < LINK_LIFETIME
        });
        Ok(OperatorSession {
            came_by_link,
            operator,
            email: address(&profile),
            session,
            is_enrolled,
            proved_at,
            is_fresh: proved_at.is_some_and(|at| now - at < STEP_UP_LIFETIME),
            client: request.client,
            request_id: Arc::clone(&request.id),
        })
    }

    pub(super) fn needs_second_factor(&self) -> bool {
        let console = self.settings.console.as_ref();
        console.is_none_or(|console| console.needs_second_factor)
    }

    /// Returns the console itself as the caller, for what an operator does before and while signing in.
    pub(super) fn console_caller(&self, request: &ConsoleRequest) -> Caller {
        let console = Principal::system().of_request(Arc::clone(&request.id));
        self.built_in_caller(console)
    }

    /// Returns the console as the caller for an act of an operator, whose audit entry is committed with it (OPR-7).
    pub(super) async fn acting_caller(
        &self,
        request: &ConsoleRequest,
        action: ControlAction,
        detail: &Detail,
    ) -> Result<Caller, Fault> {
        self.hold_deployment_key(KeyPurpose::Secrets).await?;
        self.prepare_audit_log(&WORLD).await?;
        let source = source_of(request, Actor::System);
        let entry = self.done(&source, action, Subject::world(&WORLD), detail);
        let act = Act::own(Arc::clone(&self.control), entry);
        let mut caller = self.console_caller(request);
        caller.principal = caller.principal.with_act(act);
        Ok(caller)
    }

    /// The same for a change of an operator's own factors.
    pub(super) async fn factor_caller(
        &self,
        request: &ConsoleRequest,
        of: &OperatorSession,
        factor: &str,
        change: &str,
    ) -> Result<Caller, Fault> {
        let detail = Detail::default()
            .with("factor", factor)
            .with("change", change);
        let action = ControlAction::OperatorFactor;
        let caller = self.acting_caller(request, action, &detail).await?;
        caller.acts_for(of.operator.user_id);
        Ok(caller)
    }

    /// The live sessions of an operator, newest first.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn sessions_of_operator(&self, user: UserId) -> Result<Vec<Session>, Fault> {
        let mut read = self.ports.store.read().await?;
        let mut sessions = read.sessions().of_user(&WORLD, user).await?;
        let limits = self.built_in_caller(Principal::system().clone());
        let (limits, now) = (limits.settings().session_limits(), self.now(&WORLD));
        sessions.retain(|session| session.is_alive(limits, now));
        sessions.sort_by_key(|session| std::cmp::Reverse(session.id));
        Ok(sessions)
    }

    /// Ends one of an operator's own sessions, such as the present one.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] if the session is none of the operator's.
    pub async fn end_operator_session(
        &self,
        request: &ConsoleRequest,
        of: &OperatorSession,
        id: SessionId,
    ) -> Result<(), Refusal> {
        let user = of.operator.user_id;
        let sessions = self.sessions_of_operator(user).await?;
        if !sessions.iter().any(|session| session.id == id) {
            return Err(Refusal::NotFound("session"));
        }
        self.hold_deployment_key(KeyPurpose::Secrets).await?;
        let caller = self.console_caller(request);
        let source = source_of(request, Actor::Operator(user));
        let (action, detail) = (ControlAction::OperatorSignOut, Detail::default());
        let entry = self.done(&source, action, user, &detail);
        let only = [id];
        Ok(retried(|| self.end_these(&caller, user, &only, Some(&entry))).await?)
    }

    /// Ends sessions of an operator who has too many, except the one that was just issued: first those without a second factor, then the
    /// oldest. A thief with one factor thus ends none with two.
    pub(super) async fn limit_sessions(
        &self,
        request: &ConsoleRequest,
        user: UserId,
        issued: Option<&IssuedSession>,
    ) {
        let issued = issued.map(|issued| issued.session.id);
        let limited = async {
            let mut sessions = self.sessions_of_operator(user).await?;
            sessions.retain(|session| Some(session.id) != issued);
            let rank = |session: &Session| (second_factor(session).is_some(), session.started_at);
            sessions.sort_by_key(|session| std::cmp::Reverse(rank(session)));
            let surplus = sessions.iter().skip(MAX_SESSIONS - 1);
            let surplus: Vec<SessionId> = surplus.map(|session| session.id).collect();
            if surplus.is_empty() {
                return Ok(());
            }
            let caller = self.console_caller(request);
            retried(|| self.end_these(&caller, user, &surplus, None)).await
        };
        // The sign-in is committed, and counts even if this fails.
        if let Err(fault) = limited.await {
            let error = causes(&fault);
            tracing::warn!(error, "surplus sessions of an operator could not be ended");
        }
    }

    async fn end_these(
        &self,
        caller: &Caller,
        user: UserId,
        ids: &[SessionId],
        entry: Option<&ControlEvent>,
    ) -> Result<(), Fault> {
        let now = self.now(&WORLD);
        let mut tx = self.begin_change_if(entry.is_some(), WORLD).await?;
        let mut over = Vec::new();
        for id in ids {
            if tx.sessions().delete(&WORLD, *id, now).await? {
                over.push(*id);
            }
        }
        if over.is_empty() {
            return Ok(());
        }
        let facts = ended(Some(user), over, EndReason::Deleted);
        self.emit(&mut *tx, caller, facts).await?;
        if let Some(entry) = entry {
            tx.note(entry.clone());
        }
        tx.commit_with_any().await
    }

    /// Records that a proved person was not signed in (OPR-7), with the reason.
    pub(super) async fn note_refused_sign_in(
        &self,
        request: &ConsoleRequest,
        subject: Subject,
        reason: &str,
    ) {
        let (source, action) = (
            source_of(request, Actor::System),
            ControlAction::OperatorSignIn,
        );
        let detail = Detail::default().with("reason", reason);
        let written = async {
            self.hold_deployment_key(KeyPurpose::Secrets).await?;
            let event = ControlEvent {
                outcome: Outcome::Refused,
                ..self.done(&source, action, subject, &detail)
            };
            self.record_change(event).await
        };
        if let Err(fault) = written.await {
            let error = causes(&fault);
            tracing::error!(error, %action, "refused sign-in of an operator not recorded in the audit log");
        }
    }

    /// Records a call of the console that was refused (OPR-7), with or without a second factor.
    pub async fn note_console_refusal(
        &self,
        request: &ConsoleRequest,
        of: &OperatorSession,
        call: &str,
        code: &str,
    ) {
        let by = Principal::operator(Arc::new(of.operator.clone()), false);
        let by = by.with_address(request.client);
        let by = by.of_request(Arc::clone(&request.id));
        self.note_refusal_in_deployment(&by, call, code).await;
    }
}

/// The source of acts that a request of the console carries out.
fn source_of(request: &ConsoleRequest, actor: Actor) -> Source<'static> {
    Source {
        actor,
        request_id: Some(Arc::clone(&request.id)),
        client: request.client,
        ..Principal::system().at(WORLD)
    }
}
