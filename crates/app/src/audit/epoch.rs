//! The epoch: a database that is behind its checkpoints outside is not used until it was recovered (PR-83, PR-84).

use std::time::Duration;

use vestry_domain::World;
use vestry_domain::audit::checkpoint::{Checkpoint, SignedNote};
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::metric::TamperKind;
use vestry_domain::timestamp::Seconds;
use vestry_ports::anchors::SinkError;
use vestry_ports::custody::CustodyError;
use vestry_ports::meter::Counted;
use vestry_ports::store::StoreError;

use super::signed_checkpoints::{TrustedKeys, believed};
use crate::kernel::fault::causes;
use crate::{Fault, Service};

/// Interval between comparisons.
const EVERY: Duration = Duration::from_secs(60);
/// Interval while a starting process waits for the store.
const AGAIN: Duration = Duration::from_secs(1);

/// How the database compares with `epoch.store`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Epoch {
    /// It has the newest checkpoint of the store, or there is no store, or no checkpoint yet.
    Current,
    /// It lacks the newest checkpoint of the store: it was set back.
    Behind,
    /// The newest checkpoint of the store was signed by another deployment.
    Foreign,
}

/// Why the database was not compared.
#[derive(Debug, thiserror::Error)]
enum NotCompared {
    #[error("the store cannot be read")]
    Store(#[from] SinkError),
    #[error("the database cannot be read")]
    Database(#[from] StoreError),
    #[error("the checkpoint cannot be verified")]
    Key(#[source] CustodyError),
}

impl Service {
    /// Closes the database to requests and workers until [`Service::run_epoch`] has compared it with `epoch.store`, if there is one.
    pub fn await_epoch(&self) {
        if self.ports.epoch_store.is_some() {
            self.gate.close();
        }
    }

    /// Returns whether requests are refused, because the database is behind `epoch.store` or was not compared with it yet.
    pub fn is_held_back(&self) -> bool {
        self.gate.is_closed()
    }

    /// Compares the database with `epoch.store` every minute until `stop` completes. Once it is behind, it stays closed for this process:
    /// what the process remembers may belong to the lost time.
    pub async fn run_epoch(&self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        let mut is_first = true;
        loop {
            let pause = tokio::select! {
                biased;
                () = &mut stop => return,
                pause = self.look_at_epoch(is_first) => pause,
            };
            let Some(pause) = pause else {
                return stop.await;
            };
            is_first = false;
            tokio::select! {
                () = &mut stop => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Compares once, and opens or closes the database. Returns when to compare again; `None`: never.
    pub async fn look_at_epoch(&self, is_first: bool) -> Option<Duration> {
        let store = self.ports.epoch_store.as_ref()?;
        let name = store.sink.name();
        match self.compare_epoch().await {
            Ok(Epoch::Current) => {
                if self.gate.is_closed() && !is_first {
                    tracing::info!("epoch store {name} was read; database is current");
                }
                self.gate.open();
                self.hold_journal_key().await;
                Some(EVERY)
            }
            Ok(Epoch::Behind) => {
                self.gate.close();
                let set_back = Counted::TamperAlarm(TamperKind::Rollback);
                self.ports.meter.count(set_back);
                tracing::error!(
                    alert = "VestryAuditFailing",
                    sink = name,
                    "ALARM: database is behind its audit checkpoints (possible rollback); calls return 503; run vestry recover"
                );
                None
            }
            Ok(Epoch::Foreign) => {
                self.gate.close();
                tracing::error!(
                    alert = "VestryAuditFailing",
                    sink = name,
                    "ALARM: epoch store has checkpoints of another deployment; calls return 503; check epoch.store"
                );
                None
            }
            Err(error) => {
                let error = causes(&error);
                if !self.gate.is_closed() {
                    tracing::warn!(error, "epoch store {name} cannot be read; retrying");
                    return Some(EVERY);
                }
                if is_first {
                    tracing::warn!(error, "epoch store {name} cannot be read; waiting");
                }
                Some(AGAIN)
            }
        }
    }

    /// Compares the database with `epoch.store` before a command. Afterwards, changes are refused if it is behind.
    ///
    /// A store that cannot be read does not stop a command: an operator may have to revoke something now.
    pub async fn compare_before_changes(&self) {
        let Some(store) = &self.ports.epoch_store else {
            return;
        };
        let name = store.sink.name();
        match self.compare_epoch().await {
            Ok(Epoch::Current) => self.hold_journal_key().await,
            Ok(Epoch::Behind | Epoch::Foreign) => self.gate.allow_reads(),
            Err(error) => {
                let error = causes(&error);
                tracing::warn!(error, "epoch store {name} cannot be read");
            }
        }
    }

    /// Ensures that changes can be signed.
    async fn hold_journal_key(&self) {
        if let Err(fault) = self.hold_deployment_key(KeyPurpose::Secrets).await {
            let error = causes(&fault);
            tracing::warn!(error, "key of the journal is not available yet");
        }
    }

    /// Compares the database with `epoch.store`: a checkpoint is committed before it is stored there.
    async fn compare_epoch(&self) -> Result<Epoch, NotCompared> {
        let Some(store) = &self.ports.epoch_store else {
            return Ok(Epoch::Current);
        };
        let Some(note) = store.sink.newest().await? else {
            return Ok(Epoch::Current);
        };
        let Some(checkpoint) = checkpoint_of(&note) else {
            return Ok(Epoch::Foreign);
        };
        let mut read = self.ungated.read().await?;
        let before = checkpoint.number.saturating_sub(1);
        let found = read.checkpoints().after(&World::DEPLOYMENT, before, 1);
        let found = found.await?.into_iter().next();
        drop(read);
        if found.is_some_and(|kept| kept.note == note) {
            return Ok(Epoch::Current);
        }
        let signer = &*self.ports.checkpoint_signer;
        let own = match signer.notary_key(&World::DEPLOYMENT).await {
            Ok(own) => own,
            // The database is older than its own key.
            Err(CustodyError::Tampered { .. }) => return Ok(Epoch::Behind),
            Err(error) => return Err(NotCompared::Key(error)),
        };
        match believed(&note, &TrustedKeys::Own, Some(own), signer) {
            Ok(_) => Ok(Epoch::Behind),
            Err(_) => Ok(Epoch::Foreign),
        }
    }

    /// Begins an epoch with a checkpoint that lists everything, numbered above all that a sink has. Returns the number of the epoch;
    /// `None` if no checkpoint was ever made. It waits until the key of checkpoints is one period old.
    ///
    /// # Errors
    /// See [`Fault`].
    pub(crate) async fn raise_epoch(&self) -> Result<Option<i64>, Fault> {
        if self.ports.sinks.is_empty() {
            return Ok(None);
        }
        let (mut number, mut epoch) = (0, 1);
        if let Some(kept) = self.newest_checkpoint().await? {
            number = kept.number;
            let stated = self.own_checkpoint(&kept).await?;
            epoch = stated.map_or(epoch, |(_, checkpoint)| checkpoint.epoch());
        }
        for sink in &self.ports.sinks {
            match sink.newest().await {
                Ok(Some(note)) => {
                    if let Some(checkpoint) = checkpoint_of(&note) {
                        number = number.max(checkpoint.number);
                        epoch = epoch.max(checkpoint.epoch());
                    }
                }
                Ok(None) => {}
                Err(error) => {
                    let (sink, error) = (sink.name(), causes(&error));
                    tracing::warn!(
                        sink,
                        error,
                        "audit sink cannot be read; its checkpoints may have higher numbers"
                    );
                }
            }
        }
        if number == 0 {
            return Ok(None);
        }
        let wait = self.checkpoint_key_ripens_in().await?;
        if wait > Seconds(0) {
            let wait = wait.at_least_one();
            tracing::info!("key of audit checkpoints is young; waiting {wait} s");
            tokio::time::sleep(Duration::from_secs(wait)).await;
        }
        let raised = epoch.saturating_add(1);
        let made = self.make_checkpoint_of(number, raised).await?;
        self.bring_to_sinks().await;
        Ok(made.map(|_| raised))
    }
}

fn checkpoint_of(note: &str) -> Option<Checkpoint> {
    let note = SignedNote::parse(note).ok()?;
    Checkpoint::parse(&note.text).ok()
}
