//! Recovery of a database that was set back.

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use vestry_domain::message::JobEnd;
use vestry_domain::{Environment, Timestamp};
use vestry_ports::port;
use vestry_ports::store::{EndedByRecovery, Recovery, StoreResult};

use super::{Unit, count};
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::schema::{
    captured_messages, codes, leases, magic_links, oauth_flows, oauth_tokens, operator_links,
    outbox, passkey_challenges, sessions, totps, wallet_challenges, wallet_imports,
};

/// Deletes all rows of a table and returns their number.
macro_rules! clear {
    ($unit:expr, $table:ident) => {{
        let cleared = diesel::delete($table::table)
            .execute($unit.writing()?)
            .await;
        count($unit.done(cleared)?)
    }};
}

#[port]
impl Recovery for Unit {
    async fn end_short_lived(
        &mut self,
        now: Timestamp,
        totp_step: i64,
    ) -> StoreResult<EndedByRecovery> {
        let ended = EndedByRecovery {
            sessions: clear!(self, sessions),
            codes: clear!(self, codes),
            links: clear!(self, magic_links),
            operator_links: clear!(self, operator_links),
            challenges: clear!(self, wallet_challenges) + clear!(self, passkey_challenges),
            imports: clear!(self, wallet_imports),
            provider_sign_ins: clear!(self, oauth_flows) + clear!(self, oauth_tokens),
            messages: self.expire_messages(now).await? + clear!(self, captured_messages),
        };
        clear!(self, leases);
        let live = totps::table
            .filter(totps::environment.eq(Environment::Live.as_str()))
            .filter(totps::last_step.lt(totp_step));
        let update = diesel::update(live).set(totps::last_step.eq(totp_step));
        let updated = Prepared(update).execute(self.writing()?).await;
        self.done(updated)?;
        Ok(ended)
    }
}

impl Unit {
    /// Ends the messages that wait, or could be queued again, and wipes their payloads.
    async fn expire_messages(&mut self, now: Timestamp) -> StoreResult<u64> {
        let undelivered = outbox::table.filter(
            outbox::ended_at
                .is_null()
                .or(outbox::ended_as.eq(JobEnd::Dead.as_str())),
        );
        let update = diesel::update(undelivered).set((
            outbox::ended_at.eq(now.unix()),
            outbox::ended_as.eq(JobEnd::Expired.as_str()),
            outbox::payload.eq(Vec::<u8>::new()),
            outbox::lease_owner.eq(None::<String>),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(count(self.done(updated)?))
    }
}
