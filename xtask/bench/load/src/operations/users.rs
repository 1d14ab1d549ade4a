//! `users/*`.

use serde_json::json;

use super::Flow;
use crate::Failure;
use crate::api::{Call, text};
use crate::people::{Person, address};

const SEARCH: &str = "/v1/auth/users/search";

pub(super) async fn run(flow: Flow<'_>) -> Result<(), Failure> {
    let people = flow.people("users").await?;
    let update = |user: &str, body| Call::put(format!("/v1/auth/users/{user}/update"), body);
    let delete = |path: String| Ok(Call::delete(format!("/v1/auth/users/{path}/delete")));
    flow.each("users update (name, metadata)", &people, |one| {
        let body = json!({"first_name": "Ada", "metadata": {"plan": "pro", "seats": 7}});
        Ok(update(&one.user_id, body))
    })
    .await?;
    let numbered: Vec<_> = people.iter().enumerate().collect();
    let second = |(number, one): &(usize, &Person)| {
        let body = json!({"emails": [{"email": address("second", *number)}]});
        Ok(update(&one.user_id, body))
    };
    let updated = flow.each("users update (another address)", &numbered, second);
    let updated = updated.await?;
    let search = |one: &Person| {
        let field = json!({"field": "email", "operator": "eq", "value": one.address});
        let filters = json!({"operator": "AND", "fields": [field]});
        Ok(Call::post(SEARCH, json!({"filters": filters})))
    };
    let serial = flow.one_at_a_time();
    serial
        .each("users search (by address, one at a time)", &people, search)
        .await?;
    let page = Call::post(SEARCH, json!({}));
    flow.repeat("users search (first page of 50)", page).await?;
    flow.each("users emails delete", &updated, |answer| {
        let id = text(answer, "/emails/1/id").or_else(|_| text(answer, "/user/emails/1/id"))?;
        delete(format!("emails/{id}"))
    })
    .await?;
    let all = flow.each("users delete", &people, |one| delete(one.user_id.clone()));
    all.await.map(drop)
}
