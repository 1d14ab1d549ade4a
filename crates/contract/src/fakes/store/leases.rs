//! Leases on tasks that only one process may run at a time.

use vestry_domain::Timestamp;
use vestry_ports::port;
use vestry_ports::store::{Leases, MAX_LEASE, StoreResult};

use super::Work;

#[port]
impl Leases for Work {
    async fn take(
        &mut self,
        work: &str,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let lease = state.leases.get(work);
            let is_anothers = lease.is_some_and(|(other, ends)| {
                other != holder && now < *ends && *ends <= now + MAX_LEASE
            });
            if !is_anothers {
                let lease = (holder.to_owned(), until);
                state.leases.insert(work.to_owned(), lease);
            }
            Ok(!is_anothers)
        })
    }
}
