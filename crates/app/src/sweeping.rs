//! What is over and of no use any more is deleted: a little at a time, with rests, and by one process of all (PR-60).

use std::time::{Duration, Instant};

use vestry_domain::ids::EventId;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Timestamp};
use vestry_ports::store::{Repositories, SWEEP_STEP, StoreResult};

use crate::fault::{causes, retried};
use crate::{Fault, Service};

/// How often everything is swept.
const EVERY: Duration = Duration::from_secs(300);
/// The name of the lease.
const WORK: &str = "sweep";
/// How long a process that sweeps may be silent before another one does.
const LEASE: Seconds = Seconds(60);
/// How long after a whole sweep no process begins another one; somewhat less than [`EVERY`], after which the same one comes again.
const REST: Seconds = Seconds(240);
/// How long ended jobs, dead sessions and captured messages stay readable for an operator.
const KEPT: Seconds = Seconds(7 * 86_400);
/// How long failures in a row are remembered after the last one: longer than any wait, and so long that being forgotten gives a
/// guesser fewer tries than the longest wait does, a day for each (OTP-5).
const FAILURES_KEPT: Seconds = Seconds(30 * 86_400);

/// What is swept in each environment, by the time of its worlds.
#[derive(Debug, Clone, Copy)]
enum Remains {
    Codes,
    Links,
    Totps,
    WalletChallenges,
    WalletImports,
    OauthFlows,
    Guards,
    Budgets,
    Idempotency,
    PasskeyChallenges,
    Sessions,
    Jobs,
    Captured,
}

impl Remains {
    const OF_WORLDS: [Self; 11] = [
        Self::Codes,
        Self::Links,
        Self::Totps,
        Self::WalletChallenges,
        Self::WalletImports,
        Self::OauthFlows,
        Self::Guards,
        Self::Budgets,
        Self::Idempotency,
        Self::PasskeyChallenges,
        Self::Sessions,
    ];

    /// Deletes some of what is of no use at this moment; how many.
    async fn sweep(
        self,
        tx: &mut dyn Repositories,
        environment: Environment,
        now: Timestamp,
    ) -> StoreResult<u64> {
        let yesterday = now - Seconds(86_400);
        match self {
            Self::Codes => tx.codes().sweep(environment, yesterday).await,
            Self::Links => tx.links().sweep(environment, yesterday).await,
            Self::Totps => tx.totps().sweep(environment, yesterday).await,
            Self::WalletChallenges => tx.wallet_challenges().sweep(environment, yesterday).await,
            // Private halves: from their last second on, nothing that was sealed to them shall open any more.
            Self::WalletImports => tx.wallet_imports().sweep(environment, now).await,
            Self::OauthFlows => tx.oauth_flows().sweep(environment, now).await,
            Self::Guards => tx.guards().sweep(environment, now - FAILURES_KEPT).await,
            Self::Budgets => tx.budgets().sweep(environment, now).await,
            Self::Idempotency => tx.idempotency().sweep(environment, now).await,
            Self::PasskeyChallenges => tx.passkeys().sweep_challenges(environment, yesterday).await,
            Self::Sessions => tx.sessions().sweep(environment, now - KEPT).await,
            Self::Jobs => tx.outbox().sweep(now - KEPT).await,
            // Read by tests within the minute, and as plain text: not to be kept for ever.
            Self::Captured => tx.captured().sweep(now - KEPT).await,
        }
    }
}

/// How far one kind of remains is.
enum Step {
    /// There may be more.
    More,
    Done,
    /// Another process sweeps.
    Theirs,
}

impl Service {
    /// Sweeps until `stop` is done. A step that is under way then is undone.
    pub async fn run_sweeper(&self, stop: impl Future<Output = ()>) {
        let holder: EventId = self.new_id(self.ports.clock.machine());
        let holder = holder.to_string();
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                biased;
                () = &mut stop => return,
                () = self.sweep(&holder) => {}
            }
            tokio::select! {
                () = &mut stop => return,
                () = tokio::time::sleep(EVERY) => {}
            }
        }
    }

    /// Sweeps once, unless another process does or has just done so. What fails is left for the next time.
    pub async fn sweep(&self, holder: &str) {
        let now = self.ports.clock.machine();
        // A test world may live in the past; what expired by the machine's time is alive there. Live worlds do not wait for it.
        let mut environments = vec![(Environment::Live, now)];
        match self.earliest_test_now().await {
            Ok(earliest) => environments.push((Environment::Test, earliest)),
            Err(fault) => report(&fault),
        }
        let of_worlds = environments
            .into_iter()
            .flat_map(|(environment, now)| Remains::OF_WORLDS.map(|one| (one, environment, now)));
        // Delivered and captured by the machine's time, in both environments at once.
        let of_machine =
            [Remains::Jobs, Remains::Captured].map(|one| (one, Environment::Live, now));
        for (remains, environment, now) in of_worlds.chain(of_machine) {
            loop {
                let begun = Instant::now();
                match retried(|| self.step(holder, remains, environment, now)).await {
                    Ok(Step::More) => tokio::time::sleep(begun.elapsed()).await,
                    Ok(Step::Done) => break,
                    Ok(Step::Theirs) => return,
                    Err(fault) => {
                        report(&fault);
                        break;
                    }
                }
            }
        }
        if let Err(fault) = retried(|| self.rest(holder)).await {
            report(&fault);
        }
    }

    async fn step(
        &self,
        holder: &str,
        remains: Remains,
        environment: Environment,
        now: Timestamp,
    ) -> Result<Step, Fault> {
        let machine = self.ports.clock.machine();
        let mut tx = self.ports.store.begin().await?;
        let until = machine + LEASE;
        if !tx.leases().take(WORK, holder, machine, until).await? {
            return Ok(Step::Theirs);
        }
        let deleted = remains.sweep(&mut *tx, environment, now).await?;
        tx.commit().await?;
        Ok(match i64::try_from(deleted) {
            Ok(few) if few < SWEEP_STEP => Step::Done,
            _ => Step::More,
        })
    }

    /// Keeps the others from sweeping what was just swept.
    async fn rest(&self, holder: &str) -> Result<(), Fault> {
        let now = self.ports.clock.machine();
        let mut tx = self.ports.store.begin().await?;
        tx.leases().take(WORK, holder, now, now + REST).await?;
        tx.commit().await?;
        Ok(())
    }
}

fn report(fault: &Fault) {
    let error = causes(fault);
    tracing::warn!(error, "sweeping failed and will be tried again");
}
