//! Requests with an `Idempotency-Key`: one run of each, and its answer for whoever sends it again.
//!
//! A request takes its key, runs, and leaves its answer under the key. Meanwhile its lease is renewed; a run that falls
//! silent is one whose process died, and when its lease has ended the same request may run in its place. What such a run
//! had done is then there already, so a use case whose effect cannot be met again ends with `Caller::commit_last`:
//! its transaction is kept open until the answer is known, and both are on disk or neither is.
//!
//! Answers hold tokens and requests hold passwords: the answer is sealed, bound to world, key and request, and of the
//! request only a keyed hash is kept.
//!
//! An answer is kept with what it rests on, and whoever asks for it again must be allowed now what was allowed then (M-9): the
//! checks that let the run pass are made once more, and none of its work.

mod kept;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;
use vestry_domain::envelope::{Mac, Place, Sealed, SecretKind};
use vestry_domain::idempotency::{
    Claim, IdempotencyKey, KEPT_FOR, KeyDigest, KnownKey, LEASE, RENEWED_EVERY,
};
use vestry_domain::user::ShownStatus;
use vestry_domain::{Secret, World};
use vestry_ports::store::{Repositories, StoreResult};

use crate::condition::Condition;
pub use crate::condition::Shown;
use crate::fault::{causes, retried};
use crate::refusal::has_common;
pub use crate::run::Run;
use crate::run::{About, Last};
use crate::users::status::status_of;
use crate::wallets::UnusableWallet;
use crate::{Caller, Fault, Refusal, Service};

/// A request as it was sent.
#[derive(Clone)]
pub struct KeyedRequest {
    /// Such as `POST`.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The body, byte for byte.
    pub body: Secret<Vec<u8>>,
}

/// What is to be done with a request that has a key.
pub enum Begun {
    /// It runs, and ends with [`Service::end_run`].
    Run(Arc<Run>),
    /// It ran before, and this was its answer, as it was handed to [`Service::end_run`].
    Replay(Secret<Vec<u8>>),
}

/// Why a request with a key does not run.
#[derive(Debug, thiserror::Error)]
pub enum BeginRunError {
    /// Another request had this key first.
    #[error("the key belongs to another request")]
    Reused,
    /// The same request is running.
    #[error("the request is still running")]
    Running,
    /// It ran, but the App does not let private keys out any more.
    #[error("the App does not let private keys out")]
    ExportDisabled,
    /// It ran, but its wallet could not be used now.
    #[error(transparent)]
    Unusable(#[from] UnusableWallet),
    /// It ran, but its user may not sign in any more: what it showed is refused as what is wrong.
    #[error("the user may not sign in")]
    ShutOut(Shown),
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(BeginRunError);

/// How a run came out.
pub enum Outcome {
    /// With an answer that stays the answer.
    Decided(Secret<Vec<u8>>),
    /// With an answer that may be another one next time. What the run did stays done.
    Undecided,
    /// With a failure of ours.
    Failed,
}

/// Renews the lease of a run until it is dropped.
pub struct Renewal(AbortHandle);

impl Drop for Renewal {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Where an answer stands; bound to the request, too.
fn owner(key: &KeyDigest, request: &Mac) -> String {
    format!("{}/{}", hex::encode(key.0), hex::encode(&request.tag))
}

const fn place(world: World, owner: &str) -> Place<'_> {
    Place {
        world,
        kind: SecretKind::KeptAnswer,
        owner,
    }
}

/// What makes two requests the same.
fn parts(request: &KeyedRequest) -> [&[u8]; 3] {
    [
        request.method.as_bytes(),
        request.target.as_bytes(),
        request.body.expose(),
    ]
}

impl Service {
    /// Takes the key for a run, or finds out what became of the earlier one.
    ///
    /// # Errors
    /// [`BeginRunError`].
    pub async fn begin_run(
        &self,
        caller: &Caller,
        key: &IdempotencyKey,
        request: &KeyedRequest,
    ) -> Result<Begun, BeginRunError> {
        let world = caller.world;
        let parts = parts(request);
        let sealer = &self.ports.sealer;
        let mac = sealer.mac(&world, SecretKind::KeptAnswer, &parts);
        let mut holder = [0_u8; 16];
        self.ports.entropy.fill(&mut holder);
        let claim = Claim {
            world,
            key: key.digest(&world),
            request: mac.await?,
            holder: hex::encode(holder),
            expires_at: self.now(&world) + KEPT_FOR,
            lease_until: self.machine_time() + LEASE,
        };
        let Some(known) = retried(|| self.claim_key(&claim)).await? else {
            return Ok(begun(claim, false));
        };
        let is_same = sealer
            .mac_matches(&world, SecretKind::KeptAnswer, &parts, &known.request)
            .await?;
        if !is_same {
            return Err(BeginRunError::Reused);
        }
        self.join(caller, claim, known).await
    }

    /// The same request came before.
    async fn join(
        &self,
        caller: &Caller,
        claim: Claim,
        known: KnownKey,
    ) -> Result<Begun, BeginRunError> {
        if let Some(answer) = &known.answer {
            let owner = owner(&claim.key, &known.request);
            let opened = self.ports.sealer.open(place(claim.world, &owner), answer);
            let kept = kept::read(opened.await?.expose());
            let kept =
                kept.ok_or_else(|| Fault::Internal("a kept answer cannot be read".into()))?;
            for condition in kept.conditions {
                self.still_holds(caller, condition).await?;
            }
            return Ok(Begun::Replay(kept.answer));
        }
        if known.lease_until > self.machine_time() {
            return Err(BeginRunError::Running);
        }
        let claim = Claim {
            request: known.request,
            ..claim
        };
        if retried(|| self.take_key_over(&claim, &known.holder)).await? {
            if !known.erased {
                tracing::warn!("idempotent request was abandoned by its process; re-running");
            }
            Ok(begun(claim, known.erased))
        } else {
            Err(BeginRunError::Running)
        }
    }

    /// Whether the call would be let pass now, as far as this goes.
    async fn still_holds(
        &self,
        caller: &Caller,
        condition: Condition,
    ) -> Result<(), BeginRunError> {
        match condition {
            Condition::Right(scope) => caller.require(scope)?,
            Condition::Export if caller.settings().wallet_export => {}
            Condition::Export => return Err(BeginRunError::ExportDisabled),
            Condition::Usable(wallet) => {
                self.usable_wallet(caller, wallet).await??;
            }
            Condition::MaySignIn(user, shown) => {
                let mut read = self.ports.store.read().await?;
                let status = status_of(&mut *read, &caller.world, user).await?;
                if status.is_none_or(|status| status == ShownStatus::Disabled) {
                    return Err(BeginRunError::ShutOut(shown));
                }
            }
        }
        Ok(())
    }

    async fn claim_key(&self, claim: &Claim) -> Result<Option<KnownKey>, Fault> {
        let now = self.now(&claim.world);
        let mut tx = self.ports.store.begin().await?;
        let known = tx.idempotency().claim(claim, now).await?;
        if known.is_none() {
            tx.commit().await?;
        }
        Ok(known)
    }

    async fn take_key_over(&self, claim: &Claim, silent: &str) -> Result<bool, Fault> {
        let now = self.machine_time();
        let mut tx = self.ports.store.begin().await?;
        let taken = tx.idempotency().take_over(claim, silent, now).await?;
        tx.commit().await?;
        Ok(taken)
    }

    /// Keeps the key of a run while it lasts.
    pub fn renew_run(self: &Arc<Self>, run: &Arc<Run>) -> Renewal {
        let (service, run) = (Arc::clone(self), Arc::clone(run));
        let renewing = self.spawn(async move {
            let every = Duration::from_secs(RENEWED_EVERY.at_least_one());
            loop {
                tokio::time::sleep(every).await;
                match retried(|| service.renew_lease(&run)).await {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(fault) => tracing::warn!(
                        error = causes(&fault),
                        "the lease of a run could not be renewed"
                    ),
                }
            }
        });
        Renewal(renewing)
    }

    /// Gives a run a fresh lease; `false` when the key is not its own any more.
    ///
    /// # Errors
    /// [`Fault`]; the lease is as it was.
    pub async fn renew_lease(&self, run: &Run) -> Result<bool, Fault> {
        let Claim {
            world, key, holder, ..
        } = &run.claim;
        let until = self.machine_time() + LEASE;
        let mut tx = self.ports.store.begin().await?;
        let renewed = tx.idempotency().renew(world, key, holder, until).await?;
        tx.commit().await?;
        Ok(renewed)
    }

    /// Ends a run: a decided answer is kept, any other one gives the key back.
    ///
    /// # Errors
    /// What the run did is undone, or nobody knows whether it is: the answer must not leave. Sent again, the request is
    /// answered with what is on disk.
    pub async fn end_run(&self, run: &Run, outcome: Outcome) -> Result<(), Fault> {
        // Dropping the transaction of a failure undoes it.
        let last = run
            .take_last()
            .filter(|_| !matches!(outcome, Outcome::Failed));
        if let Some(last) = last {
            let ended = self.end_with(run, &outcome, last).await;
            if ended.is_err() {
                // Nothing is given back if the answer is on disk after all.
                let released = retried(|| self.release_key(run)).await;
                released.unwrap_or_else(|fault| report(&fault));
            }
            // What was put into the outbox is there from now on only.
            self.outbox_bell.notify_one();
            return ended;
        }
        let ended = match &outcome {
            Outcome::Decided(answer) => self.keep(run, answer).await,
            Outcome::Undecided | Outcome::Failed => retried(|| self.release_key(run)).await,
        };
        // What the run did is on disk, and so its answer stands: the key is free again when its lease has ended.
        ended.unwrap_or_else(|fault| report(&fault));
        Ok(())
    }

    async fn end_with(&self, run: &Run, outcome: &Outcome, last: Last) -> Result<(), Fault> {
        let Claim {
            world, key, holder, ..
        } = &run.claim;
        let Last { mut tx, ends } = last;
        let is_its = match outcome {
            Outcome::Decided(answer) => {
                let sealed = self.sealed(run, answer).await?;
                keep_in(&mut *tx, run, answer, &sealed).await?
            }
            Outcome::Undecided | Outcome::Failed => {
                tx.idempotency().release(world, key, holder).await?
            }
        };
        if !is_its {
            // It was silent for so long that the request runs, or ran, in its place.
            return Err(Fault::LostRace);
        }
        tx.commit().await?;
        if let Some(ends) = ends {
            self.control.committed(ends);
        }
        Ok(())
    }

    async fn sealed(&self, run: &Run, answer: &Secret<Vec<u8>>) -> Result<Sealed, Fault> {
        let owner = owner(&run.claim.key, &run.claim.request);
        let place = place(run.claim.world, &owner);
        let kept = kept::written(&run.conditions(), answer.expose());
        Ok(self.ports.sealer.seal(place, kept.expose()).await?)
    }

    async fn keep(&self, run: &Run, answer: &Secret<Vec<u8>>) -> Result<(), Fault> {
        let sealed = self.sealed(run, answer).await?;
        retried(|| async {
            let mut tx = self.ports.store.begin().await?;
            keep_in(&mut *tx, run, answer, &sealed).await?;
            Ok::<_, Fault>(tx.commit().await?)
        })
        .await
    }

    async fn release_key(&self, run: &Run) -> Result<(), Fault> {
        let Claim {
            world, key, holder, ..
        } = &run.claim;
        let mut tx = self.ports.store.begin().await?;
        tx.idempotency().release(world, key, holder).await?;
        Ok(tx.commit().await?)
    }
}

fn begun(claim: Claim, repeats_erased: bool) -> Begun {
    Begun::Run(Arc::new(Run::new(claim, repeats_erased)))
}

/// Keeps an answer, bound to the user it is about; `false` when the key is not the run's any more. If the user was deleted in the meantime,
/// the answer is erased at once.
async fn keep_in(
    tx: &mut dyn Repositories,
    run: &Run,
    answer: &Secret<Vec<u8>>,
    sealed: &Sealed,
) -> StoreResult<bool> {
    let Claim {
        world, key, holder, ..
    } = &run.claim;
    let named = kept::user_of(answer.expose()).map(About::User);
    let (user, must_exist) = match run.about().or(named) {
        Some(About::User(user)) => (Some(user), true),
        Some(About::Coming(user)) => (Some(user), false),
        Some(About::Nobody) | None => (None, false),
    };
    // Whoever deletes the user waits for this lock, and finds the answer then.
    let gone = match user.filter(|_| must_exist) {
        Some(user) if !tx.users().lock(world, user).await? => Some(user),
        _ => None,
    };
    let is_its = tx
        .idempotency()
        .finish(world, key, holder, sealed, user)
        .await?;
    if let Some(gone) = gone {
        tx.idempotency().erase(world, gone).await?;
    }
    Ok(is_its)
}

fn report(fault: &Fault) {
    tracing::error!(
        error = causes(fault),
        "the key of a request was neither given its answer nor given back"
    );
}
