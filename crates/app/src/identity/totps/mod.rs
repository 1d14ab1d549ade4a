//! Authenticator apps and their recovery codes.
//!
//! They are a second factor. They can be the first factor of a session, but are never a user's only sign-in method, so removing one never
//! removes the last one.

pub mod create;
pub mod delete;
pub mod recovery_codes;
pub mod verify;

pub use create::{CreateTotp, CreatedTotp};
pub use recovery_codes::TotpRecoveryCodes;
pub use verify::{PresentedTotp, VerifiedTotp, VerifyTotp, VerifyTotpError};

use vestry_domain::World;
use vestry_domain::envelope::{Place, SecretKind};

/// Where a seed stands.
const fn seed_place<'a>(world: &World, totp_id: &'a str) -> Place<'a> {
    Place {
        world: *world,
        kind: SecretKind::TotpSeed,
        owner: totp_id,
    }
}

/// Where a recovery code stands: `owner` comes of [`recovery_owner`](vestry_domain::totp::recovery_owner).
const fn recovery_place<'a>(world: &World, owner: &'a str) -> Place<'a> {
    Place {
        world: *world,
        kind: SecretKind::RecoveryCode,
        owner,
    }
}
