//! `DELETE /v1/manage/operators/{user_id}`

use actix_web::HttpResponse;
use vestry_app::operators::OperatorChange;
use vestry_domain::ids::UserId;
use vestry_edge::{Code, PathId, Problem};

use crate::call::Call;
use crate::fields::Removed;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::KeyNotAllowed, Code::LastOwner];

/// Remove an operator
///
/// The operator is deleted with all factors, and the sessions end. Only viewers of the key's Apps can be removed, and only if they have no
/// role elsewhere and are not disabled.
///
/// Needs the scope `operators:write`.
#[utoipa::path(
    delete,
    path = "/v1/manage/operators/{user_id}",
    operation_id = "removeOperator",
    tag = "Management",
    params(("user_id" = String, Path, description = "Id of the operator", pattern = "^user_[0-9A-Za-z]{27}$")),
    responses((status = 200, description = "The id of the removed operator", body = Removed))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(id): PathId<UserId>,
) -> Result<HttpResponse, Problem> {
    call.run(move |service, by| async move {
        service
            .change_operator(&by, id, OperatorChange::Remove)
            .await
    })
    .await?;
    Ok(Removed::of(id))
}
