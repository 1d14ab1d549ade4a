//! Codes, their guards and budgets, and sessions.

use vestry_domain::code::{Code, CodePurpose, MethodId};
use vestry_domain::ids::{SessionId, SigningKeyId, UserId};
use vestry_domain::limits::{Limit, Verdict};
use vestry_domain::session::{Session, SessionLimits};
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::{StoreResult, SweptWorlds};

/// A try that was counted.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// The code to compare with.
    pub code: Code,
    /// Which try this is, from 1.
    pub tries: i64,
}

/// One-time passcodes: at most one per world, identifier and purpose.
#[port]
pub trait Codes: Send {
    /// Puts a code in the place of whatever was there, with no tries used (OTP-6).
    async fn replace(&mut self, code: &Code) -> StoreResult<()>;
    /// Counts a try against the code, if it is alive (`now < expires_at`, unused, fewer than `most_tries` tries), and returns it.
    /// One guarded statement that also locks the code until the transaction ends, so that parallel tries are exact (OTP-3, OTP-4).
    async fn attempt(
        &mut self,
        world: &World,
        method: MethodId,
        purpose: CodePurpose,
        most_tries: i64,
        now: Timestamp,
    ) -> StoreResult<Option<Attempt>>;
    /// The code, if it is alive, was tried fewer than `most_tries` times and was made after the given moment.
    async fn made_since(
        &mut self,
        world: &World,
        method: MethodId,
        purpose: CodePurpose,
        most_tries: i64,
        since: Timestamp,
        now: Timestamp,
    ) -> StoreResult<Option<Code>>;
    /// Uses the code up; `false` when it is used, gone or replaced, or expired at `now`. One guarded statement (OTP-3).
    /// It does not look at the tries: the last one allowed may be the right one.
    async fn consume(
        &mut self,
        world: &World,
        method: MethodId,
        purpose: CodePurpose,
        now: Timestamp,
    ) -> StoreResult<bool>;
    /// Deletes the codes of an identifier, whatever their purpose.
    async fn forget(&mut self, world: &World, method: MethodId) -> StoreResult<()>;
    /// Deletes codes that expired before the given moment, in some worlds; returns how many.
    async fn sweep(&mut self, worlds: &SweptWorlds, expired_before: Timestamp) -> StoreResult<u64>;
}

/// What is noted of an identifier that has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Noted {
    /// Until when it has to wait, where it once had to.
    pub blocked_until: Option<Timestamp>,
}

/// Failures in a row of an identifier, over all its codes (OTP-5). `subject` is the text of a [`MethodId`], or what else is
/// tried to get in by.
#[port]
pub trait Guards: Send {
    /// What is noted of the identifier; nothing where it never failed, or was reset since.
    async fn noted(&mut self, world: &World, subject: &str) -> StoreResult<Option<Noted>>;
    /// Until when the identifier has to wait, if it has to.
    async fn blocked_until(
        &mut self,
        world: &World,
        subject: &str,
    ) -> StoreResult<Option<Timestamp>> {
        let noted = self.noted(world, subject).await?;
        Ok(noted.and_then(|noted| noted.blocked_until))
    }
    /// Counts a failure and returns how many there are in a row now.
    async fn fail(&mut self, world: &World, subject: &str, at: Timestamp) -> StoreResult<i64>;
    /// Makes the identifier wait.
    async fn block(&mut self, world: &World, subject: &str, until: Timestamp) -> StoreResult<()>;
    /// Forgets the failures and the wait, after a success.
    async fn reset(&mut self, world: &World, subject: &str) -> StoreResult<()>;
    /// Deletes what did not fail since the given moment and has not waited since then, in some worlds;
    /// returns how many.
    async fn sweep(&mut self, worlds: &SweptWorlds, idle_since: Timestamp) -> StoreResult<u64>;
}

/// Counters that must be exact and outlive a restart: of sends, and of failures.
#[port]
pub trait Budgets: Send {
    /// Counts one use of `name` for `subject` in the window that its first use opened, in one statement.
    /// A use beyond the limit is answered with `admitted: false` and may leave the counter beyond the limit; callers
    /// then drop the transaction. A limit that is off admits every use.
    async fn spend(
        &mut self,
        world: &World,
        name: &'static str,
        subject: &str,
        limit: Limit,
        now: Timestamp,
    ) -> StoreResult<Verdict>;
    /// Counts one use that nobody refuses, in the window that its first use opened. It may be seen at the commit only, so that those who
    /// count at the same time wait for one another's commit and for nothing else.
    async fn count(
        &mut self,
        world: &World,
        name: &'static str,
        subject: &str,
        window: Seconds,
        now: Timestamp,
    ) -> StoreResult<()>;
    /// Takes back so many uses of the present window, down to none, in one statement; does nothing when there is no window.
    async fn give_back(
        &mut self,
        world: &World,
        name: &'static str,
        subject: &str,
        uses: u32,
    ) -> StoreResult<()>;
    /// Closes the windows of several names for one subject, in one statement: their next use is the first.
    async fn forget(
        &mut self,
        world: &World,
        names: &[&'static str],
        subject: &str,
    ) -> StoreResult<()>;
    /// Uses of `name` in the windows that are open at `now`, those of all its subjects together.
    async fn total(
        &mut self,
        world: &World,
        name: &'static str,
        now: Timestamp,
    ) -> StoreResult<u64>;
    /// Deletes windows that closed before the given moment, in some worlds; returns how many.
    async fn sweep(&mut self, worlds: &SweptWorlds, closed_before: Timestamp) -> StoreResult<u64>;
}

/// Which of a user's sessions to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionPage {
    /// Only sessions that are alive at this moment under these limits; all that are stored when absent.
    pub alive: Option<(SessionLimits, Timestamp)>,
    /// Only sessions older than this one, which may be deleted.
    pub after: Option<SessionId>,
    /// At most this many.
    pub limit: i64,
}

/// A token that takes the place of the session's present one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewToken {
    /// Hash of the token that the caller presented; `None` when the session was named by a JWT, which does not know it.
    pub replaces: Option<TokenHash>,
    /// Hash of the new token.
    pub hash: TokenHash,
}

/// A session that was just used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeenSession {
    /// Its world.
    pub world: World,
    /// When it was used.
    pub at: Timestamp,
    /// Which it is.
    pub id: SessionId,
}

/// Sessions that ended together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedSome {
    /// Which.
    pub ids: Vec<SessionId>,
    /// Where the next ones begin; `None` when none are left.
    pub last: Option<SessionId>,
}

impl EndedSome {
    /// How many.
    pub fn count(&self) -> u64 {
        u64::try_from(self.ids.len()).unwrap_or(u64::MAX)
    }
}

/// Sessions.
#[port]
pub trait Sessions: Send {
    /// Adds a session under the hash of its token.
    async fn insert(&mut self, session: &Session, token: &TokenHash) -> StoreResult<()>;
    /// A session by its token; ended or expired ones too.
    async fn find_by_token(
        &mut self,
        world: &World,
        token: &TokenHash,
    ) -> StoreResult<Option<Session>>;
    /// Sessions by their tokens, ended or expired ones too: for each token in the order asked, by one statement. Tokens may be of
    /// several worlds, and the same may be asked for twice.
    async fn find_all_by_tokens(
        &mut self,
        wanted: &[(World, TokenHash)],
    ) -> StoreResult<Vec<Option<Session>>>;
    /// A session by its id; ended or expired ones too.
    async fn find(&mut self, world: &World, id: SessionId) -> StoreResult<Option<Session>>;
    /// The same, if the world still has the signing key under which a JWT names the session: one statement, so that a key that was
    /// withdrawn counts no more from then on, whatever keys a process remembers.
    async fn find_signed(
        &mut self,
        world: &World,
        id: SessionId,
        key: SigningKeyId,
    ) -> StoreResult<Option<Session>>;
    /// Sessions of a user that have not ended by deletion, newest first.
    async fn of_user(&mut self, world: &World, user: UserId) -> StoreResult<Vec<Session>>;
    /// A page of a user's stored sessions, newest first.
    async fn page_of_user(
        &mut self,
        world: &World,
        user: UserId,
        page: SessionPage,
    ) -> StoreResult<Vec<Session>>;
    /// Writes end, activity, factors, device and permissions of a session that is not deleted, and its new token if there is
    /// one, in one guarded statement; `false` when the session is deleted or, with [`NewToken::replaces`], has another token by now.
    async fn update(&mut self, session: &Session, token: Option<NewToken>) -> StoreResult<bool>;
    /// Locks a session that is not deleted until the transaction ends, and changes nothing of it; `false` when there is none.
    async fn lock(&mut self, world: &World, id: SessionId) -> StoreResult<bool>;
    /// Writes `last_active_at`, and nothing else, of those sessions that are not deleted. They may be of several worlds, and one may be
    /// named twice: at one moment, or at the latest of several.
    async fn touch(&mut self, seen: &[SeenSession]) -> StoreResult<()>;
    /// Ends a session; `false` when it has ended or does not exist. `deleted_at` is set once (S-4).
    async fn delete(&mut self, world: &World, id: SessionId, at: Timestamp) -> StoreResult<bool>;
    /// Ends all sessions of a user; returns which.
    async fn delete_all(
        &mut self,
        world: &World,
        user: UserId,
        at: Timestamp,
    ) -> StoreResult<Vec<SessionId>>;
    /// Ends sessions of the world, whosesoever they are: at most `limit` in the order of their ids, after one of them.
    async fn delete_some(
        &mut self,
        world: &World,
        after: Option<SessionId>,
        limit: i64,
        at: Timestamp,
    ) -> StoreResult<EndedSome>;
    /// Ends all sessions of a user but one; returns which.
    async fn delete_others(
        &mut self,
        world: &World,
        user: UserId,
        kept: SessionId,
        at: Timestamp,
    ) -> StoreResult<Vec<SessionId>>;
    /// Deletes the rows of sessions that ended or expired before the given moment, in some worlds; returns how many.
    async fn sweep(&mut self, worlds: &SweptWorlds, over_before: Timestamp) -> StoreResult<u64>;
}
