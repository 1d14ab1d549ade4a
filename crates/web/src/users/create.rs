//! `POST /v1/auth/users/create`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use vestry_app::users::CreateUser;

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::{User, UserStatusName, optional_wallet_type_input};

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::Duplicate, Code::Sealed];

/// A new user. `email`, `phone_number` or both are required.
#[derive(Deserialize, ToSchema)]
#[schema(as = CreateUserRequest)]
pub(crate) struct Request {
    /// Address, stored as sent. Case, normal form and A- or U-labels of the domain make no difference when it is compared.
    #[schema(
        min_length = 1,
        max_length = 254,
        format = "email",
        examples("ada@example.com")
    )]
    email: Option<String>,
    /// E.164.
    #[schema(pattern = "^\\+[1-9][0-9]{1,14}$", examples("+14155552671"))]
    phone_number: Option<String>,
    /// Whether you vouch for the address: it is verified from now on, and signs its owner in. False when absent.
    email_verified: Option<bool>,
    /// Whether you vouch for the number, likewise. False when absent.
    phone_number_verified: Option<bool>,
    /// At most 255 characters, no control characters.
    #[schema(max_length = 255, examples("Ada"))]
    first_name: Option<String>,
    /// At most 255 characters, no control characters.
    #[schema(max_length = 255)]
    middle_name: Option<String>,
    /// At most 255 characters, no control characters.
    #[schema(max_length = 255, examples("Lovelace"))]
    last_name: Option<String>,
    /// Whether the user stays `pending` until an identifier is verified, unless you vouch for one. When absent, the App's setting, which is false
    /// unless it was changed.
    requires_verification: Option<bool>,
    #[schema(schema_with = optional_wallet_type_input)]
    wallet_type: Option<String>,
    /// Whether the answer holds the whole user.
    #[schema(examples(true))]
    include_user: Option<bool>,
    /// Free-form data: at most 16 KiB, 50 keys on the top level, 8 levels.
    #[schema(value_type = Option<Object>, examples(json!({"plan": "pro"})))]
    metadata: Option<Map<String, Value>>,
}

/// The user that was created.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CreateUserResponse)]
pub(crate) struct Answer {
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    #[schema(value_type = UserStatusName)]
    status: &'static str,
    /// `""` when there is no address.
    #[schema(pattern = "^(email_[0-9A-Za-z]{27})?$")]
    email_id: String,
    /// `""` when there is no number.
    #[schema(pattern = "^(pn_[0-9A-Za-z]{27})?$")]
    phone_number_id: String,
    /// Present when `include_user` is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    user: Option<User>,
}

/// Create a user
///
/// Creates a user with its identifiers and a default wallet, all or nothing. An address or number that belongs to
/// a user of this App and environment already is refused with 409 `duplicate`. An address or number that nobody has proved and
/// you do not vouch for is a claim: it is kept for the user, and whoever proves it first founds the account.
///
/// Needs the scope `users:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/users/create",
    operation_id = "createUser",
    tag = "Users",
    request_body = Request,
    responses((status = 200, description = "The user was created", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
    let include_user = request.include_user.unwrap_or(false);
    let command = CreateUser {
        email: request.email,
        phone_number: request.phone_number,
        email_verified: request.email_verified.unwrap_or(false),
        phone_number_verified: request.phone_number_verified.unwrap_or(false),
        first_name: request.first_name,
        middle_name: request.middle_name,
        last_name: request.last_name,
        requires_verification: request.requires_verification,
        wallet_type: request.wallet_type,
        metadata: request.metadata,
    };
    let created = call
        .run(|service, caller| async move { service.create_user(&caller, command).await })
        .await?;
    let profile = &created.user.profile;
    Ok(Json(Answer {
        user_id: profile.user.id.to_string(),
        status: profile.user.status.as_str(),
        email_id: profile
            .emails
            .first()
            .map(|email| email.id.to_string())
            .unwrap_or_default(),
        phone_number_id: profile
            .phones
            .first()
            .map(|phone| phone.id.to_string())
            .unwrap_or_default(),
        user: include_user.then(|| created.user.into()),
    }))
}
