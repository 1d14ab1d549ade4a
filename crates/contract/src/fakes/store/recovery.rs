//! Recovery of a database that was set back.

use vestry_domain::{Environment, Timestamp};
use vestry_ports::port;
use vestry_ports::store::{EndedByRecovery, Recovery, StoreResult};

use super::Work;

/// Removes all elements and returns their number.
fn clear<T>(rows: &mut Vec<T>) -> u64 {
    let count = u64::try_from(rows.len()).unwrap_or(u64::MAX);
    rows.clear();
    count
}

#[port]
impl Recovery for Work {
    async fn end_short_lived(
        &mut self,
        now: Timestamp,
        totp_step: i64,
    ) -> StoreResult<EndedByRecovery> {
        self.writing(|state| {
            let undelivered =
                |row: &&mut super::state::OutboxRow| row.ended_at.is_none() || row.is_dead;
            let mut messages = 0;
            for row in state.jobs.iter_mut().filter(undelivered) {
                row.ended_at = Some(now);
                row.is_dead = false;
                row.lease = None;
                messages += 1;
            }
            for row in &mut state.totps {
                if row.totp.world.environment == Environment::Live {
                    row.last_step = row.last_step.max(totp_step);
                }
            }
            state.leases.clear();
            state.tries.clear();
            Ok(EndedByRecovery {
                sessions: clear(&mut state.sessions),
                codes: clear(&mut state.codes),
                links: clear(&mut state.links),
                operator_links: clear(&mut state.operator_links),
                challenges: clear(&mut state.wallet_challenges)
                    + clear(&mut state.passkey_challenges),
                imports: clear(&mut state.wallet_imports),
                provider_sign_ins: clear(&mut state.oauth_flows) + clear(&mut state.oauth_tokens),
                messages: messages + clear(&mut state.captured),
            })
        })
    }
}
