//! What each failure of a use case is on the wire. No wildcard arms: a new failure has to be given its place here.

use vestry_app::codes::{SendCodeError, VerifyCodeError};
use vestry_app::sessions::{
    DeleteAllSessionsError, DeleteSessionError, InvalidSession, KeySetError, ListSessionsError,
    VerifySessionError,
};
use vestry_app::test_env::TestEnvError;
use vestry_app::totps::{CreateTotpError, DeleteTotpError, RecoveryCodesError, VerifyTotpError};
use vestry_app::users::{CreateUserError, GetUserError};
use vestry_app::wallet_sign_in::{BeginWalletSignInError, VerifyWalletError};
use vestry_app::wallets::{CreateWalletError, GetWalletError, ListWalletsError, SignMessageError};
use vestry_app::{AuthenticateError, Fault, NotAllowed};
use vestry_domain::timestamp::Seconds;

use super::{Code, Problem};

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        let (code, wait) = match &fault {
            Fault::LostRace => (Code::Unavailable, Some(1)),
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

impl From<SendCodeError> for Problem {
    fn from(error: SendCodeError) -> Self {
        match error {
            SendCodeError::NotAllowed(scope) => scope.into(),
            SendCodeError::Invalid(invalid) => invalid.into(),
            SendCodeError::NotFound => Self::not_found("email"),
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

impl From<BeginWalletSignInError> for Problem {
    fn from(error: BeginWalletSignInError) -> Self {
        match error {
            BeginWalletSignInError::NotAllowed(scope) => scope.into(),
            BeginWalletSignInError::Invalid(invalid) => invalid.into(),
            BeginWalletSignInError::UserNotFound => Self::not_found("user"),
            BeginWalletSignInError::Taken => Self::duplicate("public_address"),
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
            VerifyWalletError::Taken => Self::duplicate("public_address"),
            VerifyWalletError::InvalidSession(session) => session.into(),
            VerifyWalletError::Fault(fault) => fault.into(),
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

impl From<ListWalletsError> for Problem {
    fn from(error: ListWalletsError) -> Self {
        match error {
            ListWalletsError::NotAllowed(scope) => scope.into(),
            ListWalletsError::Invalid(invalid) => invalid.into(),
            ListWalletsError::Fault(fault) => fault.into(),
        }
    }
}

impl From<SignMessageError> for Problem {
    fn from(error: SignMessageError) -> Self {
        match error {
            SignMessageError::NotAllowed(scope) => scope.into(),
            SignMessageError::Invalid(invalid) => invalid.into(),
            SignMessageError::NotFound => Self::not_found("wallet"),
            SignMessageError::ReadOnly => Self::new(Code::WalletReadOnly),
            SignMessageError::Fault(fault) => fault.into(),
        }
    }
}

impl From<TestEnvError> for Problem {
    fn from(error: TestEnvError) -> Self {
        match error {
            TestEnvError::NotFound => Self::no_route(),
            TestEnvError::Invalid(invalid) => invalid.into(),
            TestEnvError::Fault(fault) => fault.into(),
        }
    }
}
