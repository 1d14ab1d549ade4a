//! `DELETE /v1/manage/operators/invitations/{inv_id}`

use actix_web::HttpResponse;
use vestry_domain::ids::OperatorLinkId;
use vestry_edge::{Code, PathId, Problem};

use crate::call::Call;
use crate::fields::Removed;

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::KeyNotAllowed];

/// Withdraw an invitation
///
/// Its link stops working.
///
/// Needs the scope `operators:write`.
#[utoipa::path(
    delete,
    path = "/v1/manage/operators/invitations/{inv_id}",
    operation_id = "withdrawInvitation",
    tag = "Management",
    params(("inv_id" = String, Path, description = "Id of the invitation", pattern = "^inv_[0-9A-Za-z]{27}$")),
    responses((status = 200, description = "The id of the withdrawn invitation", body = Removed))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(id): PathId<OperatorLinkId>,
) -> Result<HttpResponse, Problem> {
    call.run(move |service, by| async move { service.withdraw_invitation(&by, id).await })
        .await?;
    Ok(Removed::of(id))
}
