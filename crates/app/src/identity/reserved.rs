//! Effects of the reserved addresses and numbers of test environments on codes and links.

use vestry_domain::Secret;
use vestry_domain::Timestamp;
use vestry_domain::code::Reserved;
use vestry_domain::email::Email;
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_ports::entropy::Entropy;

use crate::Caller;
use crate::kernel::mint;

/// Returns the reserved meaning of an address. Live environments have none.
pub(crate) fn of_email(caller: &Caller, email: &Email) -> Option<Reserved> {
    if caller.is_test() {
        Reserved::of_email(email.identity())
    } else {
        None
    }
}

/// Returns the stored hash of a link's token. For `wrong@vestry.test` it is the hash of another token, which is never sent.
pub(crate) fn token_hash(
    entropy: &dyn Entropy,
    reserved: Option<Reserved>,
    token: &Secret<String>,
) -> TokenHash {
    match reserved {
        Some(Reserved::Wrong) => TokenHash::of(mint::link_token(entropy).expose()),
        _ => TokenHash::of(token.expose()),
    }
}

/// Returns the expiry of something created now. For `expired@vestry.test` it expires at once.
pub(crate) fn expiry(reserved: Option<Reserved>, lifetime: Seconds, now: Timestamp) -> Timestamp {
    match reserved {
        Some(Reserved::Expired) => now,
        _ => now + lifetime,
    }
}

/// Returns the delay before a message is sent, which only `slow@vestry.test` has.
pub(crate) const fn delay(reserved: Option<Reserved>) -> Seconds {
    match reserved {
        Some(Reserved::Slow) => Seconds(5),
        _ => Seconds(0),
    }
}
