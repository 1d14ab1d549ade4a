//! Requests with an `Idempotency-Key`: each runs once, and its response is stored for repeats.
//!
//! A request claims its key, runs, and stores its response under the key. While it runs, its lease is renewed. If the process dies, the
//! lease expires and the same request can run again. By then the effects of the dead run may already be committed. A use case whose effects
//! must not happen twice therefore ends with `Caller::commit_last`. Its transaction stays open until the response is known, and both are
//! committed or neither is.
//!
//! Responses contain tokens and requests contain passwords. The response is encrypted, bound to environment, key and request. Of the
//! request only a keyed hash is stored.
//!
//! A response is stored with its preconditions, and a repeat is allowed only what the first call was allowed (M-9). The checks of the first
//! run are made again; its work is not.

mod stored_response;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;
use vestry_domain::envelope::{Mac, Place, Sealed, SecretKind};
use vestry_domain::extent::Extent;
use vestry_domain::idempotency::{
    Claim, IdempotencyKey, KEPT_FOR, KeyDigest, KnownKey, LEASE, RENEWED_EVERY,
};
use vestry_domain::user::ShownStatus;
use vestry_domain::{Secret, World};
use vestry_ports::store::{Repositories, StoreResult};

use crate::identity::users::status::status_of;
use crate::kernel::fault::{causes, retried};
use crate::kernel::refusal::has_common;
pub use crate::kernel::replay_guard::CredentialKind;
use crate::kernel::replay_guard::ReplayGuard;
pub use crate::kernel::run::Run;
use crate::kernel::run::{About, Last};
use crate::wallets::UnusableWallet;
use crate::{Caller, Fault, Refusal, Service};

/// An idempotent request as received.
#[derive(Clone)]
pub struct KeyedRequest {
    /// The HTTP method, such as `POST`.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The body, byte for byte.
    pub body: Secret<Vec<u8>>,
}

/// What to do with a request that has a key.
pub enum Begun {
    /// Run it, and finish with [`Service::end_run`].
    Run(Arc<Run>),
    /// Return the stored response, as passed to [`Service::end_run`].
    Replay(Secret<Vec<u8>>),
}

/// Reason why a request with a key does not run.
#[derive(Debug, thiserror::Error)]
pub enum BeginRunError {
    /// The key was used for a different request.
    #[error("the idempotency key was used for a different request")]
    Reused,
    /// The same request is still running.
    #[error("the request is still running")]
    Running,
    /// It ran before, but private key export is now disabled for the App.
    #[error("private key export is disabled for this App")]
    ExportDisabled,
    /// It ran before, but its wallet cannot be used now.
    #[error(transparent)]
    Unusable(#[from] UnusableWallet),
    /// It ran before, but its user is now disabled or deleted. The response is the one for wrong credentials.
    #[error("the user cannot sign in")]
    UserDisabled(CredentialKind),
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(BeginRunError);

/// Outcome of a run.
pub enum Outcome {
    /// A final response, which is stored.
    Decided(Secret<Vec<u8>>),
    /// A response that may differ next time. It is not stored, but the effects of the run are kept.
    Undecided,
    /// An internal failure.
    Failed,
}

/// Handle that renews the lease of a run until dropped.
pub struct Renewal(AbortHandle);

impl Drop for Renewal {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Returns the encryption context of a response, bound to key and request.
fn owner(key: &KeyDigest, request: &Mac) -> String {
    format!("{}/{}", hex::encode(key.0), hex::encode(&request.tag))
}

const fn place(world: World, owner: &str) -> Place<'_> {
    Place {
        world,
        kind: SecretKind::StoredResponse,
        owner,
    }
}

/// Returns the parts that identify a request.
fn parts(request: &KeyedRequest) -> [&[u8]; 3] {
    [
        request.method.as_bytes(),
        request.target.as_bytes(),
        request.body.expose(),
    ]
}

impl Service {
    /// Claims the key for a run, or returns the outcome of the earlier run.
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
        let mac = sealer.mac(&world, SecretKind::StoredResponse, &parts);
        let by = caller.principal.as_management_key().map(|key| key.id);
        let mut holder = [0_u8; 16];
        self.ports.entropy.fill(&mut holder);
        let claim = Claim {
            world,
            key: key.digest(&world, by),
            request: mac.await?,
            holder: hex::encode(holder),
            expires_at: self.now(&world) + KEPT_FOR,
            lease_until: self.machine_time() + LEASE,
        };
        let Some(known) = retried(|| self.claim_key(&claim)).await? else {
            return Ok(begun(claim, false));
        };
        let is_same = sealer
            .mac_matches(&world, SecretKind::StoredResponse, &parts, &known.request)
            .await?;
        if !is_same {
            return Err(BeginRunError::Reused);
        }
        self.join(caller, claim, known).await
    }

    /// Handles a repeat of the same request.
    async fn join(
        &self,
        caller: &Caller,
        claim: Claim,
        known: KnownKey,
    ) -> Result<Begun, BeginRunError> {
        if let Some(answer) = &known.answer {
            let owner = owner(&claim.key, &known.request);
            let opened = self.ports.sealer.open(place(claim.world, &owner), answer);
            let kept = stored_response::read(opened.await?.expose());
            let kept = kept.ok_or_else(|| {
                Fault::Internal("stored idempotent response cannot be parsed".into())
            })?;
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

    /// Checks whether a precondition of the first call still holds.
    async fn still_holds(
        &self,
        caller: &Caller,
        condition: ReplayGuard,
    ) -> Result<(), BeginRunError> {
        match condition {
            ReplayGuard::Permitted(action) => caller.authorize(action)?,
            ReplayGuard::PermittedInApp(action, app) => {
                caller.principal.authorize(action, app)?;
            }
            ReplayGuard::PermittedInDeployment(action) => {
                caller.principal.authorize(action, Extent::Deployment)?;
            }
            ReplayGuard::Grants(scope) => caller.principal.grant(&[scope])?,
            ReplayGuard::User(user) => {
                if !caller.reaches_user(user) {
                    return Err(Refusal::NotFound("user").into());
                }
            }
            ReplayGuard::Wallet(wallet, owner) => {
                if !caller.reaches_wallet(wallet, owner) {
                    return Err(Refusal::NotFound("wallet").into());
                }
            }
            // The stored response says that the user or wallet does not exist. To a key that reaches it, that would be wrong.
            ReplayGuard::NotUser(user) => {
                if caller.reaches_user(user) {
                    return Err(BeginRunError::Reused);
                }
            }
            ReplayGuard::NotWallet(wallet, owner) => {
                if caller.reaches_wallet(wallet, owner) {
                    return Err(BeginRunError::Reused);
                }
            }
            ReplayGuard::NoUser => caller.leads_to_no_user(),
            ReplayGuard::NoOwner => caller.names_no_owner()?,
            ReplayGuard::Present(owner) => self.require_present(caller, owner).await?,
            ReplayGuard::WalletType(wallet_type) => caller.uses_wallet_type(wallet_type)?,
            ReplayGuard::Export if caller.settings().wallet_export => {}
            ReplayGuard::Export => return Err(BeginRunError::ExportDisabled),
            ReplayGuard::Usable(wallet) => {
                self.usable_wallet(caller, wallet).await??;
            }
            ReplayGuard::MaySignIn(user, shown) => {
                let mut read = self.ports.store.read().await?;
                let status = status_of(&mut *read, &caller.world, user).await?;
                if status.is_none_or(|status| status == ShownStatus::Disabled) {
                    return Err(BeginRunError::UserDisabled(shown));
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

    /// Renews the lease of a run while it lasts.
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
                        "idempotency lease renewal failed; retrying"
                    ),
                }
            }
        });
        Renewal(renewing)
    }

    /// Renews the lease of a run. Returns `false` if the run has lost its key.
    ///
    /// # Errors
    /// [`Fault`]; the lease is unchanged.
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

    /// Ends a run: a final response is stored, any other outcome releases the key.
    ///
    /// # Errors
    /// The effects of the run were rolled back, or their outcome is unknown, so the response must not be sent. A repeat of the request gets
    /// the outcome that is on disk.
    pub async fn end_run(&self, run: &Run, outcome: Outcome) -> Result<(), Fault> {
        // On failure, dropping the transaction rolls it back.
        let last = run
            .take_last()
            .filter(|_| !matches!(outcome, Outcome::Failed));
        if let Some(last) = last {
            let ended = self.end_with(run, &outcome, last).await;
            if ended.is_err() {
                // Releasing has no effect if the response was stored after all.
                let released = retried(|| self.release_key(run)).await;
                released.unwrap_or_else(|fault| report(&fault));
            }
            return ended;
        }
        let ended = match &outcome {
            Outcome::Decided(answer) => self.keep(run, answer).await,
            Outcome::Undecided | Outcome::Failed => retried(|| self.release_key(run)).await,
        };
        // The effects are committed, so the response stands. The key becomes free when its lease expires.
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
            // The lease expired, and the request is running or has run elsewhere.
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
        let kept = stored_response::written(&run.conditions(), answer.expose());
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

/// Stores a response for the user that it is about. Returns `false` if the run has lost its key. If the user was deleted in the meantime,
/// the response is erased at once.
async fn keep_in(
    tx: &mut dyn Repositories,
    run: &Run,
    answer: &Secret<Vec<u8>>,
    sealed: &Sealed,
) -> StoreResult<bool> {
    let Claim {
        world, key, holder, ..
    } = &run.claim;
    let named = stored_response::user_of(answer.expose()).map(About::User);
    let (user, must_exist) = match run.about().or(named) {
        Some(About::User(user)) => (Some(user), true),
        Some(About::Coming(user)) => (Some(user), false),
        Some(About::NoUser) | None => (None, false),
    };
    // A deletion of the user waits for this lock and then finds the response.
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
        "idempotency key could be neither completed nor released"
    );
}
