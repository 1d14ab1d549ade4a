//! `GET /v1/manage/operators/invitations`

use actix_web::HttpResponse;
use vestry_edge::views::{InvitationView, views};
use vestry_edge::{Code, Problem};

use crate::call::Call;
use crate::etag;
use crate::invitations::Invitations;

pub(crate) const ERRORS: &[Code] = &[Code::KeyNotAllowed];

/// List the open invitations
///
/// Returns the invitations to the key's Apps that were neither accepted nor expired, oldest first.
///
/// Needs the scope `operators:read`.
#[utoipa::path(
    get,
    path = "/v1/manage/operators/invitations",
    operation_id = "listInvitations",
    tag = "Management",
    responses((status = 200, description = "The invitations", body = Invitations))
)]
pub(crate) async fn handle(call: Call) -> Result<HttpResponse, Problem> {
    let invitations = call
        .run(|service, by| async move { service.list_invitations(&by).await })
        .await?;
    let shown: Vec<InvitationView<'_>> = views(&invitations);
    etag::list("invitations", &shown)
}
