//! `POST /v1/auth/oauth/verify`

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestry_app::identity::oauth::{OauthProof, VerifiedOauth, VerifyOauth};
use vestry_app::identity::sessions::SessionObject;
use vestry_domain::{Invalid, Secret};
use vestry_edge::{Body, Call, Code, Json, Problem};

use crate::v1::shapes::{Device, IssuedFields, Session, request_with_session, session_fields};

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

request_with_session! {
    /// A token from a redirect, or the code and state that arrived at the App's own callback. The session fields start or continue a session.
    #[derive(Deserialize, ToSchema)]
    #[schema(as = OauthVerifyRequest)]
    pub(crate) struct Request {
        /// The `token` from the query of the URL that the browser landed on.
        #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
        token: Option<String>,
        /// The `code` that the provider sent to the App's own callback; requires `state`.
        #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
        code: Option<String>,
        /// The `state` that `begin` returned. Required with `code`.
        ///
        /// With `token`, it shows that the browser that landed is the one that started the sign-in. Only then can a session in the request link
        /// the person to its user.
        #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
        state: Option<String>,
        /// PKCE code verifier, with `token` only: 43 to 128 characters. Required if the sign-in was started with a `code_challenge`, not
        /// allowed otherwise. After five wrong verifiers the token is used up.
        #[schema(pattern = "^[0-9A-Za-z._~-]{43,128}$")]
        code_verifier: Option<String>,
        /// The `iss` that arrived with `code` (RFC 9207), if any.
        #[serde(default, deserialize_with = "vestry_edge::json::text_or_absent")]
        iss: Option<String>,
    }
}

/// The signed-in user: an OAuth session for a `token`, the user for a `code`.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = OauthVerifyResponse)]
pub(crate) enum Response {
    Token(ByToken),
    Code(ByCode),
}

/// The response to a `token`.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = OauthSession)]
pub(crate) struct ByToken {
    /// Id of the user at the provider.
    #[schema(min_length = 1)]
    provider_subject: String,
    /// Name of the provider.
    #[schema(pattern = "^[a-z][a-z0-9-]{0,31}$")]
    provider: String,
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    user_id: String,
    idp_session: IdpSession,
    /// The session; `null` if none was requested.
    #[schema(value_type = Option<Session>, required = true)]
    session: Option<SessionObject>,
    /// Token of the session, 64 characters; `""` if none was requested.
    #[schema(pattern = "^([0-9A-Za-z]{64})?$")]
    session_token: String,
    /// JWT of the session; `""` if none was requested.
    session_jwt: String,
}

/// Tokens that the provider issued.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct IdpSession {
    idp: IdpTokens,
}

/// The provider's own tokens; `""` unless the connection was set up with `--store-tokens`.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct IdpTokens {
    /// Access token.
    access_token: String,
    /// Also `""` if the provider issued none.
    refresh_token: String,
}

/// The response to a `code`.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = OauthCodeSession)]
pub(crate) struct ByCode {
    /// Token of the session, 64 characters; `""` if none was requested.
    #[schema(pattern = "^([0-9A-Za-z]{64})?$")]
    session_token: String,
    /// JWT of the session; `""` if none was requested.
    session_jwt: String,
    user: OauthUser,
    /// The session; `null` if none was requested.
    #[schema(value_type = Option<Session>, required = true)]
    session: Option<SessionObject>,
}

/// The user, with the provider's data under the provider's name.
#[derive(Serialize, ToSchema)]
pub(crate) struct OauthUser {
    /// Id of the user.
    #[schema(pattern = "^user_[0-9A-Za-z]{27}$")]
    id: String,
    /// The user's e-mail address; `""` if there is none.
    email: String,
    #[serde(flatten)]
    provider: BTreeMap<String, OauthPerson>,
}

/// A person's data as reported by the provider.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct OauthPerson {
    /// E-mail address; `""` if the provider sent none.
    email: String,
    /// Name; `""` if the provider sent none.
    name: String,
    /// Id of the user at the provider.
    #[schema(min_length = 1)]
    subject: String,
    /// When the user was linked to the provider, in Unix seconds.
    created_at: i64,
    /// When the user last signed in through the provider, which is now, in Unix seconds.
    updated_at: i64,
}

/// Verify a sign-in through an identity provider
///
/// Tokens are single-use, expire after ten minutes, and require the PKCE verifier if the sign-in was started with a challenge. A state is
/// single-use too.
///
/// A new person becomes a new user. A person whose address the provider has **verified** is signed in as the user who has that address,
/// just as with a code sent there.
///
/// An unverified address never joins an existing account: if a user has it, the call returns 409 `duplicate`. The token then stays valid.
/// Sign the user in, and send the token again with that session and the `state`.
///
/// Needs the scope `auth:write`.
#[utoipa::path(
    post,
    path = "/v1/auth/oauth/verify",
    operation_id = "verifyOauth",
    tag = "OAuth",
    request_body = Request,
    responses((status = 200, description = "The user is signed in", body = Response))
)]
pub(crate) async fn handle(
    call: Call,
    Body(request): Body<Request>,
) -> Result<Json<Response>, Problem> {
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
        session_fields: session_fields!(request),
        device_fingerprint: Device::check_or_default(request.device_fingerprint)?,
    };
    let verified = call
        .run(|service, caller| async move { service.verify_oauth(&caller, command).await })
        .await?;
    Ok(Json(if is_code {
        Response::Code(by_code(verified))
    } else {
        Response::Token(by_token(verified))
    }))
}

/// The sign-in credentials in a request.
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
                "send either token, or code and state",
            )),
            (Some(token), None, state) => Ok(OauthProof::Token {
                token: Secret::new(token),
                state: state.map(Secret::new),
                code_verifier: self.code_verifier.map(Secret::new),
            }),
            (None, Some(_), Some(_)) if self.code_verifier.is_some() => Err(Invalid::value(
                "code_verifier",
                "code_verifier is only supported with token; a code from your own callback is bound by its state",
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
