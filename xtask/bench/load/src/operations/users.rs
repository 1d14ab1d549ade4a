//! `users/*`.

use serde_json::json;

use crate::Failure;
use crate::api::{Api, Call, text};
use crate::people::{address, people};
use crate::stopwatch::Stopwatch;

pub(super) async fn run(api: &Api, stopwatch: Stopwatch) -> Result<(), Failure> {
    let people = people(api, stopwatch, "users").await?;
    let update = |user: &str| format!("/v1/auth/users/{user}/update");
    let name = people
        .iter()
        .map(|one| {
            let body = json!({"first_name": "Ada", "metadata": {"plan": "pro", "seats": 7}});
            Call::put(update(&one.user_id), body)
        })
        .collect();
    stopwatch
        .measure(api, "users update (name, metadata)", name)
        .await?;
    let second = people
        .iter()
        .enumerate()
        .map(|(number, one)| {
            let body = json!({"emails": [{"email": address("second", number)}]});
            Call::put(update(&one.user_id), body)
        })
        .collect();
    let updated = stopwatch
        .measure(api, "users update (another address)", second)
        .await?;
    let search = people
        .iter()
        .map(|one| {
            let field = json!({"field": "email", "operator": "eq", "value": one.address});
            let filters = json!({"operator": "AND", "fields": [field]});
            Call::post("/v1/auth/users/search", json!({"filters": filters}))
        })
        .collect();
    stopwatch
        .measure(api, "users search (by address)", search)
        .await?;
    let page = vec![Call::post("/v1/auth/users/search", json!({})); stopwatch.calls];
    stopwatch
        .measure(api, "users search (first page of 50)", page)
        .await?;
    let second = updated
        .iter()
        .map(|answer| {
            let id = text(answer, "/emails/1/id").or_else(|_| text(answer, "/user/emails/1/id"))?;
            Ok(Call::delete(format!("/v1/auth/users/emails/{id}/delete")))
        })
        .collect::<Result<_, Failure>>()?;
    stopwatch
        .measure(api, "users emails delete", second)
        .await?;
    let delete = people
        .iter()
        .map(|one| Call::delete(format!("/v1/auth/users/{}/delete", one.user_id)))
        .collect();
    stopwatch.measure(api, "users delete", delete).await?;
    Ok(())
}
