//! Consecutive failures, and send counters.

use vestry_domain::limits::{Limit, LimitVerdict};
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Lockouts, Noted, Quotas, StoreResult, SweptWorlds};

use super::Work;
use super::state::{Quota, count_few};

#[port]
impl Lockouts for Work {
    async fn noted(&mut self, world: &World, subject: &str) -> StoreResult<Option<Noted>> {
        self.reading(|state| {
            let lockout = state.lockouts.get(&(*world, subject.to_owned()))?;
            Some(Noted {
                blocked_until: lockout.blocked_until,
            })
        })
    }

    async fn fail(&mut self, world: &World, subject: &str, at: Timestamp) -> StoreResult<i64> {
        self.writing(|state| {
            let key = (*world, subject.to_owned());
            let lockout = state.lockouts.entry(key).or_default();
            lockout.failures += 1;
            lockout.failed_at = Some(at);
            Ok(lockout.failures)
        })
    }

    async fn block(&mut self, world: &World, subject: &str, until: Timestamp) -> StoreResult<()> {
        self.writing(|state| {
            let key = (*world, subject.to_owned());
            state.lockouts.entry(key).or_default().blocked_until = Some(until);
            Ok(())
        })
    }

    async fn reset(&mut self, world: &World, subject: &str) -> StoreResult<()> {
        self.writing(|state| {
            state.lockouts.remove(&(*world, subject.to_owned()));
            Ok(())
        })
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, idle_since: Timestamp) -> StoreResult<u64> {
        self.writing(|state| {
            let idle = state.lockouts.extract_if(|(world, _), lockout| {
                worlds.include(world)
                    && lockout.failed_at.max(lockout.blocked_until) < Some(idle_since)
            });
            Ok(count_few(idle))
        })
    }
}

#[port]
impl Quotas for Work {
    async fn consume(
        &mut self,
        world: &World,
        name: &'static str,
        subject: &str,
        limit: Limit,
        now: Timestamp,
    ) -> StoreResult<LimitVerdict> {
        self.writing(|state| {
            let fresh = Quota {
                opened: now,
                closes: now + limit.window,
                used: 0,
            };
            let key = (*world, name, subject.to_owned());
            let quota = state.quotas.entry(key).or_insert_with(|| fresh.clone());
            if quota.closes <= now {
                *quota = fresh;
            }
            quota.used = quota.used.saturating_add(1);
            Ok(LimitVerdict::on(limit, quota.used, quota.opened))
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
        self.consume(world, name, subject, limit, now)
            .await
            .map(drop)
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
            if let Some(quota) = state.quotas.get_mut(&key) {
                quota.used = quota.used.saturating_sub(uses);
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
                state.quotas.remove(&(*world, *name, subject.to_owned()));
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
            let open = state.quotas.iter().filter(|((of, named, _), quota)| {
                of == world && *named == name && quota.opened <= now && now < quota.closes
            });
            open.map(|(_, quota)| u64::from(quota.used)).sum()
        })
    }

    async fn sweep(&mut self, worlds: &SweptWorlds, closed_before: Timestamp) -> StoreResult<u64> {
        self.writing(|state| {
            let closed = state.quotas.extract_if(|(world, _, _), quota| {
                worlds.include(world) && quota.closes < closed_before
            });
            Ok(count_few(closed))
        })
    }
}
