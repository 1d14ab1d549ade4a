//! `GET /v1/manage/operators`

use actix_web::HttpResponse;
use vestry_edge::views::{OperatorView, views};
use vestry_edge::{Code, Problem};

use crate::call::Call;
use crate::etag;
use crate::operators::Operators;

pub(crate) const ERRORS: &[Code] = &[Code::KeyNotAllowed];

/// List the operators
///
/// Returns the operators with a role in one of the key's Apps, oldest first.
///
/// Needs the scope `operators:read`.
#[utoipa::path(
    get,
    path = "/v1/manage/operators",
    operation_id = "listOperators",
    tag = "Management",
    responses((status = 200, description = "The operators", body = Operators))
)]
pub(crate) async fn handle(call: Call) -> Result<HttpResponse, Problem> {
    let operators = call
        .run(|service, by| async move { service.list_operators(&by).await })
        .await?;
    let shown: Vec<OperatorView<'_>> = views(&operators);
    etag::list("operators", &shown)
}
