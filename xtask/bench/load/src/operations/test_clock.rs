//! `/v1/test/clock`, measured last because it moves the time of everything else.

use serde_json::json;

use super::Flow;
use crate::Failure;
use crate::api::Call;

const PATH: &str = "/v1/test/clock";

pub(super) async fn run(flow: Flow<'_>) -> Result<(), Failure> {
    let advance = Call::post(PATH, json!({"advance_seconds": 1}));
    flow.repeat("test clock advance", advance).await?;
    flow.repeat("test clock read", Call::get(PATH)).await?;
    flow.api.make(Call::delete(PATH)).await.map(drop)
}
