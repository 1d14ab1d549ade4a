//! Signing times of recent session JWTs whose claims are unchanged.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use vestry_domain::ids::{SessionId, SigningKeyId};
use vestry_domain::session::Session;
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};

/// A JWT is reissued for at most this long, and for at most a tenth of its lifetime.
const AGAIN_FOR: Seconds = Seconds(30);

/// Sessions per generation. Two generations are kept, at about two hundred bytes per session.
const GENERATION: usize = 8192;

/// The content of a session JWT except its signing time, and the signing key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct WhatIsSigned {
    key: SigningKeyId,
    lifetime: Seconds,
    /// The hash of the session object.
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

/// The signing time and content of recent session JWTs.
///
/// Neither sessions nor JWTs are stored here. The caller has just read the session and signs the same claims again, for which the signer
/// has cached the signature. Ended sessions are never looked up.
#[derive(Default)]
pub(crate) struct JwtTimes(Mutex<Generations>);

type Signed = HashMap<(World, SessionId), (WhatIsSigned, Timestamp)>;

#[derive(Default)]
struct Generations {
    young: Signed,
    /// The previous generation; dropped when the young one replaces it.
    old: Signed,
}

impl JwtTimes {
    /// Returns the `iat` for this session's JWT at the world's time `now`: that of a recent JWT with the same content, or `now`.
    ///
    /// A test clock may be set back, so a JWT from the future is ignored.
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
