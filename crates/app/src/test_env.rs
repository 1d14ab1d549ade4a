//! The captured messages of test worlds. A live caller gets [`TestEnvError::NotFound`], as for a route that is not there (S-17).

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use vestry_domain::api_key::Scope;
use vestry_domain::ids::MessageId;
use vestry_domain::message::{CapturedMessage, MessageKind, compared_recipient};
use vestry_domain::{Invalid, World};
use vestry_ports::store::CapturedFilter;

use crate::fault::retried;
use crate::refusal::has_common;
use crate::{Caller, Fault, Refusal, Service};

/// Most seconds that a look-up waits for a message.
pub const WAIT_MAX: u64 = 30;
/// Most messages in one answer.
const PAGE: i64 = 100;
/// How often another process's captures are looked for while waiting.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Whether the key of a call was read for this look.
#[derive(Clone, Copy)]
enum Key {
    /// Just now, when the call was let in.
    IsFresh,
    /// Before the call waited, so that it has to be read again.
    IsOld,
}

/// What the caller asks for.
#[derive(Clone, Default)]
pub struct FindMessages {
    /// This recipient; two spellings of one address are the same.
    pub to: Option<String>,
    /// As in [`MessageKind::as_str`].
    pub kind: Option<String>,
    /// Only messages newer than this one.
    pub after: Option<MessageId>,
    /// Seconds to wait until there is one, at most 30.
    pub wait: Option<u64>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum TestEnvError {
    /// The key is a live one.
    #[error("there is no such route")]
    NotFound,
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(TestEnvError);

/// Whether the caller may use what only test environments have. Whoever reads the codes of users, or moves the clock past the
/// end of what protects them, can sign in as them: that takes the scope of signing in. A live caller learns nothing first.
pub(crate) fn powers(caller: &Caller) -> Result<(), TestEnvError> {
    if !caller.is_test() {
        return Err(TestEnvError::NotFound);
    }
    Ok(caller.require(Scope::AuthWrite)?)
}

impl Service {
    /// Captured messages that fit, newest first; waits for the first one if asked to.
    ///
    /// Runs on the caller's own task, and crosses for each look: a client that goes away leaves nobody waiting. The key is read again
    /// before each look after the first.
    ///
    /// # Errors
    /// [`TestEnvError`]; [`Refusal::KeyEnded`] when the key was revoked meanwhile.
    pub async fn captured_messages(
        self: &Arc<Self>,
        caller: &Caller,
        query: FindMessages,
    ) -> Result<Vec<CapturedMessage>, TestEnvError> {
        powers(caller)?;
        let wait = query.wait.unwrap_or(0);
        if wait > WAIT_MAX {
            return Err(Invalid::value(
                "wait",
                format!("wait must be a whole number of seconds from 0 to {WAIT_MAX}"),
            )
            .into());
        }
        if let Some(kind) = &query.kind {
            kind.parse::<MessageKind>()?;
        }
        let filter = CapturedFilter {
            to: query.to.as_deref().map(compared_recipient),
            kind: query.kind,
            after: query.after,
            limit: PAGE,
        };
        let until = Instant::now() + Duration::from_secs(wait);
        let mut bell = self.captured_bell.notified();
        let mut messages = self
            .look_for_messages(caller, &filter, Key::IsFresh)
            .await?;
        if !messages.is_empty() || wait == 0 {
            return Ok(messages);
        }
        let Some(_place) = self.captured_room.place_for(caller) else {
            self.captured_room.turn_away(until).await;
            return self.look_for_messages(caller, &filter, Key::IsOld).await;
        };
        while messages.is_empty() && Instant::now() < until {
            let look_again = until.min(Instant::now() + LOOK_EVERY);
            // Whichever comes first; a message of another process rings no bell here.
            tokio::select! {
                () = bell => {}
                () = tokio::time::sleep_until(look_again) => {}
                () = self.captured_room.closed() => break,
            }
            bell = self.captured_bell.notified();
            messages = self.look_for_messages(caller, &filter, Key::IsOld).await?;
        }
        Ok(messages)
    }

    async fn look_for_messages(
        self: &Arc<Self>,
        caller: &Caller,
        filter: &CapturedFilter,
        key: Key,
    ) -> Result<Vec<CapturedMessage>, TestEnvError> {
        let (caller, filter) = (caller.clone(), filter.clone());
        let look = |service: Arc<Self>| async move {
            if matches!(key, Key::IsOld) {
                powers(&*service.authenticate_again(&caller).await?)?;
            }
            let mut read = service.ports.store.read().await?;
            Ok(read.captured().list(&caller.world, &filter).await?)
        };
        self.run(look).await?
    }

    /// Deletes the captured messages of the world.
    ///
    /// # Errors
    /// [`TestEnvError`].
    pub async fn clear_captured(&self, caller: &Caller) -> Result<u64, TestEnvError> {
        powers(caller)?;
        Ok(retried(|| self.clear_world(&caller.world)).await?)
    }

    async fn clear_world(&self, world: &World) -> Result<u64, Fault> {
        let mut tx = self.ports.store.begin().await?;
        let cleared = tx.captured().clear(world).await?;
        tx.commit().await?;
        Ok(cleared)
    }
}
