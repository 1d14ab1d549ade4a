//! Generates new ids, codes and tokens from the entropy port.

use vestry_domain::ids::Id;
use vestry_domain::random::digits;
use vestry_domain::{Secret, Timestamp, link, token};
use vestry_ports::entropy::{Bytes, Entropy};

/// A new id whose time is the object's `created_at`.
pub(crate) fn id<I: Id>(entropy: &dyn Entropy, at: Timestamp) -> I {
    let mut random = [0_u8; 16];
    entropy.fill(&mut random);
    I::new(at, random)
}

/// Generates an id that sorts after an earlier one of the same owner, even within one second.
///
/// A user's items are listed in id order, and the first one is the one that messages are sent to.
pub(crate) fn id_behind<I: Id>(entropy: &dyn Entropy, at: Timestamp, earlier: Option<I>) -> I {
    let fresh: I = id(entropy, at);
    let last_of_second = I::new(at, [u8::MAX; 16]);
    match earlier.filter(|earlier| fresh <= *earlier && *earlier <= last_of_second) {
        None => fresh,
        Some(earlier) => {
            let mut distance = [0_u8; 8];
            entropy.fill(&mut distance);
            let distance = u64::from_be_bytes(distance).max(1);
            // Reaching the end of a second's ids is as unlikely as guessing one.
            earlier.following(distance).unwrap_or(fresh)
        }
    }
}

/// Generates a one-time passcode with this number of digits.
pub(crate) fn code(entropy: &dyn Entropy, length: usize) -> Secret<String> {
    digits(&mut Bytes(entropy), length)
}

/// A new session token.
pub(crate) fn session_token(entropy: &dyn Entropy) -> Secret<String> {
    token::session_token(&mut Bytes(entropy))
}

/// A new token of a magic link.
pub(crate) fn link_token(entropy: &dyn Entropy) -> Secret<String> {
    link::token(&mut Bytes(entropy))
}

/// Generates a token for the browser that requests a magic link.
pub(crate) fn origin_token(entropy: &dyn Entropy) -> Secret<String> {
    link::origin_token(&mut Bytes(entropy))
}
