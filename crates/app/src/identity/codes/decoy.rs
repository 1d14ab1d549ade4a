//! Decoy contacts for Apps whose `send` and `reset/begin` must not reveal whether an identifier exists (`enumeration_safe`, attack 9).
//!
//! Their ids are the same for every repeat, before and after a key rotation. Without the App key they cannot be told apart from real ones.
//! A code is stored and a message queued as for a real contact, so the calls cost the same and wrong attempts meet the same limits. No
//! digits match that code, however, and the message has already expired.

use vestry_domain::Timestamp;
use vestry_domain::ids::{Id, UserId};
use vestry_domain::timestamp::Seconds;

use super::contact::Contact;
use crate::kernel::run::About;
use crate::{Caller, Fault, Service};

impl Service {
    /// The decoy contact for an identifier that no user has.
    pub(crate) async fn decoy<C: Contact>(
        &self,
        caller: &Caller,
        typed: &C::Typed,
        now: Timestamp,
    ) -> Result<C, Fault> {
        caller.is_about(About::NoUser);
        let subject = C::subject(typed).as_bytes();
        let parts: [&[u8]; 3] = [b"decoy", C::RESOURCE.as_bytes(), subject];
        let sealer = &self.ports.sealer;
        let ids = sealer.decoy(&caller.world, &parts).await?;
        let parts: [&[u8]; 3] = [b"decoy time", C::RESOURCE.as_bytes(), subject];
        let time = sealer.decoy(&caller.world, &parts).await?;
        let at = caller.app.created_at + age(now - caller.app.created_at, &time);
        let user_id = UserId::new(at, bytes(ids.iter().skip(16)));
        Ok(C::new(bytes(ids.iter()), user_id, typed, at))
    }
}

fn bytes<'a, const N: usize>(from: impl Iterator<Item = &'a u8>) -> [u8; N] {
    let mut bytes = [0; N];
    for (byte, from) in bytes.iter_mut().zip(from) {
        *byte = *from;
    }
    bytes
}

/// How long after the App the decoy appears to have been created.
///
/// The age lies within the largest power of two of seconds that fits the App's age. It is thus never in the future and changes only when
/// the App's age doubles.
fn age(app: Seconds, random: &[u8]) -> Seconds {
    let seconds = u32::try_from(app.0.max(1)).unwrap_or(u32::MAX);
    let range = 1_u32 << seconds.ilog2();
    Seconds(i64::from(u32::from_be_bytes(bytes(random.iter())) % range))
}
