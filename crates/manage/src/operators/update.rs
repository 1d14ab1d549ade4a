//! `PATCH /v1/manage/operators/{user_id}`

use actix_web::HttpResponse;
use serde::Deserialize;
use utoipa::ToSchema;
use vestry_app::operators::{OperatorChange, OperatorLookup};
use vestry_domain::ids::UserId;
use vestry_edge::views::OperatorView;
use vestry_edge::{Body, Code, PathId, Problem};

use crate::call::Call;
use crate::etag;
use crate::operators::Operator;

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidField,
    Code::UnknownField,
    Code::MissingField,
    Code::NotFound,
    Code::KeyNotAllowed,
    Code::LastOwner,
];

/// A change of an operator.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UpdateOperatorRequest)]
pub(crate) struct Request {
    /// Whether the operator may not sign in. `false` changes nothing: it is refused if the operator is disabled.
    disabled: bool,
}

/// Disable an operator
///
/// A disabled operator's sessions end. Only viewers of the key's Apps can be changed, and only if they have no role elsewhere. A key cannot
/// enable an operator who is disabled.
///
/// Needs the scope `operators:write`.
#[utoipa::path(
    patch,
    path = "/v1/manage/operators/{user_id}",
    operation_id = "updateOperator",
    tag = "Management",
    params(("user_id" = String, Path, description = "Id of the operator", pattern = "^user_[0-9A-Za-z]{27}$")),
    request_body(content = Request, content_type = "application/json"),
    responses((status = 200, description = "The operator", body = Operator))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(id): PathId<UserId>,
    Body(request): Body<Request>,
) -> Result<HttpResponse, Problem> {
    let operator = call
        .run(move |service, by| async move {
            let change = match request.disabled {
                true => OperatorChange::Disable,
                false => OperatorChange::Enable,
            };
            service.change_operator(&by, id, change).await?;
            service.find_operator(&by, &OperatorLookup::Id(id)).await
        })
        .await?;
    etag::object(&OperatorView::from(&operator))
}
