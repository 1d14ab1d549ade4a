//! Maps the errors of use cases to error responses: shared errors first, then those of each use case.
//!
//! There are no wildcard arms, so a new error must be mapped here.

use vestry_app::delivery::events::ListEventsError;
use vestry_app::delivery::test_messages::TestEnvError;
use vestry_app::idempotency::{BeginRunError, CredentialKind};
use vestry_app::identity::codes::VerifyCodeError;
use vestry_app::identity::links::{LoginStatusError, RedirectError, VerifyLinkError};
use vestry_app::identity::oauth::{BeginOauthError, CallbackError, VerifyOauthError};
use vestry_app::identity::passwords::CompleteResetError;
use vestry_app::identity::totps::VerifyTotpError;
use vestry_app::identity::users::{DeleteWalletError, SearchUsersError};
use vestry_app::wallets::{
    ExportWalletError, ImportWalletError, SignError, SwitchWalletError, UnusableWallet,
};
use vestry_app::{AuthenticateError, Fault, Refusal};
use vestry_domain::provider::SignInFailure;
use vestry_domain::signing::SigningRefused;
use vestry_domain::timestamp::Seconds;

use super::{Code, Problem};

/// What to do about an unverified claim in a call that names a user (CL-5).
const UNPROVEN_IDENTIFIER: &str = "this address or number is not verified yet; \
    send the user's session_token, or use login_or_create to sign the user in";

/// Why a code and state that are valid for Vestry's own callback are rejected (M-15).
const FOR_OUR_CALLBACK: &str = "this sign-in uses Vestry's own callback. To verify the code yourself, pass redirect_uri \
    to oauth/{provider}/begin, or set oauth_test_redirect_uri or oauth_live_redirect_uri";

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::KeyEnded => Self::new(Code::InvalidApiKey),
            Refusal::NotAllowed(Some(scope)) => Self {
                message: format!("the API key lacks the scope {scope}; use a key that has it")
                    .into(),
                ..Self::new(Code::KeyNotAllowed)
            },
            Refusal::NotAllowed(None) => Self::new(Code::KeyNotAllowed),
            Refusal::Invalid(invalid) => invalid.into(),
            Refusal::Redirect(redirect) => redirect.into(),
            Refusal::NotFound(resource) => Self::not_found(resource),
            Refusal::Taken(field) => Self::duplicate(field),
            Refusal::Duplicate(_) => Self {
                message: refusal.to_string().into(),
                ..Self::new(Code::Duplicate)
            },
            Refusal::NotNow(message) => Self {
                message: message.into(),
                ..Self::new(Code::InvalidField)
            },
            Refusal::LimitReached { param, kind, most } => Self {
                message: format!("a user can have at most {most} {kind}; delete one first").into(),
                param,
                ..Self::new(Code::LimitReached)
            },
            Refusal::LastSignInMethod => Self::new(Code::LastSignInMethod),
            Refusal::InvalidSession => Self::new(Code::InvalidSession),
            Refusal::InvalidCredentials => Self::new(Code::InvalidCredentials),
            Refusal::InsufficientFactor => Self::new(Code::InsufficientFactor),
            Refusal::UnprovenIdentifier => Self {
                message: UNPROVEN_IDENTIFIER.into(),
                ..Self::new(Code::InsufficientFactor)
            },
            Refusal::TooMany { retry_after } => {
                Self::new(Code::TooManyAttempts).with_retry_after(retry_after)
            }
            Refusal::Fault(fault) => fault.into(),
        }
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        let (code, wait) = match &fault {
            Fault::Overloaded => return Self::new(Code::Unavailable).with_retry_after(Seconds(2)),
            Fault::StaleRoot(..) | Fault::LostRace => (Code::Unavailable, Some(1)),
            Fault::Unavailable(_) => (Code::Unavailable, Some(2)),
            Fault::Sealed(_) => (Code::Sealed, Some(10)),
            Fault::NoTransport(_) => (Code::Unavailable, Some(60)),
            Fault::Tampered(_) | Fault::Internal(_) => (Code::Internal, None),
        };
        let problem = Self::new(code).with_source(fault);
        match wait {
            Some(seconds) => problem.with_retry_after(Seconds(seconds)),
            None => problem,
        }
    }
}

impl From<ListEventsError> for Problem {
    fn from(error: ListEventsError) -> Self {
        match error {
            ListEventsError::CursorUnknown => Self {
                param: Some("after".into()),
                ..Self::new(Code::CursorUnknown)
            },
            ListEventsError::Common(refusal) => refusal.into(),
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
            BeginRunError::ExportDisabled => ExportWalletError::Disabled.into(),
            BeginRunError::Unusable(unusable) => unusable.into(),
            BeginRunError::UserDisabled(shown) => Self::new(match shown {
                CredentialKind::Code => Code::InvalidOtp,
                CredentialKind::Link => Code::InvalidMagicToken,
                CredentialKind::Origin => Code::MagicLinkExpired,
                CredentialKind::Provider => Code::InvalidOauthToken,
                CredentialKind::Credentials => Code::InvalidCredentials,
                CredentialKind::Session => Code::InvalidSession,
            }),
            BeginRunError::Common(refusal) => refusal.into(),
        }
    }
}

impl From<TestEnvError> for Problem {
    fn from(error: TestEnvError) -> Self {
        match error {
            TestEnvError::NotFound => Self::no_route(),
            TestEnvError::Common(refusal) => refusal.into(),
        }
    }
}

impl From<VerifyCodeError> for Problem {
    fn from(error: VerifyCodeError) -> Self {
        match error {
            VerifyCodeError::InvalidCode => Self::new(Code::InvalidOtp),
            VerifyCodeError::Common(refusal) => refusal.into(),
        }
    }
}

impl From<VerifyTotpError> for Problem {
    fn from(error: VerifyTotpError) -> Self {
        match error {
            VerifyTotpError::InvalidCode => Self::new(Code::InvalidOtp),
            VerifyTotpError::Common(refusal) => refusal.into(),
        }
    }
}

impl From<VerifyLinkError> for Problem {
    fn from(error: VerifyLinkError) -> Self {
        match error {
            VerifyLinkError::InvalidToken => Self::new(Code::InvalidMagicToken),
            VerifyLinkError::InvalidOrigin => Self::new(Code::InvalidRequestOriginToken),
            VerifyLinkError::Common(refusal) => refusal.into(),
        }
    }
}

impl From<LoginStatusError> for Problem {
    fn from(error: LoginStatusError) -> Self {
        match error {
            LoginStatusError::NotVerified => Self::new(Code::MagicLinkNotVerified),
            LoginStatusError::Expired => Self::new(Code::MagicLinkExpired),
            LoginStatusError::InvalidOrigin => Self::new(Code::InvalidRequestOriginToken),
            LoginStatusError::Common(refusal) => refusal.into(),
        }
    }
}

impl From<CompleteResetError> for Problem {
    fn from(error: CompleteResetError) -> Self {
        match error {
            CompleteResetError::InvalidToken => Self::new(Code::InvalidMagicToken),
            CompleteResetError::Common(refusal) => refusal.into(),
        }
    }
}

impl From<BeginOauthError> for Problem {
    fn from(error: BeginOauthError) -> Self {
        match error {
            BeginOauthError::NotConfigured => Self::new(Code::ProviderNotConfigured),
            BeginOauthError::Misconfigured(fault) => Self::provider_misconfigured(fault),
            BeginOauthError::TooMany { retry_after } => {
                Self::new(Code::RateLimited).with_retry_after(retry_after)
            }
            BeginOauthError::Common(refusal) => refusal.into(),
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

impl From<VerifyOauthError> for Problem {
    fn from(error: VerifyOauthError) -> Self {
        match error {
            VerifyOauthError::InvalidToken => Self::new(Code::InvalidOauthToken),
            VerifyOauthError::InvalidState => Self::new(Code::InvalidState),
            VerifyOauthError::ForOurCallback => Self {
                message: FOR_OUR_CALLBACK.into(),
                ..Self::new(Code::InvalidState)
            },
            VerifyOauthError::Misconfigured(fault) => Self::provider_misconfigured(fault),
            VerifyOauthError::NotConfigured => Self::new(Code::ProviderNotConfigured),
            VerifyOauthError::Common(refusal) => refusal.into(),
        }
    }
}

impl From<DeleteWalletError> for Problem {
    fn from(error: DeleteWalletError) -> Self {
        match error {
            DeleteWalletError::Managed => Self::policy_denied(
                "managed wallets cannot be deleted on their own; disable the wallet, or delete its user",
            ),
            DeleteWalletError::Common(refusal) => refusal.into(),
        }
    }
}

impl From<SearchUsersError> for Problem {
    fn from(error: SearchUsersError) -> Self {
        match error {
            SearchUsersError::TooLong(limit) => Self::too_long(limit),
            SearchUsersError::Common(refusal) => refusal.into(),
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
            SwitchWalletError::ReadOnly => Self::new(Code::WalletReadOnly),
            SwitchWalletError::Common(refusal) => refusal.into(),
        }
    }
}

impl From<ImportWalletError> for Problem {
    fn from(error: ImportWalletError) -> Self {
        match error {
            ImportWalletError::Undecipherable => Self::new(Code::DecryptionFailed),
            ImportWalletError::AddressMismatch => Self::new(Code::AddressMismatch),
            ImportWalletError::Common(refusal) => refusal.into(),
        }
    }
}

impl From<ExportWalletError> for Problem {
    fn from(error: ExportWalletError) -> Self {
        match error {
            ExportWalletError::Disabled => Self::new(Code::FeatureDisabled),
            ExportWalletError::Unusable(unusable) => unusable.into(),
            ExportWalletError::Common(refusal) => refusal.into(),
        }
    }
}

impl From<SignError> for Problem {
    fn from(error: SignError) -> Self {
        match error {
            SignError::Refused(refused) => refused.into(),
            SignError::Unusable(unusable) => unusable.into(),
            SignError::Common(refusal) => refusal.into(),
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
