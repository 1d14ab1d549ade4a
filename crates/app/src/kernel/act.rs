//! An act of an operator that is carried out by a use case which others run too, such as signing in, or disabling a user. Its audit entry
//! is part of the last transaction of that use case (AUD-1).

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use vestry_domain::audit::control::ControlEvent;
use vestry_domain::event::Actor;
use vestry_domain::ids::UserId;
use vestry_ports::store::Tx;

use crate::Fault;
use crate::kernel::state::control_trail::{ControlTrail, NewEnds};

/// An act with its audit entry.
pub(crate) struct Act {
    trail: Arc<ControlTrail>,
    entry: ControlEvent,
    /// The operator, if the act is about them: a sign-in finds out who it is.
    operator: Mutex<Option<UserId>>,
    is_about_operator: bool,
}

impl Act {
    /// An act of an operator about themselves. Actor and subject of the entry are still missing.
    pub(crate) const fn own(trail: Arc<ControlTrail>, entry: ControlEvent) -> Self {
        Self {
            trail,
            entry,
            operator: Mutex::new(None),
            is_about_operator: true,
        }
    }

    /// An act of an operator about something else, with its complete entry.
    pub(crate) const fn about(trail: Arc<ControlTrail>, entry: ControlEvent) -> Self {
        Self {
            trail,
            entry,
            operator: Mutex::new(None),
            is_about_operator: false,
        }
    }

    /// Names the operator. The last call wins, because a transaction can be retried.
    pub(crate) fn is_by(&self, operator: UserId) {
        *self.operator.lock().unwrap_or_else(PoisonError::into_inner) = Some(operator);
    }

    /// Writes the entry and commits.
    pub(crate) async fn commit(&self, tx: Box<dyn Tx>) -> Result<(), Fault> {
        let (tx, ends) = self.written(tx).await?;
        tx.commit().await?;
        self.trail.committed(ends);
        Ok(())
    }

    /// Writes the entry.
    pub(crate) async fn written(
        &self,
        mut tx: Box<dyn Tx>,
    ) -> Result<(Box<dyn Tx>, NewEnds), Fault> {
        let ends = self.trail.write(&mut *tx, vec![self.entry()?]).await?;
        Ok((tx, ends))
    }

    /// The entry to write.
    pub(crate) fn entry(&self) -> Result<ControlEvent, Fault> {
        if !self.is_about_operator {
            return Ok(self.entry.clone());
        }
        let operator = *self.operator.lock().unwrap_or_else(PoisonError::into_inner);
        let operator = operator.ok_or_else(|| Fault::Internal("act without an operator".into()))?;
        Ok(ControlEvent {
            actor: Actor::Operator(operator),
            subject: operator.into(),
            ..self.entry.clone()
        })
    }
}

impl fmt::Debug for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entry, .. } = self;
        f.debug_struct("Act")
            .field("entry", entry)
            .finish_non_exhaustive()
    }
}
