//! `sessions/list`: a user's current and past sessions.

use vestry_domain::action::Action;
use vestry_domain::ids::{SessionId, UserId};
use vestry_domain::session::Session;
use vestry_ports::store::SessionPage;

use crate::kernel::page::PageSize;
use crate::{Caller, Refusal, Service};

/// The parameters of the call.
#[derive(Debug, Clone, Copy)]
pub struct ListSessions {
    /// The user whose sessions are listed.
    pub user_id: UserId,
    /// Whether ended sessions are included, as long as they are stored.
    pub with_ended: bool,
    /// 10 to 100; 50 when absent.
    pub limit: Option<i64>,
    /// The last session of the page before.
    pub starting_after: Option<SessionId>,
}

/// A page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSessions {
    /// Newest first.
    pub sessions: Vec<Session>,
    /// Whether there is a next page.
    pub has_more: bool,
}

impl ListSessions {
    /// Requests the first page of live sessions.
    pub const fn of(user_id: UserId) -> Self {
        Self {
            user_id,
            with_ended: false,
            limit: None,
            starting_after: None,
        }
    }
}

impl Service {
    /// Returns a page of the user's sessions, newest first.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn list_sessions(
        &self,
        caller: &Caller,
        query: ListSessions,
    ) -> Result<ListedSessions, Refusal> {
        caller.authorize(Action::ListSessions)?;
        let size = PageSize::check(query.limit)?;
        let (world, now) = (&caller.world, self.now(&caller.world));
        let limits = caller.settings().session_limits();
        let mut read = self.ports.store.read().await?;
        let user_id = caller.visible_user(query.user_id);
        let page = SessionPage {
            alive: (!query.with_ended).then_some((limits, now)),
            after: query.starting_after,
            limit: size.rows(),
        };
        let found = read.sessions().page_of_user(world, user_id, page);
        let mut sessions = found.await?;
        // Distinguishes a user without sessions from an unknown user.
        let user = read.users();
        if sessions.is_empty() && user.profile(world, user_id).await?.is_none() {
            return Err(Refusal::NotFound("user"));
        }
        let has_more = size.cut(&mut sessions);
        Ok(ListedSessions { sessions, has_more })
    }
}
