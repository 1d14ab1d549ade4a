//! New identifiers: unverified, and not yet attached.

use vestry_domain::Timestamp;
use vestry_domain::email::Email;
use vestry_domain::ids::{EmailId, PhoneNumberId, UserId};
use vestry_domain::phone::PhoneNumber;
use vestry_domain::user::{UserEmail, UserPhone};

/// Returns an unverified address.
pub(crate) const fn new_email(
    id: EmailId,
    user_id: UserId,
    email: Email,
    now: Timestamp,
) -> UserEmail {
    UserEmail {
        id,
        user_id,
        email,
        verified: false,
        created_at: now,
        updated_at: now,
        pending_owner: None,
        of_owned: false,
    }
}

/// Returns an unverified number.
pub(crate) const fn new_phone(
    id: PhoneNumberId,
    user_id: UserId,
    number: PhoneNumber,
    now: Timestamp,
) -> UserPhone {
    UserPhone {
        id,
        user_id,
        number,
        verified: false,
        created_at: now,
        updated_at: now,
        pending_owner: None,
        of_owned: false,
    }
}
