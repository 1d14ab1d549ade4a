//! `/v1/manage/apps/{app_id}/{environment}/sessions`

pub(crate) mod end_all;

use serde::Serialize;
use utoipa::ToSchema;

/// The outcome of ending sessions.
#[derive(Serialize, ToSchema)]
#[schema(as = EndedSessions)]
pub(crate) struct Ended {
    /// The number of sessions that were ended.
    #[schema(minimum = 0)]
    ended: u64,
}
