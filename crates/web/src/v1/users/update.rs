//! `PUT /v1/auth/users/{user_id}/update`

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use vestry_app::identity::users::{NewIdentifier, UpdateUser};
use vestry_domain::Invalid;
use vestry_domain::ids::UserId;
use vestry_edge::{Body, Call, Code, Json, PathId, Problem};

use crate::v1::shapes::{Email, PhoneNumber, User};

pub(crate) const ERRORS: &[Code] = &[
    Code::MissingField,
    Code::InvalidField,
    Code::NotFound,
    Code::Duplicate,
    Code::LimitReached,
    Code::Sealed,
];

/// Changes to a user. Fields that are absent or `null` stay unchanged.
#[derive(Deserialize, ToSchema)]
#[schema(as = UpdateUserRequest)]
pub(crate) struct Request {
    /// First name, 1 to 255 characters, no control characters.
    #[schema(min_length = 1, max_length = 255, examples("Ada"))]
    first_name: Option<String>,
    /// Middle name, 1 to 255 characters, no control characters.
    #[schema(min_length = 1, max_length = 255)]
    middle_name: Option<String>,
    /// Last name, 1 to 255 characters, no control characters.
    #[schema(min_length = 1, max_length = 255, examples("Lovelace"))]
    last_name: Option<String>,
    /// E-mail addresses to attach. Addresses that the user already has are skipped.
    #[schema(max_items = 100)]
    emails: Option<Vec<EmailEntry>>,
    /// Phone numbers to attach. Numbers that the user already has are skipped.
    #[schema(max_items = 100)]
    phone_numbers: Option<Vec<PhoneNumberEntry>>,
    /// Metadata to merge at the top level: a `null` value deletes its key, and `{}` deletes all keys. The result can have at most 16 KiB,
    /// 50 top-level keys and 8 levels.
    #[schema(value_type = Option<Object>, examples(json!({"plan": "pro", "trial": null})))]
    metadata: Option<Map<String, Value>>,
    /// Whether `metadata` replaces all existing metadata instead of being merged.
    #[schema(default = false)]
    replace_metadata: Option<bool>,
    /// Not accepted; use `disable` and `enable`.
    #[schema(ignore)]
    status: Option<Value>,
    /// Not accepted; derived from the status.
    #[schema(ignore)]
    active: Option<Value>,
}

/// An e-mail address to attach.
#[derive(Deserialize, ToSchema)]
#[schema(as = UpdateUserEmailInput)]
struct EmailEntry {
    /// E-mail address, at most 254 characters.
    #[schema(
        min_length = 1,
        max_length = 254,
        format = "email",
        examples("ada@example.com")
    )]
    email: String,
    /// Whether the App asserts that the address is verified, even if the user already has it. If nothing about the account was verified
    /// before, its earlier sessions and credentials are removed. Default: false.
    verified: Option<bool>,
}

/// A phone number to attach.
#[derive(Deserialize, ToSchema)]
#[schema(as = UpdateUserPhoneNumberInput)]
struct PhoneNumberEntry {
    /// Phone number, in E.164 format.
    #[schema(pattern = "^\\+[1-9][0-9]{1,14}$", examples("+14155552671"))]
    phone_number: String,
    /// Whether the App asserts that the number is verified, with the same effects as for an address. Default: false.
    verified: Option<bool>,
}

/// The updated user.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UpdateUserResponse)]
pub(crate) struct Response {
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// Phone numbers, oldest first.
    phone_numbers: Vec<PhoneNumber>,
    /// E-mail addresses, oldest first.
    emails: Vec<Email>,
    user: User,
}

/// Update a user
///
/// Changes names and metadata and attaches addresses and numbers, either completely or not at all. The call never removes an address or
/// number. If another user has an address or number, the call returns 409 `duplicate` and nothing changes.
///
/// An attached identifier is a claim, unless the App asserts with `verified` that it is verified. The user verifies it within a session.
///
/// Sessions are unaffected. Verified addresses are notified. `status` and `active` cannot be set here (400); use `disable` and `enable`.
///
/// Needs the scope `users:write`.
#[utoipa::path(
    put,
    path = "/v1/auth/users/{user_id}/update",
    operation_id = "updateUser",
    tag = "Users",
    params(("user_id" = String, Path, description = "Id of the user", pattern = "^user_[0-9A-Za-z]{27}$")),
    request_body = Request,
    responses((status = 200, description = "The updated user", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(id): PathId<UserId>,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
    refuse_status(&request)?;
    let emails = request.emails.unwrap_or_default();
    let phone_numbers = request.phone_numbers.unwrap_or_default();
    let command = UpdateUser {
        first_name: request.first_name,
        middle_name: request.middle_name,
        last_name: request.last_name,
        emails: emails
            .into_iter()
            .map(|entry| new_identifier(entry.email, entry.verified))
            .collect(),
        phone_numbers: phone_numbers
            .into_iter()
            .map(|entry| new_identifier(entry.phone_number, entry.verified))
            .collect(),
        metadata: request.metadata,
        replace_metadata: request.replace_metadata.unwrap_or(false),
    };
    let updated = call
        .run(move |service, caller| async move { service.update_user(&caller, id, command).await })
        .await?;
    let profile = &updated.profile;
    Ok(Json(Response {
        user_id: id.to_string(),
        phone_numbers: profile.phones.iter().map(PhoneNumber::from).collect(),
        emails: profile.emails.iter().map(Email::from).collect(),
        user: updated.into(),
    }))
}

/// Rejects `status` and `active`, because a caller who sends them expects an effect.
fn refuse_status(request: &Request) -> Result<(), Invalid> {
    for (param, sent) in [("status", &request.status), ("active", &request.active)] {
        if sent.is_some() {
            let message = format!(
                "{param} cannot be set here; call POST /v1/auth/users/{{user_id}}/disable or /enable"
            );
            return Err(Invalid::value(param, message));
        }
    }
    Ok(())
}

fn new_identifier(text: String, verified: Option<bool>) -> NewIdentifier {
    NewIdentifier {
        text,
        verified: verified.unwrap_or(false),
    }
}
