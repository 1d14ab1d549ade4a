//! Sessions and the tokens that name them.

pub mod delete;
pub mod end_all;
pub mod issue;
pub mod keys;
pub mod list;
pub mod object;
pub mod verify;

pub use issue::{IssuedSession, SessionFields, SessionNamed};
pub use list::{ListSessions, ListedSessions};
pub use object::SessionObject;
pub use verify::{VerifiedSession, VerifySession};

use vestry_domain::event::{EndReason, Fact};
use vestry_domain::ids::{SessionId, UserId};

/// The event for sessions that ended together; none if there were none.
pub(crate) fn ended(user: Option<UserId>, ids: Vec<SessionId>, reason: EndReason) -> Option<Fact> {
    let count = u64::try_from(ids.len()).unwrap_or(u64::MAX);
    (count > 0).then(|| Fact::session_ended(user, ids, count, reason))
}
