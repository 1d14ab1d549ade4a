//! `/v1/test/clock`, measured last because it moves the time of everything else.

use serde_json::json;

use crate::Failure;
use crate::api::{Api, Call};
use crate::stopwatch::Stopwatch;

const PATH: &str = "/v1/test/clock";

pub(super) async fn run(api: &Api, stopwatch: Stopwatch) -> Result<(), Failure> {
    let advance = Call::post(PATH, json!({"advance_seconds": 1}));
    stopwatch
        .measure(api, "test clock advance", vec![advance; stopwatch.calls])
        .await?;
    stopwatch
        .measure(
            api,
            "test clock read",
            vec![Call::get(PATH); stopwatch.calls],
        )
        .await?;
    api.make(Call::delete(PATH)).await?;
    Ok(())
}
