//! `POST /v1/auth/users/create`

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use vestry_app::identity::users::CreateUser;
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::{User, UserStatusName, optional_wallet_type_input};

pub(crate) const ERRORS: &[Code] = &[Code::NotFound, Code::Duplicate, Code::Sealed];

/// A new user. `email`, `phone_number` or both are required.
#[derive(Deserialize, ToSchema)]
#[schema(as = CreateUserRequest)]
pub(crate) struct Request {
    /// E-mail address, stored as sent, at most 254 characters. Comparisons ignore case, Unicode normalization, and whether the domain has
    /// A-labels or U-labels.
    #[schema(
        min_length = 1,
        max_length = 254,
        format = "email",
        examples("ada@example.com")
    )]
    email: Option<String>,
    /// Phone number, in E.164 format.
    #[schema(pattern = "^\\+[1-9][0-9]{1,14}$", examples("+14155552671"))]
    phone_number: Option<String>,
    /// Whether the App asserts that the address is verified. If true, the address can sign in its owner at once. Default: false.
    email_verified: Option<bool>,
    /// Whether the App asserts that the number is verified. If true, the number can sign in its owner at once. Default: false.
    phone_number_verified: Option<bool>,
    /// First name, at most 255 characters, no control characters.
    #[schema(max_length = 255, examples("Ada"))]
    first_name: Option<String>,
    /// Middle name, at most 255 characters, no control characters.
    #[schema(max_length = 255)]
    middle_name: Option<String>,
    /// Last name, at most 255 characters, no control characters.
    #[schema(max_length = 255, examples("Lovelace"))]
    last_name: Option<String>,
    /// Whether the user stays `pending` until an identifier is verified, unless the App asserts that one is. Defaults to the App's setting,
    /// which is initially false.
    requires_verification: Option<bool>,
    #[schema(schema_with = optional_wallet_type_input)]
    wallet_type: Option<String>,
    /// Whether the response includes the complete user. Default: false.
    #[schema(examples(true))]
    include_user: Option<bool>,
    /// Free-form data: a JSON object of at most 16 KiB, 50 top-level keys and 8 levels.
    #[schema(value_type = Option<Object>, examples(json!({"plan": "pro"})))]
    metadata: Option<Map<String, Value>>,
}

/// The created user.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CreateUserResponse)]
pub(crate) struct Response {
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    #[schema(value_type = UserStatusName)]
    status: &'static str,
    /// Id of the e-mail address; `""` if there is none.
    #[schema(pattern = "^(email_[0-9A-Za-z]{27})?$")]
    email_id: String,
    /// Id of the phone number; `""` if there is none.
    #[schema(pattern = "^(pn_[0-9A-Za-z]{27})?$")]
    phone_number_id: String,
    /// The complete user; present if `include_user` is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    user: Option<User>,
}

/// Create a user
///
/// Creates a user with its identifiers and a default wallet, either completely or not at all. If another user of this App and environment
/// has the address or number, the call returns 409 `duplicate`.
///
/// An identifier that is neither verified nor asserted by the App is a claim. It is reserved for the user, and the first person who
/// verifies it becomes the owner of the account.
///
/// Needs the scope `users:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/users/create",
    operation_id = "createUser",
    tag = "Users",
    request_body = Request,
    responses((status = 200, description = "The user was created", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
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
    Ok(Json(Response {
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
