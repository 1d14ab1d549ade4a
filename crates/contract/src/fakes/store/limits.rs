//! Consecutive failures, and send counters.

use vestry_domain::limits::{Limit, Verdict};
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Lockouts, Noted, Quotas, StoreResult, SweptWorlds};

use super::Work;
use super::state::{Budget, count_few};

#[port]
impl Lockouts for Work {
    async fn noted(&mut self, world: &World, subject: &str) -> StoreResult<Option<Noted>> {
        self.reading(|state| {
            let guard = state.guards.get(&(*world, subject.to_owned()))?;
            Some(Noted {
                blocked_until: guard.blocked_until,
            })
        })
    }

    async fn fail(&mut self, world: &World, subject: &str, at: Timestamp) -> StoreResult<i64> {
        self.writing(|state| {
            let key = (*world, subject.to_owned());
            let guard = state.guards.entry(key).or_default();
            guard.failures += 1;
            guard.failed_at = Some(at);
            Ok(guard.failures)
        })
    }

    async fn block(&mut self, world: &World, subject: &str, until: Timestamp) -> StoreResult<()> {
        self.writing(|state| {
            let key = (*world, subject.to_owned());
            state.guards.entry(key).or_default().blocked_until = Some(until);
            Ok(())
        })
    }

    async fn reset(&mut self, world: &World, subject: &str) -> StoreResult<()> {
        self.writing(|state| {
            state.guards.remove(&(*world, subject.to_owned()));
            Ok(())
        })
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, idle_since: Timestamp) -> StoreResult<u64> {
        self.writing(|state| {
            let idle = state.guards.extract_if(|(world, _), guard| {
                worlds.include(world) && guard.failed_at.max(guard.blocked_until) < Some(idle_since)
            });
            Ok(count_few(idle))
        })
    }
}

#[port]
impl Quotas for Work {
    async fn spend(
        &mut self,
        world: &World,
        name: &'static str,
        subject: &str,
        limit: Limit,
        now: Timestamp,
    ) -> StoreResult<Verdict> {
        self.writing(|state| {
            let fresh = Budget {
                opened: now,
                closes: now + limit.window,
                used: 0,
            };
            let key = (*world, name, subject.to_owned());
            let budget = state.budgets.entry(key).or_insert_with(|| fresh.clone());
            if budget.closes <= now {
                *budget = fresh;
            }
            budget.used = budget.used.saturating_add(1);
            Ok(Verdict::on(limit, budget.used, budget.opened))
        })
    }

    async fn count(
        &mut self,
        world: &World,
        name: &'static str,
        subject: &str,
        window: Seconds,
        now: Timestamp,
    ) -> StoreResult<()> {
        let most = u32::MAX;
        let limit = Limit { most, window };
        self.spend(world, name, subject, limit, now).await.map(drop)
    }

    async fn refund(
        &mut self,
        world: &World,
        name: &'static str,
        subject: &str,
        uses: u32,
    ) -> StoreResult<()> {
        self.writing(|state| {
            let key = (*world, name, subject.to_owned());
            if let Some(budget) = state.budgets.get_mut(&key) {
                budget.used = budget.used.saturating_sub(uses);
            }
            Ok(())
        })
    }

    async fn forget(
        &mut self,
        world: &World,
        names: &[&'static str],
        subject: &str,
    ) -> StoreResult<()> {
        self.writing(|state| {
            for name in names {
                state.budgets.remove(&(*world, *name, subject.to_owned()));
            }
            Ok(())
        })
    }

    async fn total(
        &mut self,
        world: &World,
        name: &'static str,
        now: Timestamp,
    ) -> StoreResult<u64> {
        self.reading(|state| {
            let open = state.budgets.iter().filter(|((of, named, _), budget)| {
                of == world && *named == name && budget.opened <= now && now < budget.closes
            });
            open.map(|(_, budget)| u64::from(budget.used)).sum()
        })
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, closed_before: Timestamp) -> StoreResult<u64> {
        self.writing(|state| {
            let closed = state.budgets.extract_if(|(world, _, _), budget| {
                worlds.include(world) && budget.closes < closed_before
            });
            Ok(count_few(closed))
        })
    }
}
