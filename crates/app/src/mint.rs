//! New ids, codes and tokens out of the entropy port.

use vestry_domain::ids::Id;
use vestry_domain::random::digits;
use vestry_domain::{Secret, Timestamp, code, link, token};
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

/// A new token of a magic link.
pub(crate) fn link_token(entropy: &dyn Entropy) -> Secret<String> {
    link::token(&mut Bytes(entropy))
}

/// A new token for the browser that asks for a magic link.
pub(crate) fn origin_token(entropy: &dyn Entropy) -> Secret<String> {
    link::origin_token(&mut Bytes(entropy))
}
