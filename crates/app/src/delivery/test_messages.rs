//! Captured messages of test environments. A live key gets [`TestEnvError::NotFound`], as for a route that does not exist (S-17).

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use vestry_domain::Invalid;
use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, Detail, Subject};
use vestry_domain::ids::MessageId;
use vestry_domain::message::{CapturedMessage, MessageKind, compared_recipient};
use vestry_ports::store::CapturedFilter;

use crate::kernel::fault::retried;
use crate::kernel::refusal::has_common;
use crate::{Caller, Fault, Refusal, Service};

/// Maximum seconds that a call waits for a message.
pub const MAX_WAIT: u64 = 30;
/// Maximum messages in one response.
pub const PAGE: i64 = 100;
/// Poll interval for captures by other processes while waiting.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Whether the key of a call was read for this look-up.
#[derive(Clone, Copy)]
enum Key {
    /// It was read when the call was admitted.
    IsFresh,
    /// It was read before the call waited, so it has to be read again.
    IsOld,
}

/// Query parameters.
#[derive(Clone, Default)]
pub struct FindMessages {
    /// Only messages to this recipient; spellings of the same address are equivalent.
    pub to: Option<String>,
    /// Only messages of this kind, as in [`MessageKind::as_str`].
    pub kind: Option<String>,
    /// Only messages newer than this one.
    pub after: Option<MessageId>,
    /// Seconds to wait for a message, at most 30.
    pub wait: Option<u64>,
}

/// Reason why the call failed.
#[derive(Debug, thiserror::Error)]
pub enum TestEnvError {
    /// The key is a live key.
    #[error("no such route")]
    NotFound,
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(TestEnvError);

/// Checks that the caller may use test-only endpoints.
///
/// Reading the codes of users, or moving the clock past an expiry, allows signing in as them, so it requires the scope for signing in. A
/// live caller is rejected first and learns nothing.
pub(crate) fn powers(caller: &Caller) -> Result<(), TestEnvError> {
    if !caller.is_test() {
        return Err(TestEnvError::NotFound);
    }
    Ok(caller.authorize(Action::ControlTestEnvironment)?)
}

impl Service {
    /// Returns matching captured messages, newest first, and waits for the first one if requested.
    ///
    /// Runs on the caller's own task and enters the service runtime for each look-up, so that a disconnected client leaves no waiting task.
    /// The key is read again before each look-up after the first.
    ///
    /// # Errors
    /// [`TestEnvError`]; [`Refusal::KeyEnded`] if the key was revoked while waiting.
    pub async fn captured_messages(
        self: &Arc<Self>,
        caller: &Caller,
        query: FindMessages,
    ) -> Result<Vec<CapturedMessage>, TestEnvError> {
        powers(caller)?;
        let wait = query.wait.unwrap_or(0);
        if wait > MAX_WAIT {
            return Err(Invalid::value(
                "wait",
                format!("wait must be a whole number of seconds from 0 to {MAX_WAIT}"),
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
        let place = self
            .captured_room
            .place_for(caller.world.app_id, caller.principal.actor());
        let Some(_place) = place else {
            self.captured_room.turn_away(until).await;
            return self.look_for_messages(caller, &filter, Key::IsOld).await;
        };
        while messages.is_empty() && Instant::now() < until {
            let look_again = until.min(Instant::now() + LOOK_EVERY);
            // Poll as well: a message captured by another process does not notify this one.
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

    /// Deletes the captured messages of the environment.
    ///
    /// # Errors
    /// [`TestEnvError`].
    pub async fn clear_captured(&self, caller: &Caller) -> Result<u64, TestEnvError> {
        powers(caller)?;
        Ok(retried(|| self.clear_world(caller)).await?)
    }

    async fn clear_world(&self, caller: &Caller) -> Result<u64, Fault> {
        // The App's own tests clear them often, and with their key.
        let is_recorded = caller.key().is_none();
        let world = caller.world;
        let mut tx = self.begin_change_if(is_recorded, world).await?;
        let cleared = tx.captured().clear(&world).await?;
        if is_recorded {
            let detail = Detail::default().with("count", cleared);
            let (action, subject) = (ControlAction::TestMessagesClear, Subject::world(&world));
            tx.note(self.done(&caller.into(), action, subject, &detail));
        }
        tx.commit_with_any().await?;
        Ok(cleared)
    }
}
