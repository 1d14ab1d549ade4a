//! The response to every deletion of a part of a user.

use serde::Serialize;
use utoipa::ToSchema;
use vestry_domain::ids::UserId;

/// Confirmation of a deletion.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deleted {
    /// Confirmation for people; it may change.
    #[schema(min_length = 1)]
    message: &'static str,
    /// Id of the user that the deleted object belonged to.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
}

impl Deleted {
    pub(crate) fn of(user: UserId, message: &'static str) -> Self {
        Self {
            message,
            user_id: user.to_string(),
        }
    }
}
