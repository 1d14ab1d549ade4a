//! What each failure of a use case is on the wire. No wildcard arms: a new failure has to be given its place here.

use vestry_app::audit::ListAuditError;
use vestry_app::codes::{SendCodeError, VerifyCodeError};
use vestry_app::idempotency::BeginRunError;
use vestry_app::links::{
    CreateLinkError, LoginStatusError, RedirectError, SendLinkError, VerifyLinkError,
};
use vestry_app::oauth::{
    BeginOauthError, CallbackError, DeleteProviderLinkError, TestSignInError, VerifyOauthError,
};
use vestry_app::passkeys::{
    BeginAuthenticationError, BeginRegistrationError, CreatePasskeyError, DeletePasskeyError,
    VerifyPasskeyError,
};
use vestry_app::passwords::{
    BeginResetError, CompleteResetError, StrengthError, UpdatePasswordError, VerifyPasswordError,
};
use vestry_app::sessions::{
    DeleteAllSessionsError, DeleteSessionError, InvalidSession, KeySetError, ListSessionsError,
    VerifySessionError,
};
use vestry_app::test_env::TestEnvError;
use vestry_app::totps::{CreateTotpError, DeleteTotpError, RecoveryCodesError, VerifyTotpError};
use vestry_app::users::{
    CreateUserError, DeleteIdentifierError, DeleteUserError, DeleteWalletError, GetUserError,
    SearchUsersError, UpdateUserError,
};
use vestry_app::wallet_sign_in::{BeginWalletSignInError, VerifyWalletError};
use vestry_app::wallets::{
    BeginImportError, CreateWalletError, ExportWalletError, GetWalletError, ImportWalletError,
    ListWalletsError, SignError, SwitchWalletError, UnusableWallet,
};
use vestry_app::{AuthenticateError, Fault, NotAllowed};
use vestry_domain::provider::SignInFailure;
use vestry_domain::signing::SigningRefused;
use vestry_domain::timestamp::Seconds;

use super::{Code, Problem};

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        let (code, wait) = match &fault {
            Fault::Overloaded => return Self::new(Code::Unavailable).after(Seconds(2)),
            Fault::StaleRoot(..) | Fault::LostRace => (Code::Unavailable, Some(1)),
            Fault::Unavailable(_) => (Code::Unavailable, Some(2)),
            Fault::Sealed(_) => (Code::Sealed, Some(10)),
            Fault::NoTransport(_) => (Code::Unavailable, Some(60)),
            Fault::Tampered(_) | Fault::Internal(_) => (Code::Internal, None),
        };
        let problem = Self::new(code).because(fault);
        match wait {
            Some(seconds) => problem.after(Seconds(seconds)),
            None => problem,
        }
    }
}

impl From<NotAllowed> for Problem {
    fn from(NotAllowed(scope): NotAllowed) -> Self {
        Self {
            message: format!("the API key lacks the scope {scope}").into(),
            ..Self::new(Code::KeyNotAllowed)
        }
    }
}

impl From<InvalidSession> for Problem {
    fn from(_: InvalidSession) -> Self {
        Self::new(Code::InvalidSession)
    }
}

impl From<AuthenticateError> for Problem {
    fn from(error: AuthenticateError) -> Self {
        match error {
            AuthenticateError::Unknown => Self::new(Code::InvalidApiKey),
            AuthenticateError::Fault(fault) => fault.into(),
        }
    }
}

impl From<BeginRunError> for Problem {
    fn from(error: BeginRunError) -> Self {
        match error {
            BeginRunError::Reused => Self::new(Code::IdempotencyKeyReused),
            BeginRunError::Running => Self::still_running(),
            BeginRunError::Fault(fault) => fault.into(),
        }
    }
}

impl From<CreateUserError> for Problem {
    fn from(error: CreateUserError) -> Self {
        match error {
            CreateUserError::NotAllowed(scope) => scope.into(),
            CreateUserError::Invalid(invalid) => invalid.into(),
            CreateUserError::Duplicate(param) => Self::duplicate(param),
            CreateUserError::Fault(fault) => fault.into(),
        }
    }
}

impl From<GetUserError> for Problem {
    fn from(error: GetUserError) -> Self {
        match error {
            GetUserError::NotAllowed(scope) => scope.into(),
            GetUserError::NotFound => Self::not_found("user"),
            GetUserError::Fault(fault) => fault.into(),
        }
    }
}

impl From<UpdateUserError> for Problem {
    fn from(error: UpdateUserError) -> Self {
        match error {
            UpdateUserError::NotAllowed(scope) => scope.into(),
            UpdateUserError::Invalid(invalid) => invalid.into(),
            UpdateUserError::NotFound => Self::not_found("user"),
            UpdateUserError::Duplicate(param) => Self::duplicate(param),
            UpdateUserError::Fault(fault) => fault.into(),
        }
    }
}

impl From<SearchUsersError> for Problem {
    fn from(error: SearchUsersError) -> Self {
        match error {
            SearchUsersError::NotAllowed(scope) => scope.into(),
            SearchUsersError::Invalid(invalid) => invalid.into(),
            SearchUsersError::Fault(fault) => fault.into(),
        }
    }
}

impl From<DeleteUserError> for Problem {
    fn from(error: DeleteUserError) -> Self {
        match error {
            DeleteUserError::NotAllowed(scope) => scope.into(),
            DeleteUserError::NotFound => Self::not_found("user"),
            DeleteUserError::Fault(fault) => fault.into(),
        }
    }
}

impl From<DeleteIdentifierError> for Problem {
    fn from(error: DeleteIdentifierError) -> Self {
        match error {
            DeleteIdentifierError::NotAllowed(scope) => scope.into(),
            DeleteIdentifierError::NotFound(kind) => Self::not_found(kind),
            DeleteIdentifierError::LastSignInMethod => Self::new(Code::LastSignInMethod),
            DeleteIdentifierError::Fault(fault) => fault.into(),
        }
    }
}

impl From<DeleteWalletError> for Problem {
    fn from(error: DeleteWalletError) -> Self {
        match error {
            DeleteWalletError::NotAllowed(scope) => scope.into(),
            DeleteWalletError::NotFound => Self::not_found("wallet"),
            DeleteWalletError::Managed => Self::policy_denied(
                "the key of this wallet is kept here; it is deleted with its user only",
            ),
            DeleteWalletError::LastSignInMethod => Self::new(Code::LastSignInMethod),
            DeleteWalletError::Fault(fault) => fault.into(),
        }
    }
}

impl From<SendCodeError> for Problem {
    fn from(error: SendCodeError) -> Self {
        match error {
            SendCodeError::NotAllowed(scope) => scope.into(),
            SendCodeError::Invalid(invalid) => invalid.into(),
            SendCodeError::NotFound(resource) => Self::not_found(resource),
            SendCodeError::TooMany { retry_after } => {
                Self::new(Code::TooManyAttempts).after(retry_after)
            }
            SendCodeError::Fault(fault) => fault.into(),
        }
    }
}

impl From<VerifyCodeError> for Problem {
    fn from(error: VerifyCodeError) -> Self {
        match error {
            VerifyCodeError::NotAllowed(scope) => scope.into(),
            VerifyCodeError::Invalid(invalid) => invalid.into(),
            VerifyCodeError::InvalidCode => Self::new(Code::InvalidOtp),
            VerifyCodeError::TooManyAttempts { retry_after } => {
                Self::new(Code::TooManyAttempts).after(retry_after)
            }
            VerifyCodeError::NeedsSession => Self::new(Code::InsufficientFactor),
            VerifyCodeError::InvalidSession(session) => session.into(),
            VerifyCodeError::Fault(fault) => fault.into(),
        }
    }
}

impl From<CreateTotpError> for Problem {
    fn from(error: CreateTotpError) -> Self {
        match error {
            CreateTotpError::NotAllowed(scope) => scope.into(),
            CreateTotpError::Invalid(invalid) => invalid.into(),
            CreateTotpError::UserNotFound => Self::not_found("user"),
            CreateTotpError::Fault(fault) => fault.into(),
        }
    }
}

impl From<VerifyTotpError> for Problem {
    fn from(error: VerifyTotpError) -> Self {
        match error {
            VerifyTotpError::NotAllowed(scope) => scope.into(),
            VerifyTotpError::Invalid(invalid) => invalid.into(),
            VerifyTotpError::Pending => Self::new(Code::InsufficientFactor),
            VerifyTotpError::UserNotFound => Self::not_found("user"),
            VerifyTotpError::InvalidCode => Self::new(Code::InvalidOtp),
            VerifyTotpError::TooManyAttempts { retry_after } => {
                Self::new(Code::TooManyAttempts).after(retry_after)
            }
            VerifyTotpError::InvalidSession(session) => session.into(),
            VerifyTotpError::Fault(fault) => fault.into(),
        }
    }
}

impl From<RecoveryCodesError> for Problem {
    fn from(error: RecoveryCodesError) -> Self {
        match error {
            RecoveryCodesError::NotAllowed(scope) => scope.into(),
            RecoveryCodesError::UserNotFound => Self::not_found("user"),
            RecoveryCodesError::Fault(fault) => fault.into(),
        }
    }
}

impl From<DeleteTotpError> for Problem {
    fn from(error: DeleteTotpError) -> Self {
        match error {
            DeleteTotpError::NotAllowed(scope) => scope.into(),
            DeleteTotpError::NotFound => Self::not_found("totp"),
            DeleteTotpError::Fault(fault) => fault.into(),
        }
    }
}

impl From<VerifySessionError> for Problem {
    fn from(error: VerifySessionError) -> Self {
        match error {
            VerifySessionError::NotAllowed(scope) => scope.into(),
            VerifySessionError::Invalid(invalid) => invalid.into(),
            VerifySessionError::InvalidSession(session) => session.into(),
            VerifySessionError::Fault(fault) => fault.into(),
        }
    }
}

impl From<ListSessionsError> for Problem {
    fn from(error: ListSessionsError) -> Self {
        match error {
            ListSessionsError::NotAllowed(scope) => scope.into(),
            ListSessionsError::UserNotFound => Self::not_found("user"),
            ListSessionsError::Fault(fault) => fault.into(),
        }
    }
}

impl From<DeleteSessionError> for Problem {
    fn from(error: DeleteSessionError) -> Self {
        match error {
            DeleteSessionError::NotAllowed(scope) => scope.into(),
            DeleteSessionError::InvalidSession(session) => session.into(),
            DeleteSessionError::NotFound => Self::not_found("session"),
            DeleteSessionError::Fault(fault) => fault.into(),
        }
    }
}

impl From<DeleteAllSessionsError> for Problem {
    fn from(error: DeleteAllSessionsError) -> Self {
        match error {
            DeleteAllSessionsError::NotAllowed(scope) => scope.into(),
            DeleteAllSessionsError::UserNotFound => Self::not_found("user"),
            DeleteAllSessionsError::Fault(fault) => fault.into(),
        }
    }
}

impl From<KeySetError> for Problem {
    fn from(error: KeySetError) -> Self {
        match error {
            KeySetError::NotFound => Self::not_found("app"),
            KeySetError::Fault(fault) => fault.into(),
        }
    }
}

impl From<CreateWalletError> for Problem {
    fn from(error: CreateWalletError) -> Self {
        match error {
            CreateWalletError::NotAllowed(scope) => scope.into(),
            CreateWalletError::Invalid(invalid) => invalid.into(),
            CreateWalletError::UserNotFound => Self::not_found("user"),
            CreateWalletError::Fault(fault) => fault.into(),
        }
    }
}

impl From<GetWalletError> for Problem {
    fn from(error: GetWalletError) -> Self {
        match error {
            GetWalletError::NotAllowed(scope) => scope.into(),
            GetWalletError::NotFound => Self::not_found("wallet"),
            GetWalletError::Fault(fault) => fault.into(),
        }
    }
}

impl From<UnusableWallet> for Problem {
    fn from(error: UnusableWallet) -> Self {
        match error {
            UnusableWallet::NotFound => Self::not_found("wallet"),
            UnusableWallet::ReadOnly => Self::new(Code::WalletReadOnly),
            UnusableWallet::Disabled => Self::new(Code::WalletDisabled),
        }
    }
}

impl From<SwitchWalletError> for Problem {
    fn from(error: SwitchWalletError) -> Self {
        match error {
            SwitchWalletError::NotAllowed(scope) => scope.into(),
            SwitchWalletError::NotFound => Self::not_found("wallet"),
            SwitchWalletError::ReadOnly => Self::new(Code::WalletReadOnly),
            SwitchWalletError::Fault(fault) => fault.into(),
        }
    }
}

impl From<ListAuditError> for Problem {
    fn from(error: ListAuditError) -> Self {
        match error {
            ListAuditError::NotAllowed(scope) => scope.into(),
            ListAuditError::Invalid(invalid) => invalid.into(),
            ListAuditError::NotFound => Self::not_found("wallet"),
            ListAuditError::Fault(fault) => fault.into(),
        }
    }
}

impl From<ListWalletsError> for Problem {
    fn from(error: ListWalletsError) -> Self {
        match error {
            ListWalletsError::NotAllowed(scope) => scope.into(),
            ListWalletsError::Invalid(invalid) => invalid.into(),
            ListWalletsError::Fault(fault) => fault.into(),
        }
    }
}

impl From<SignError> for Problem {
    fn from(error: SignError) -> Self {
        match error {
            SignError::NotAllowed(scope) => scope.into(),
            SignError::Refused(refused) => refused.into(),
            SignError::Unusable(unusable) => unusable.into(),
            SignError::Fault(fault) => fault.into(),
        }
    }
}

impl From<BeginImportError> for Problem {
    fn from(error: BeginImportError) -> Self {
        match error {
            BeginImportError::NotAllowed(scope) => scope.into(),
            BeginImportError::Invalid(invalid) => invalid.into(),
            BeginImportError::UserNotFound => Self::not_found("user"),
            BeginImportError::TooMany { retry_after } => {
                Self::new(Code::TooManyAttempts).after(retry_after)
            }
            BeginImportError::Fault(fault) => fault.into(),
        }
    }
}

impl From<ImportWalletError> for Problem {
    fn from(error: ImportWalletError) -> Self {
        match error {
            ImportWalletError::NotAllowed(scope) => scope.into(),
            ImportWalletError::Invalid(invalid) => invalid.into(),
            ImportWalletError::UserNotFound => Self::not_found("user"),
            ImportWalletError::Undecipherable => Self::new(Code::DecryptionFailed),
            ImportWalletError::AddressMismatch => Self::new(Code::AddressMismatch),
            ImportWalletError::Duplicate => Self::duplicate("wallet.public_address"),
            ImportWalletError::Fault(fault) => fault.into(),
        }
    }
}

impl From<ExportWalletError> for Problem {
    fn from(error: ExportWalletError) -> Self {
        match error {
            ExportWalletError::NotAllowed(scope) => scope.into(),
            ExportWalletError::Disabled => Self::new(Code::FeatureDisabled),
            ExportWalletError::Invalid(invalid) => invalid.into(),
            ExportWalletError::Unusable(unusable) => unusable.into(),
            ExportWalletError::Fault(fault) => fault.into(),
        }
    }
}

impl From<SigningRefused> for Problem {
    fn from(refused: SigningRefused) -> Self {
        let message = refused.to_string();
        match refused {
            SigningRefused::Invalid(invalid) => invalid.into(),
            SigningRefused::MessageIsTransaction { param } => Self {
                param: Some(param.into()),
                ..Self::new(Code::MessageIsTransaction)
            },
            SigningRefused::UnsupportedMethod { .. } => Self {
                message: message.into(),
                param: Some("method".into()),
                ..Self::new(Code::UnsupportedMethod)
            },
            SigningRefused::Denied(message) => Self::policy_denied(message),
        }
    }
}

impl From<TestEnvError> for Problem {
    fn from(error: TestEnvError) -> Self {
        match error {
            TestEnvError::NotFound => Self::no_route(),
            TestEnvError::NotAllowed(refused) => refused.into(),
            TestEnvError::Invalid(invalid) => invalid.into(),
            TestEnvError::Fault(fault) => fault.into(),
        }
    }
}

impl From<RedirectError> for Problem {
    fn from(error: RedirectError) -> Self {
        match error {
            RedirectError::Missing(param) => Self::redirect(Code::RedirectUrlMissing, param),
            RedirectError::NotAllowed(param) => Self::redirect(Code::RedirectUrlNotAllowed, param),
        }
    }
}

impl From<SendLinkError> for Problem {
    fn from(error: SendLinkError) -> Self {
        match error {
            SendLinkError::NotAllowed(scope) => scope.into(),
            SendLinkError::Invalid(invalid) => invalid.into(),
            SendLinkError::Redirect(redirect) => redirect.into(),
            SendLinkError::TooMany { retry_after } => {
                Self::new(Code::TooManyAttempts).after(retry_after)
            }
            SendLinkError::Fault(fault) => fault.into(),
        }
    }
}

impl From<CreateLinkError> for Problem {
    fn from(error: CreateLinkError) -> Self {
        match error {
            CreateLinkError::NotAllowed(scope) => scope.into(),
            CreateLinkError::Invalid(invalid) => invalid.into(),
            CreateLinkError::NotFound(param) => Self::not_found(param),
            CreateLinkError::Fault(fault) => fault.into(),
        }
    }
}

impl From<VerifyLinkError> for Problem {
    fn from(error: VerifyLinkError) -> Self {
        match error {
            VerifyLinkError::NotAllowed(scope) => scope.into(),
            VerifyLinkError::Invalid(invalid) => invalid.into(),
            VerifyLinkError::InvalidToken => Self::new(Code::InvalidMagicToken),
            VerifyLinkError::InvalidOrigin => Self::new(Code::InvalidRequestOriginToken),
            VerifyLinkError::TooManyAttempts { retry_after } => {
                Self::new(Code::TooManyAttempts).after(retry_after)
            }
            VerifyLinkError::NeedsSession => Self::new(Code::InsufficientFactor),
            VerifyLinkError::InvalidSession(session) => session.into(),
            VerifyLinkError::Fault(fault) => fault.into(),
        }
    }
}

impl From<LoginStatusError> for Problem {
    fn from(error: LoginStatusError) -> Self {
        match error {
            LoginStatusError::NotAllowed(scope) => scope.into(),
            LoginStatusError::NotVerified => Self::new(Code::MagicLinkNotVerified),
            LoginStatusError::Expired => Self::new(Code::MagicLinkExpired),
            LoginStatusError::InvalidOrigin => Self::new(Code::InvalidRequestOriginToken),
            LoginStatusError::Fault(fault) => fault.into(),
        }
    }
}

impl From<VerifyPasswordError> for Problem {
    fn from(error: VerifyPasswordError) -> Self {
        match error {
            VerifyPasswordError::NotAllowed(scope) => scope.into(),
            VerifyPasswordError::Invalid(invalid) => invalid.into(),
            VerifyPasswordError::InvalidCredentials => Self::new(Code::InvalidCredentials),
            VerifyPasswordError::TooManyAttempts { retry_after } => {
                Self::new(Code::TooManyAttempts).after(retry_after)
            }
            VerifyPasswordError::InvalidSession(session) => session.into(),
            VerifyPasswordError::Fault(fault) => fault.into(),
        }
    }
}

impl From<UpdatePasswordError> for Problem {
    fn from(error: UpdatePasswordError) -> Self {
        match error {
            UpdatePasswordError::NotAllowed(scope) => scope.into(),
            UpdatePasswordError::Invalid(invalid) => invalid.into(),
            UpdatePasswordError::InvalidSession(session) => session.into(),
            UpdatePasswordError::InsufficientFactor => Self::new(Code::InsufficientFactor),
            UpdatePasswordError::InvalidCredentials => Self::new(Code::InvalidCredentials),
            UpdatePasswordError::TooManyAttempts { retry_after } => {
                Self::new(Code::TooManyAttempts).after(retry_after)
            }
            UpdatePasswordError::Fault(fault) => fault.into(),
        }
    }
}

impl From<StrengthError> for Problem {
    fn from(error: StrengthError) -> Self {
        match error {
            StrengthError::NotAllowed(scope) => scope.into(),
            StrengthError::Invalid(invalid) => invalid.into(),
            StrengthError::Fault(fault) => fault.into(),
        }
    }
}

impl From<BeginRegistrationError> for Problem {
    fn from(error: BeginRegistrationError) -> Self {
        match error {
            BeginRegistrationError::NotAllowed(scope) => scope.into(),
            BeginRegistrationError::Invalid(invalid) => invalid.into(),
            BeginRegistrationError::UserNotFound => Self::not_found("user"),
            BeginRegistrationError::Fault(fault) => fault.into(),
        }
    }
}

impl From<CreatePasskeyError> for Problem {
    fn from(error: CreatePasskeyError) -> Self {
        match error {
            CreatePasskeyError::NotAllowed(scope) => scope.into(),
            CreatePasskeyError::Invalid(invalid) => invalid.into(),
            CreatePasskeyError::UserNotFound => Self::not_found("user"),
            CreatePasskeyError::Duplicate => Self::duplicate("public_key_credential"),
            CreatePasskeyError::Fault(fault) => fault.into(),
        }
    }
}

impl From<BeginAuthenticationError> for Problem {
    fn from(error: BeginAuthenticationError) -> Self {
        match error {
            BeginAuthenticationError::NotAllowed(scope) => scope.into(),
            BeginAuthenticationError::Invalid(invalid) => invalid.into(),
            BeginAuthenticationError::UserNotFound => Self::not_found("user"),
            BeginAuthenticationError::Fault(fault) => fault.into(),
        }
    }
}

impl From<VerifyPasskeyError> for Problem {
    fn from(error: VerifyPasskeyError) -> Self {
        match error {
            VerifyPasskeyError::NotAllowed(scope) => scope.into(),
            VerifyPasskeyError::Invalid(invalid) => invalid.into(),
            VerifyPasskeyError::InvalidCredentials => Self::new(Code::InvalidCredentials),
            VerifyPasskeyError::Pending => Self::new(Code::InsufficientFactor),
            VerifyPasskeyError::InvalidSession(session) => session.into(),
            VerifyPasskeyError::Fault(fault) => fault.into(),
        }
    }
}

impl From<DeletePasskeyError> for Problem {
    fn from(error: DeletePasskeyError) -> Self {
        match error {
            DeletePasskeyError::NotAllowed(scope) => scope.into(),
            DeletePasskeyError::NotFound => Self::not_found("webauthn_credential"),
            DeletePasskeyError::LastWay => Self::new(Code::LastSignInMethod),
            DeletePasskeyError::Fault(fault) => fault.into(),
        }
    }
}

impl From<BeginResetError> for Problem {
    fn from(error: BeginResetError) -> Self {
        match error {
            BeginResetError::NotAllowed(scope) => scope.into(),
            BeginResetError::Invalid(invalid) => invalid.into(),
            BeginResetError::Redirect(redirect) => redirect.into(),
            BeginResetError::NotFound => Self::not_found("email"),
            BeginResetError::TooMany { retry_after } => {
                Self::new(Code::TooManyAttempts).after(retry_after)
            }
            BeginResetError::Fault(fault) => fault.into(),
        }
    }
}

impl From<CompleteResetError> for Problem {
    fn from(error: CompleteResetError) -> Self {
        match error {
            CompleteResetError::NotAllowed(scope) => scope.into(),
            CompleteResetError::Invalid(invalid) => invalid.into(),
            CompleteResetError::InvalidToken => Self::new(Code::InvalidMagicToken),
            CompleteResetError::TooManyAttempts { retry_after } => {
                Self::new(Code::TooManyAttempts).after(retry_after)
            }
            CompleteResetError::InsufficientFactor => Self::new(Code::InsufficientFactor),
            CompleteResetError::InvalidSession(session) => session.into(),
            CompleteResetError::Fault(fault) => fault.into(),
        }
    }
}

impl From<BeginWalletSignInError> for Problem {
    fn from(error: BeginWalletSignInError) -> Self {
        match error {
            BeginWalletSignInError::NotAllowed(scope) => scope.into(),
            BeginWalletSignInError::Invalid(invalid) => invalid.into(),
            BeginWalletSignInError::UserNotFound => Self::not_found("user"),
            BeginWalletSignInError::Taken => Self::duplicate("public_address"),
            BeginWalletSignInError::TooMany { retry_after } => {
                Self::new(Code::TooManyAttempts).after(retry_after)
            }
            BeginWalletSignInError::Fault(fault) => fault.into(),
        }
    }
}

impl From<VerifyWalletError> for Problem {
    fn from(error: VerifyWalletError) -> Self {
        match error {
            VerifyWalletError::NotAllowed(scope) => scope.into(),
            VerifyWalletError::Invalid(invalid) => invalid.into(),
            VerifyWalletError::InvalidSignature => Self::new(Code::InvalidCredentials),
            VerifyWalletError::Pending => Self::new(Code::InsufficientFactor),
            VerifyWalletError::Taken => Self::duplicate("public_address"),
            VerifyWalletError::InvalidSession(session) => session.into(),
            VerifyWalletError::Fault(fault) => fault.into(),
        }
    }
}

impl From<BeginOauthError> for Problem {
    fn from(error: BeginOauthError) -> Self {
        match error {
            BeginOauthError::NotAllowed(refused) => refused.into(),
            BeginOauthError::Invalid(invalid) => invalid.into(),
            BeginOauthError::NotConfigured => Self::new(Code::ProviderNotConfigured),
            BeginOauthError::NotFound => Self::not_found("provider"),
            BeginOauthError::Redirect(redirect) => redirect.into(),
            BeginOauthError::Misconfigured(fault) => Self::provider_of_no_use(fault),
            BeginOauthError::TooMany { retry_after } => {
                Self::new(Code::RateLimited).after(retry_after)
            }
            BeginOauthError::Fault(fault) => fault.into(),
        }
    }
}

impl From<CallbackError> for Problem {
    fn from(error: CallbackError) -> Self {
        match error {
            CallbackError::NotFound => Self::not_found("callback"),
            CallbackError::NowhereToGo(SignInFailure::InvalidState) => {
                Self::new(Code::InvalidState)
            }
            CallbackError::NowhereToGo(_) => Self::new(Code::RedirectUrlMissing),
            CallbackError::Fault(fault) => fault.into(),
        }
    }
}

impl From<TestSignInError> for Problem {
    fn from(error: TestSignInError) -> Self {
        match error {
            TestSignInError::NotFound => Self::not_found("sign_in"),
            TestSignInError::Fault(fault) => fault.into(),
        }
    }
}

impl From<VerifyOauthError> for Problem {
    fn from(error: VerifyOauthError) -> Self {
        match error {
            VerifyOauthError::NotAllowed(refused) => refused.into(),
            VerifyOauthError::Invalid(invalid) => invalid.into(),
            VerifyOauthError::InvalidToken => Self::new(Code::InvalidOauthToken),
            VerifyOauthError::InvalidState => Self::new(Code::InvalidState),
            VerifyOauthError::Taken => Self::duplicate("email"),
            VerifyOauthError::Misconfigured(fault) => Self::provider_of_no_use(fault),
            VerifyOauthError::NotConfigured => Self::new(Code::ProviderNotConfigured),
            VerifyOauthError::InvalidSession(session) => session.into(),
            VerifyOauthError::Fault(fault) => fault.into(),
        }
    }
}

impl From<DeleteProviderLinkError> for Problem {
    fn from(error: DeleteProviderLinkError) -> Self {
        match error {
            DeleteProviderLinkError::NotAllowed(refused) => refused.into(),
            DeleteProviderLinkError::NotFound => Self::not_found("idp_provider"),
            DeleteProviderLinkError::LastWay => Self::new(Code::LastSignInMethod),
            DeleteProviderLinkError::Fault(fault) => fault.into(),
        }
    }
}
