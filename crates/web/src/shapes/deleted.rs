//! What every deletion of something of a user answers.

use serde::Serialize;
use utoipa::ToSchema;
use vestry_domain::ids::UserId;

/// It is gone.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deleted {
    #[schema(min_length = 1)]
    message: &'static str,
    /// Whose it was.
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
