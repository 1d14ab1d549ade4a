//! When the JWTs of sessions were signed that say what would be signed now.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use vestry_domain::ids::{SessionId, SigningKeyId};
use vestry_domain::session::Session;
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};

/// A JWT is given again for this long at most, and for a tenth of its life.
const AGAIN_FOR: Seconds = Seconds(30);

/// Sessions of one generation. Two of them are remembered, some two hundred bytes of each.
const GENERATION: usize = 8192;

/// Everything that a session JWT says, but for the moment at which it was signed, and who says so.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct WhatIsSigned {
    key: SigningKeyId,
    lifetime: Seconds,
    /// Of the session's object.
    hash: TokenHash,
}

impl WhatIsSigned {
    pub(crate) fn new(key: SigningKeyId, lifetime: Seconds, object: &str) -> Self {
        Self {
            key,
            lifetime,
            hash: TokenHash::of(object),
        }
    }
}

/// When the JWT of a session was signed, and what it said.
///
/// Neither a session nor a JWT is remembered here: whoever asks has just read the session, and signs the claims of that moment again,
/// for which the signer remembers the signature. A session that has ended is never asked about.
#[derive(Default)]
pub(crate) struct JwtTimes(Mutex<Generations>);

type Signed = HashMap<(World, SessionId), (WhatIsSigned, Timestamp)>;

#[derive(Default)]
struct Generations {
    young: Signed,
    /// Those before; dropped when the young ones take their place.
    old: Signed,
}

impl JwtTimes {
    /// The time that the JWT of this session is to bear at the world's time `now`: that of a young one which says the same, or
    /// `now`. A test clock may be set back: a JWT of the future is none.
    pub(crate) fn issued_at(
        &self,
        session: &Session,
        what: WhatIsSigned,
        now: Timestamp,
    ) -> Timestamp {
        let again_for = AGAIN_FOR.min(Seconds(what.lifetime.0 / 10));
        let of = (session.world, session.id);
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let signed = generations.young.get(&of);
        if let Some((signed, at)) = signed.or_else(|| generations.old.get(&of))
            && *signed == what
            && *at <= now
            && now - *at < again_for
        {
            return *at;
        }
        if generations.young.len() >= GENERATION {
            generations.old = std::mem::take(&mut generations.young);
        }
        generations.young.insert(of, (what, now));
        now
    }
}
