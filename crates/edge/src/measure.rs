//! What the metrics count of requests.

use std::time::Duration;

use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use vestry_app::Counted;
use vestry_domain::metric::{AttemptMethod, AttemptResult, StatusClass, WorkClass};
use vestry_domain::operation::Operation;

use crate::https;
use crate::problem::Code;
use crate::route::Route;
use crate::state::State;

/// The route of requests that no endpoint serves.
pub(crate) const NO_ROUTE: &str = "-";

/// Counts a response.
pub(crate) fn responded(
    state: &State,
    route: Option<&Route>,
    response: &ServiceResponse,
    code: Option<Code>,
    took: Duration,
) {
    let meter = state.service.meter();
    let method = response.request().method();
    let status = StatusClass::of(response.status().as_u16());
    let pattern = route.map_or(NO_ROUTE, Route::as_str);
    let operation = route.and_then(|route| route.operation(method));
    meter.request(pattern, class(pattern, operation), status, took);
    if let Some(code) = code {
        meter.count(Counted::Refusal(code.as_str()));
    }
    let attempt = operation
        .filter(|_| method == Method::POST)
        .and_then(attempt);
    if let (Some(attempt), Some(result)) = (attempt, result(status, code)) {
        meter.count(Counted::SignIn(attempt, result));
    }
}

/// Counts a decision of the rate limit.
pub(crate) fn decided(state: &State, route: &Route, request: &ServiceRequest, admitted: bool) {
    let class = class(route.as_str(), route.operation(request.method()));
    let decision = Counted::LimiterDecision { class, admitted };
    state.service.meter().count(decision);
}

/// The class of work of a request.
fn class(pattern: &str, operation: Option<Operation>) -> WorkClass {
    match operation {
        Some(operation) => class_of(operation),
        None if https::is_probe(pattern) => WorkClass::Health,
        None if pattern.starts_with("/v1/oauth") => WorkClass::Oauth,
        None if pattern.starts_with("/v1/magic_links") => WorkClass::Link,
        None => WorkClass::Admin,
    }
}

const fn class_of(operation: Operation) -> WorkClass {
    use Operation as O;
    match operation {
        O::VerifySession
        | O::ListSessions
        | O::DeleteSession
        | O::DeleteAllSessions
        | O::GetDefaultKeySet => WorkClass::Session,
        O::GetUser => WorkClass::UserRead,
        O::SearchUsers => WorkClass::UserSearch,
        O::CreateUser
        | O::UpdateUser
        | O::DeleteUser
        | O::DisableUser
        | O::EnableUser
        | O::UnlockUser
        | O::DeleteUserTotp
        | O::DeleteUserEmail
        | O::DeleteUserPhoneNumber
        | O::DeleteUserPhoneNumberAlias
        | O::DeleteUserWallet
        | O::DeleteUserIdpProvider
        | O::DeleteWebauthnCredential => WorkClass::UserWrite,
        O::LoginOrCreateByEmail | O::SendEmailOtp | O::LoginOrCreateBySms | O::SendSmsOtp => {
            WorkClass::CodeSend
        }
        O::VerifyOtp => WorkClass::CodeVerify,
        O::CreateTotp | O::VerifyTotp | O::RecoverTotp | O::ShowRecoveryCodes => WorkClass::Totp,
        O::LoginOrCreateByMagicLink
        | O::InviteByMagicLink
        | O::MagicLinkLoginStatus
        | O::CreateMagicLink
        | O::VerifyMagicLink => WorkClass::Link,
        O::BeginOauth | O::VerifyOauth => WorkClass::Oauth,
        O::VerifyPassword
        | O::UpdatePasswordBySession
        | O::CheckPasswordStrength
        | O::BeginPasswordReset
        | O::CompletePasswordReset => WorkClass::Password,
        O::BeginWebauthnRegistration
        | O::CreateWebauthnCredential
        | O::BeginWebauthnAuthentication
        | O::VerifyWebauthn => WorkClass::Passkey,
        O::BeginWalletSignIn
        | O::GetWalletNonce
        | O::VerifyWallet
        | O::VerifySiwe
        | O::ListWallets
        | O::GetWallet
        | O::ListWalletAudit => WorkClass::WalletRead,
        O::CreateWallet
        | O::BeginWalletImport
        | O::ImportWallet
        | O::DisableWallet
        | O::EnableWallet
        | O::ExportWallet => WorkClass::WalletCreate,
        O::SignMessage | O::SignTransaction | O::CallWalletMethod => WorkClass::Sign,
        O::ListEvents
        | O::GetEventsHead
        | O::GetEvent
        | O::ListAudit
        | O::ListTestMessages
        | O::DeleteTestMessages
        | O::ReadTestClock
        | O::SetTestClock
        | O::ResetTestClock => WorkClass::Admin,
    }
}

/// The method of the sign-in that an operation completes.
const fn attempt(operation: Operation) -> Option<AttemptMethod> {
    Some(match operation {
        Operation::VerifyOtp => AttemptMethod::Code,
        Operation::VerifyMagicLink | Operation::CompletePasswordReset => AttemptMethod::Link,
        Operation::VerifyPassword => AttemptMethod::Password,
        Operation::VerifyTotp | Operation::RecoverTotp => AttemptMethod::Totp,
        Operation::VerifyWebauthn => AttemptMethod::Passkey,
        Operation::VerifyWallet | Operation::VerifySiwe => AttemptMethod::Wallet,
        Operation::VerifyOauth => AttemptMethod::Oauth,
        _ => return None,
    })
}

/// The result of an attempt to sign in; `None` if the service failed.
const fn result(status: StatusClass, code: Option<Code>) -> Option<AttemptResult> {
    Some(match (status, code) {
        (StatusClass::Success | StatusClass::Redirect, _) => AttemptResult::Ok,
        (StatusClass::Unavailable | StatusClass::Failed, _) => return None,
        (_, Some(Code::MagicLinkExpired)) => AttemptResult::Expired,
        (_, Some(Code::TooManyAttempts)) => AttemptResult::Locked,
        (_, Some(Code::RateLimited)) => AttemptResult::Limited,
        (
            _,
            Some(
                Code::InvalidOtp
                | Code::InvalidMagicToken
                | Code::InvalidOauthToken
                | Code::InvalidCredentials
                | Code::InvalidSession,
            ),
        ) => AttemptResult::Wrong,
        _ => AttemptResult::Refused,
    })
}
