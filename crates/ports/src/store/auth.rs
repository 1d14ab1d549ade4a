//! Codes, lockouts and quotas, and sessions.

use vestry_domain::code::{Code, CodePurpose, MethodId};
use vestry_domain::ids::{SessionId, SigningKeyId, UserId};
use vestry_domain::limits::{Limit, LimitVerdict};
use vestry_domain::session::{Session, SessionLimits};
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::{StoreResult, SweptWorlds};

/// A counted attempt.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// The code to compare with.
    pub code: Code,
    /// The number of this attempt, from 1.
    pub tries: i64,
}

/// One-time passcodes: at most one per world, identifier and purpose.
#[port]
pub trait Codes: Send {
    /// Stores a code, replacing any previous one, with no attempts used (OTP-6).
    async fn replace(&mut self, code: &Code) -> StoreResult<()>;
    /// Counts an attempt against the code and returns it, if it is valid (`now < expires_at`, unused, fewer than `most_tries` attempts).
    /// One guarded statement that also locks the code until the transaction ends, so that parallel attempts are counted exactly (OTP-3,
    /// OTP-4).
    async fn attempt(
        &mut self,
        world: &World,
        method: MethodId,
        purpose: CodePurpose,
        most_tries: i64,
        now: Timestamp,
    ) -> StoreResult<Option<Attempt>>;
    /// The code, if it is valid, had fewer than `most_tries` attempts and was created after the given time.
    async fn made_since(
        &mut self,
        world: &World,
        method: MethodId,
        purpose: CodePurpose,
        most_tries: i64,
        since: Timestamp,
        now: Timestamp,
    ) -> StoreResult<Option<Code>>;
    /// Consumes the code; `false` if it was used, deleted or replaced, or has expired at `now`. One guarded statement (OTP-3). It ignores
    /// the number of attempts: the last one allowed may be the correct one.
    async fn consume(
        &mut self,
        world: &World,
        method: MethodId,
        purpose: CodePurpose,
        now: Timestamp,
    ) -> StoreResult<bool>;
    /// Deletes all codes of an identifier, whatever their purpose.
    async fn forget(&mut self, world: &World, method: MethodId) -> StoreResult<()>;
    /// Deletes codes of some worlds that expired before the given time; returns how many.
    async fn sweep(&mut self, worlds: &SweptWorlds, expired_before: Timestamp) -> StoreResult<u64>;
}

/// The recorded state of an identifier that has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Noted {
    /// End of its last lockout, if it ever had one.
    pub blocked_until: Option<Timestamp>,
}

/// Consecutive failures of an identifier, over all its codes (OTP-5). `subject` is the text of a [`MethodId`], or names another sign-in
/// method.
#[port]
pub trait Lockouts: Send {
    /// The recorded state of the identifier; `None` if it never failed, or was reset since.
    async fn noted(&mut self, world: &World, subject: &str) -> StoreResult<Option<Noted>>;
    /// The end of the identifier's lockout, if it has one.
    async fn blocked_until(
        &mut self,
        world: &World,
        subject: &str,
    ) -> StoreResult<Option<Timestamp>> {
        let noted = self.noted(world, subject).await?;
        Ok(noted.and_then(|noted| noted.blocked_until))
    }
    /// Counts a failure and returns the number of consecutive ones.
    async fn fail(&mut self, world: &World, subject: &str, at: Timestamp) -> StoreResult<i64>;
    /// Locks the identifier out.
    async fn block(&mut self, world: &World, subject: &str, until: Timestamp) -> StoreResult<()>;
    /// Clears failures and lockout after a success.
    async fn reset(&mut self, world: &World, subject: &str) -> StoreResult<()>;
    /// Deletes records of some worlds with no failure and no lockout since the given time; returns how many.
    async fn sweep(&mut self, worlds: &SweptWorlds, idle_since: Timestamp) -> StoreResult<u64>;
}

/// Counters of sends and failures that must be exact and survive restarts.
#[port]
pub trait Quotas: Send {
    /// Counts one use of `name` for `subject` in the window that its first use opened, in one statement. A use beyond the limit returns
    /// `admitted: false` and may leave the counter above the limit; callers then drop the transaction. A disabled limit admits every use.
    async fn consume(
        &mut self,
        world: &World,
        name: &'static str,
        subject: &str,
        limit: Limit,
        now: Timestamp,
    ) -> StoreResult<LimitVerdict>;
    /// Counts one use that is never rejected, in the window that its first use opened. It may become visible only at the commit, so
    /// concurrent callers wait for nothing but each other's commits.
    async fn count(
        &mut self,
        world: &World,
        name: &'static str,
        subject: &str,
        window: Seconds,
        now: Timestamp,
    ) -> StoreResult<()>;
    /// Refunds this many uses of the current window, not below zero, in one statement; does nothing if there is no window.
    async fn refund(
        &mut self,
        world: &World,
        name: &'static str,
        subject: &str,
        uses: u32,
    ) -> StoreResult<()>;
    /// Closes the windows of several names for one subject, in one statement: their next use opens a new one.
    async fn forget(
        &mut self,
        world: &World,
        names: &[&'static str],
        subject: &str,
    ) -> StoreResult<()>;
    /// Total uses of `name` over all its subjects, in windows that are open at `now`.
    async fn total(
        &mut self,
        world: &World,
        name: &'static str,
        now: Timestamp,
    ) -> StoreResult<u64>;
    /// Deletes windows of some worlds that closed before the given time; returns how many.
    async fn sweep(&mut self, worlds: &SweptWorlds, closed_before: Timestamp) -> StoreResult<u64>;
}

/// Selects a page of a user's sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionPage {
    /// Only sessions that are valid at this time under these limits; all stored ones if absent.
    pub alive: Option<(SessionLimits, Timestamp)>,
    /// Only sessions older than this one, which need not exist.
    pub after: Option<SessionId>,
    /// At most this many.
    pub limit: i64,
}

/// A token that replaces the session's current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewToken {
    /// Hash of the token that the caller presented; `None` if the session was identified by a JWT, which does not contain it.
    pub replaces: Option<TokenHash>,
    /// Hash of the new token.
    pub hash: TokenHash,
}

/// A session that was just used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionActivity {
    /// Its world.
    pub world: World,
    /// When it was used.
    pub at: Timestamp,
    /// The session's id.
    pub id: SessionId,
}

/// Sessions that were ended together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedSome {
    /// Their ids.
    pub ids: Vec<SessionId>,
    /// The position after which the next ones begin; `None` if none are left.
    pub last: Option<SessionId>,
}

impl EndedSome {
    /// The number of ended sessions.
    pub fn count(&self) -> u64 {
        u64::try_from(self.ids.len()).unwrap_or(u64::MAX)
    }
}

/// Sessions.
#[port]
pub trait Sessions: Send {
    /// Adds a session under the hash of its token.
    async fn insert(&mut self, session: &Session, token: &TokenHash) -> StoreResult<()>;
    /// A session by its token, including ended or expired ones.
    async fn find_by_token(
        &mut self,
        world: &World,
        token: &TokenHash,
    ) -> StoreResult<Option<Session>>;
    /// Sessions by their tokens, including ended or expired ones, in the requested order and in one statement. Tokens can be of several
    /// worlds, and the same one can be requested twice.
    async fn find_all_by_tokens(
        &mut self,
        wanted: &[(World, TokenHash)],
    ) -> StoreResult<Vec<Option<Session>>>;
    /// A session by its id, including ended or expired ones.
    async fn find(&mut self, world: &World, id: SessionId) -> StoreResult<Option<Session>>;
    /// Same as [`Sessions::find`], if the world still has the signing key of the JWT that names the session. One statement, so that a
    /// revoked key is rejected at once, whatever keys a process has cached.
    async fn find_signed(
        &mut self,
        world: &World,
        id: SessionId,
        key: SigningKeyId,
    ) -> StoreResult<Option<Session>>;
    /// Sessions of a user that were not ended explicitly, newest first.
    async fn of_user(&mut self, world: &World, user: UserId) -> StoreResult<Vec<Session>>;
    /// A page of a user's stored sessions, newest first.
    async fn page_of_user(
        &mut self,
        world: &World,
        user: UserId,
        page: SessionPage,
    ) -> StoreResult<Vec<Session>>;
    /// Writes expiry, activity, factors, device and permissions of a session that is not deleted, and its new token if any. One guarded
    /// statement; `false` if the session is deleted or, with [`NewToken::replaces`], has a different token by now.
    async fn update(&mut self, session: &Session, token: Option<NewToken>) -> StoreResult<bool>;
    /// Locks a session that is not deleted until the transaction ends, without changing it; `false` if there is none.
    async fn lock(&mut self, world: &World, id: SessionId) -> StoreResult<bool>;
    /// Writes only `last_active_at` of those sessions that are not deleted. They can be of several worlds, and one can be listed twice: at
    /// the same time, or at the latest of several.
    async fn touch(&mut self, seen: &[SessionActivity]) -> StoreResult<()>;
    /// Ends a session; `false` if it has ended or does not exist. `deleted_at` is set once (S-4).
    async fn delete(&mut self, world: &World, id: SessionId, at: Timestamp) -> StoreResult<bool>;
    /// Ends all sessions of a user; returns their ids.
    async fn delete_all(
        &mut self,
        world: &World,
        user: UserId,
        at: Timestamp,
    ) -> StoreResult<Vec<SessionId>>;
    /// Ends sessions of any user of the world: at most `limit`, ordered by id, after one of them.
    async fn delete_some(
        &mut self,
        world: &World,
        after: Option<SessionId>,
        limit: i64,
        at: Timestamp,
    ) -> StoreResult<EndedSome>;
    /// Ends all sessions of a user but one; returns their ids.
    async fn delete_others(
        &mut self,
        world: &World,
        user: UserId,
        kept: SessionId,
        at: Timestamp,
    ) -> StoreResult<Vec<SessionId>>;
    /// Deletes the rows of sessions of some worlds that ended or expired before the given time; returns how many.
    async fn sweep(&mut self, worlds: &SweptWorlds, over_before: Timestamp) -> StoreResult<u64>;
}
