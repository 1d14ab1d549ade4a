//! A contact that nobody has, for Apps that do not want `send` and `reset/begin` to tell (`enumeration_safe`, attack 9).
//!
//! Its ids are the same for every repeat, before and after a rotation of keys, and nobody without the App key can tell them from real ones. A code is stored for
//! it and a message put into the outbox like for anybody else, so that the calls cost the same and wrong tries meet the same
//! limits; but the code is one that no digits are right for, and the message is one whose time is over.

use vestry_domain::Timestamp;
use vestry_domain::ids::{Id, UserId};
use vestry_domain::timestamp::Seconds;

use super::contact::Contact;
use crate::run::About;
use crate::{Caller, Fault, Service};

impl Service {
    /// The contact that this would be if somebody had it.
    pub(crate) async fn decoy<C: Contact>(
        &self,
        caller: &Caller,
        typed: &C::Typed,
        now: Timestamp,
    ) -> Result<C, Fault> {
        caller.is_about(About::Nobody);
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

/// How long after the App the decoy was "made": within the largest power of two of seconds that the App is old, so that it is
/// never in the future and changes only when the App's age doubles.
fn age(app: Seconds, random: &[u8]) -> Seconds {
    let seconds = u32::try_from(app.0.max(1)).unwrap_or(u32::MAX);
    let range = 1_u32 << seconds.ilog2();
    Seconds(i64::from(u32::from_be_bytes(bytes(random.iter())) % range))
}
