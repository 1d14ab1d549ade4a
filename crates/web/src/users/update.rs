//! `PUT /v1/auth/users/{user_id}/update`

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use vestry_app::users::{NewIdentifier, UpdateUser};
use vestry_domain::Invalid;
use vestry_domain::ids::UserId;

use crate::body::Body;
use crate::call::Call;
use crate::path::PathId;
use crate::problem::{Code, Problem};
use crate::shapes::{Email, PhoneNumber, User};

pub(crate) const ERRORS: &[Code] = &[
    Code::MissingField,
    Code::InvalidField,
    Code::NotFound,
    Code::Duplicate,
    Code::LimitReached,
    Code::Sealed,
];

/// What is absent or `null` stays as it is.
#[derive(Deserialize, ToSchema)]
#[schema(as = UpdateUserRequest)]
pub(crate) struct Request {
    /// At most 255 characters, no control characters.
    #[schema(min_length = 1, max_length = 255, examples("Ada"))]
    first_name: Option<String>,
    /// At most 255 characters, no control characters.
    #[schema(min_length = 1, max_length = 255)]
    middle_name: Option<String>,
    /// At most 255 characters, no control characters.
    #[schema(min_length = 1, max_length = 255, examples("Lovelace"))]
    last_name: Option<String>,
    /// Addresses to attach. One that the user has already is passed over.
    #[schema(max_items = 100)]
    emails: Option<Vec<EmailEntry>>,
    /// Numbers to attach. One that the user has already is passed over.
    #[schema(max_items = 100)]
    phone_numbers: Option<Vec<PhoneNumberEntry>>,
    /// Merged into the metadata on its top level: a key that is `null` is deleted, `{}` deletes all of them. The result has at
    /// most 16 KiB, 50 keys on the top level and 8 levels.
    #[schema(value_type = Option<Object>, examples(json!({"plan": "pro", "trial": null})))]
    metadata: Option<Map<String, Value>>,
    /// Whether `metadata` takes the place of everything that was there, without a merge.
    #[schema(default = false)]
    replace_metadata: Option<bool>,
    /// Refused: see `disable` and `enable`.
    #[schema(ignore)]
    status: Option<Value>,
    /// Refused: it follows from the status.
    #[schema(ignore)]
    active: Option<Value>,
}

/// An address to attach.
#[derive(Deserialize, ToSchema)]
#[schema(as = UpdateUserEmailInput)]
struct EmailEntry {
    #[schema(
        min_length = 1,
        max_length = 254,
        format = "email",
        examples("ada@example.com")
    )]
    email: String,
    /// Whether you vouch for it: it is verified from now on, also when the user had it already. When nothing of the account was
    /// proved before, sessions and credentials of before are removed. False when absent.
    verified: Option<bool>,
}

/// A number to attach.
#[derive(Deserialize, ToSchema)]
#[schema(as = UpdateUserPhoneNumberInput)]
struct PhoneNumberEntry {
    /// E.164.
    #[schema(pattern = "^\\+[1-9][0-9]{1,14}$", examples("+14155552671"))]
    phone_number: String,
    /// Whether you vouch for it, likewise.
    verified: Option<bool>,
}

/// The user as it is now.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UpdateUserResponse)]
pub(crate) struct Answer {
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    /// Oldest first.
    phone_numbers: Vec<PhoneNumber>,
    /// Oldest first.
    emails: Vec<Email>,
    user: User,
}

/// Update a user
///
/// Names, metadata, and addresses and numbers to attach, all or nothing. Nothing is ever removed by it. An address or
/// number that belongs to another user is refused with 409 `duplicate`, and nothing changes. What is attached is a claim, unless
/// you vouch for it with `verified`: its owner proves it within a session of the user. No session ends by it, and the user's
/// verified addresses are told. `status` and `active` are not set here, and 400: `disable` and `enable` do that.
///
/// Needs the scope `users:write`.
#[utoipa::path(
    put,
    path = "/v1/auth/users/{user_id}/update",
    operation_id = "updateUser",
    tag = "Users",
    params(("user_id" = String, Path, description = "Id of the user", pattern = "^user_[0-9A-Za-z]{27}$")),
    request_body = Request,
    responses((status = 200, description = "The user as it is now", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    PathId(id): PathId<UserId>,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
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
    Ok(Json(Answer {
        user_id: id.to_string(),
        phone_numbers: profile.phones.iter().map(PhoneNumber::from).collect(),
        emails: profile.emails.iter().map(Email::from).collect(),
        user: updated.into(),
    }))
}

/// Whoever sends it expects something to come of it.
fn refuse_status(request: &Request) -> Result<(), Invalid> {
    for (param, sent) in [("status", &request.status), ("active", &request.active)] {
        if sent.is_some() {
            let message = format!(
                "{param} is not set by an update; call POST /v1/auth/users/{{user_id}}/disable or /enable"
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
