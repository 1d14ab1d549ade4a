//! New ids, codes and tokens out of the entropy port.

use vestry_domain::ids::Id;
use vestry_domain::random::digits;
use vestry_domain::{Secret, Timestamp, code, token};
use vestry_ports::entropy::{Bytes, Entropy};

/// A new id whose time is the object's `created_at`.
pub(crate) fn id<I: Id>(entropy: &dyn Entropy, at: Timestamp) -> I {
    let mut random = [0_u8; 16];
    entropy.fill(&mut random);
    I::new(at, random)
}

/// A new one-time passcode.
pub(crate) fn code(entropy: &dyn Entropy) -> Secret<String> {
    digits(&mut Bytes(entropy), code::DIGITS)
}

/// A new session token.
pub(crate) fn session_token(entropy: &dyn Entropy) -> Secret<String> {
    token::session_token(&mut Bytes(entropy))
}
