//! `POST /v1/manage/operators/invitations`

use actix_web::HttpResponse;
use serde::Deserialize;
use utoipa::ToSchema;
use vestry_app::operators::Handover;
use vestry_domain::operator::{Grants, Role};
use vestry_edge::views::InvitationView;
use vestry_edge::{Body, Code, Problem};

use crate::call::Call;
use crate::etag;
use crate::fields::AppList;
use crate::invitations::Invitation;

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidField,
    Code::UnknownField,
    Code::MissingField,
    Code::NotFound,
    Code::Duplicate,
    Code::KeyNotAllowed,
    Code::TooManyAttempts,
    Code::Unavailable,
];

/// An operator to invite.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = InviteOperatorRequest)]
pub(crate) struct Request {
    /// The address to which the link is mailed.
    email: String,
    /// The role. A management key makes viewers only.
    #[schema(pattern = "^viewer$")]
    role: String,
    /// The Apps: `all`, or a list of ids.
    apps: AppList,
}

/// Invite an operator
///
/// Mails a link that is valid for 72 hours and works once. A key can mail 30 an hour.
///
/// Needs the scope `operators:write`. 503 `unavailable` if no mail can be sent.
#[utoipa::path(
    post,
    path = "/v1/manage/operators/invitations",
    operation_id = "inviteOperator",
    tag = "Management",
    request_body(content = Request, content_type = "application/json"),
    responses((status = 201, description = "The invitation", body = Invitation))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<HttpResponse, Problem> {
    let role: Role = request.role.parse()?;
    let grants = Grants::new(role, request.apps.parsed()?)?;
    let made = call
        .run(move |service, by| async move {
            service
                .invite_operator(&by, &request.email, grants, Handover::Mail)
                .await
        })
        .await?;
    etag::created(&InvitationView::from(&made.record))
}
