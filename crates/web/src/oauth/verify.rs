//! `POST /v1/auth/oauth/verify`

use std::collections::BTreeMap;

use actix_web::web::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::oauth::{OauthProof, VerifiedOauth, VerifyOauth};
use vestry_app::sessions::SessionObject;
use vestry_domain::{Invalid, Secret};

use crate::body::Body;
use crate::call::Call;
use crate::problem::{Code, Problem};
use crate::shapes::{Device, IssuedFields, Session, SessionFields};

pub(crate) const ERRORS: &[Code] = &[
    Code::InvalidOauthToken,
    Code::InvalidState,
    Code::ProviderNotConfigured,
    Code::InvalidSession,
    Code::NotFound,
    Code::Duplicate,
    Code::LimitReached,
    Code::Sealed,
];

/// A token out of a redirect, or the code and the state that came to the App's own callback; and what shall become of a session.
#[derive(Deserialize, ToSchema)]
#[schema(as = OauthVerifyRequest)]
pub(crate) struct Request {
    /// The `token` that stands in the query of the URL on which the browser landed.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    token: Option<String>,
    /// The `code` that the provider brought to the App's own callback; with `state`.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    code: Option<String>,
    /// The state that `begin` answered. Needed with `code`. With `token` it says that the browser that landed is the one that
    /// began; only then a session of the request gets the person linked to its user.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    state: Option<String>,
    /// With `token`: the code verifier of the `code_challenge` with which the sign-in was begun; where it was begun with none,
    /// there must be none. After five wrong ones the token is used up.
    #[schema(pattern = "^[0-9A-Za-z._~-]{43,128}$")]
    code_verifier: Option<String>,
    /// `iss` that came with `code` (RFC 9207), when it did.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    iss: Option<String>,
    /// Minutes. Without a session in the request: start one that long. With one: it ends that long from now.
    #[schema(minimum = 5, maximum = 525_600, examples(60))]
    session_expires_in: Option<i64>,
    /// A session of the same user; the new factor is added to it and it gets a fresh token.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    session_token: Option<String>,
    /// The same, by one of its JWTs.
    #[serde(default, deserialize_with = "crate::json::text_or_absent")]
    session_jwt: Option<String>,
    /// Strings that the session and its JWTs carry for the App; none when absent, as before in a continued session.
    #[schema(max_items = 50)]
    permissions: Option<Vec<String>>,
    /// The end user's device.
    device_fingerprint: Option<Device>,
}

/// Who has signed in. For a token the OAuth session, for a code the user.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = OauthVerifyResponse)]
pub(crate) enum Answer {
    Token(ByToken),
    Code(ByCode),
}

/// The answer for a `token`.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = OauthSession)]
pub(crate) struct ByToken {
    /// The user's id at the provider.
    #[schema(min_length = 1)]
    provider_subject: String,
    /// Name of the provider.
    #[schema(pattern = "^[a-z][a-z0-9-]{0,31}$")]
    provider: String,
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    idp_session: IdpSession,
    /// `null` when no session was asked for.
    #[schema(value_type = Option<Session>, required = true)]
    session: Option<SessionObject>,
    /// `""` when no session was asked for.
    #[schema(pattern = "^([0-9A-Za-z]{64})?$")]
    session_token: String,
    /// `""` when no session was asked for.
    session_jwt: String,
}

/// What the provider issued.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct IdpSession {
    idp: IdpTokens,
}

/// The provider's own tokens; `""` unless the connection was set with `--store-tokens`.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct IdpTokens {
    access_token: String,
    /// `""` too when the provider issued none.
    refresh_token: String,
}

/// The answer for a `code`.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = OauthCodeSession)]
pub(crate) struct ByCode {
    /// `""` when no session was asked for.
    #[schema(pattern = "^([0-9A-Za-z]{64})?$")]
    session_token: String,
    /// `""` when no session was asked for.
    session_jwt: String,
    user: OauthUser,
    /// `null` when no session was asked for.
    #[schema(value_type = Option<Session>, required = true)]
    session: Option<SessionObject>,
}

/// The user, and under the provider's name what the provider said.
#[derive(Serialize, ToSchema)]
pub(crate) struct OauthUser {
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    id: String,
    /// The user's address; `""` when there is none.
    email: String,
    #[serde(flatten)]
    provider: BTreeMap<String, OauthPerson>,
}

/// What a provider said of a person.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct OauthPerson {
    /// `""` when the provider told none.
    email: String,
    /// `""` when the provider told none.
    name: String,
    /// The user's id at the provider.
    #[schema(min_length = 1)]
    subject: String,
    /// When the user was linked with the provider, in Unix seconds.
    created_at: i64,
    /// Now, in Unix seconds.
    updated_at: i64,
}

/// Verify a sign-in through an identity provider
///
/// A token is good once, within ten minutes, and to whoever has the verifier of the challenge with which the sign-in was begun; a
/// state is good once, too. Somebody who is new becomes a user; somebody whose address the
/// provider has **proved** joins the user who has it, as a code sent there would let in. An address that is not proved joins
/// nobody: 409 `duplicate` where a user has it. The token stays good then: have the user sign in, and send it again with that
/// session and the `state`.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/oauth/verify",
    operation_id = "verifyOauth",
    tag = "OAuth",
    request_body = Request,
    responses((status = 200, description = "Somebody has signed in", body = Answer))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Answer>, Problem> {
    let is_code = request.code.is_some();
    let presented = Presented {
        token: request.token,
        code: request.code,
        state: request.state,
        code_verifier: request.code_verifier,
        issuer: request.iss,
    };
    let command = VerifyOauth {
        proof: presented.proof()?,
        session_fields: SessionFields {
            session_expires_in: request.session_expires_in,
            session_token: request.session_token,
            session_jwt: request.session_jwt,
            permissions: request.permissions,
        }
        .into(),
        device_fingerprint: Device::check_or_default(request.device_fingerprint)?,
    };
    let verified = call
        .run(|service, caller| async move { service.verify_oauth(&caller, command).await })
        .await?;
    Ok(Json(if is_code {
        Answer::Code(by_code(verified))
    } else {
        Answer::Token(by_token(verified))
    }))
}

/// What a request shows of a sign-in.
struct Presented {
    token: Option<String>,
    code: Option<String>,
    state: Option<String>,
    code_verifier: Option<String>,
    issuer: Option<String>,
}

impl Presented {
    fn proof(self) -> Result<OauthProof, Invalid> {
        match (self.token, self.code, self.state) {
            (Some(_), Some(_), _) => Err(Invalid::value(
                "code",
                "send token, or code and state, and not both",
            )),
            (Some(token), None, state) => Ok(OauthProof::Token {
                token: Secret::new(token),
                state: state.map(Secret::new),
                code_verifier: self.code_verifier.map(Secret::new),
            }),
            (None, Some(_), Some(_)) if self.code_verifier.is_some() => Err(Invalid::value(
                "code_verifier",
                "code_verifier goes with token; a code of your own callback is bound by its state",
            )),
            (None, Some(code), Some(state)) => Ok(OauthProof::Code {
                code: Secret::new(code),
                state: Secret::new(state),
                issuer: self.issuer,
            }),
            (None, Some(_), None) => Err(Invalid::missing("state")),
            (None, None, _) => Err(Invalid::missing("token")),
        }
    }
}

fn by_token(verified: VerifiedOauth) -> ByToken {
    let tokens = verified.tokens.as_ref();
    let idp = IdpTokens {
        access_token: tokens
            .map(|tokens| tokens.access_token.expose().clone())
            .unwrap_or_default(),
        refresh_token: tokens
            .and_then(|tokens| tokens.refresh_token.as_ref())
            .map(|token| token.expose().clone())
            .unwrap_or_default(),
    };
    let issued = IssuedFields::from(verified.issued);
    ByToken {
        provider_subject: verified.link.subject,
        provider: verified.link.provider.to_string(),
        user_id: verified.link.user_id.to_string(),
        idp_session: IdpSession { idp },
        session: issued.session,
        session_token: issued.session_token,
        session_jwt: issued.session_jwt,
    }
}

fn by_code(verified: VerifiedOauth) -> ByCode {
    let issued = IssuedFields::from(verified.issued);
    let person = OauthPerson {
        email: verified.identity.email.unwrap_or_default(),
        name: verified.identity.name.unwrap_or_default(),
        subject: verified.link.subject,
        created_at: verified.link.created_at.unix(),
        updated_at: verified.link.updated_at.unix(),
    };
    ByCode {
        session_token: issued.session_token,
        session_jwt: issued.session_jwt,
        user: OauthUser {
            id: verified.link.user_id.to_string(),
            email: verified.user_email,
            provider: BTreeMap::from([(verified.link.provider.to_string(), person)]),
        },
        session: issued.session,
    }
}
