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
use vestry_domain::api_key::Restriction;
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
            Refusal::AppDisabled => Self {
                message: "the App is disabled".into(),
                param: Some("app".into()),
                ..Self::new(Code::FeatureDisabled)
            },
            Refusal::Restricted(restriction) => restriction.into(),
            Refusal::RoleNotAllowed => Self::new(Code::RoleNotAllowed),
            Refusal::StepUpRequired => Self::new(Code::StepUpRequired),
            Refusal::LastOwner => Self::new(Code::LastOwner),
            Refusal::Invalid(invalid) => invalid.into(),
            Refusal::Redirect(redirect) => redirect.into(),
            Refusal::NotFound(resource) => Self::not_found(resource),
            Refusal::Taken(field) => Self::duplicate(field),
            Refusal::Duplicate(_) => Self {
                message: refusal.to_string().into(),
                ..Self::new(Code::Duplicate)
            },
            Refusal::PreconditionFailed => Self::new(Code::PreconditionFailed),
            Refusal::NotNow(message) => Self {
                message: message.into(),
                ..Self::new(Code::InvalidField)
            },
            Refusal::LimitReached {
                param,
                of,
                kind,
                most,
            } => Self {
                message: format!("{of} can have at most {most} {kind}; delete one first").into(),
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

impl From<Restriction> for Problem {
    fn from(restriction: Restriction) -> Self {
        Self {
            message: restriction.to_string().into(),
            param: Some(restriction.param().into()),
            ..Self::new(Code::KeyNotAllowed)
        }
    }
}

/// How often waiting messages are counted.
const COUNTED_EVERY: Seconds = Seconds(15);

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        let (code, wait) = match &fault {
            Fault::Overloaded => return Self::new(Code::Unavailable).with_retry_after(Seconds(2)),
            Fault::TooManyWaiting => {
                return Self {
                    message: fault.to_string().into(),
                    ..Self::new(Code::Unavailable).with_retry_after(COUNTED_EVERY)
                };
            }
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

impl From<CallbackError> for Problem {
    fn from(error: CallbackError) -> Self {
        match error {
            CallbackError::NotFound => Self::not_found("callback"),
            CallbackError::NowhereToGo(SignInFailure::InvalidState) => {
                Self::new(Code::InvalidState)
            }
            CallbackError::NowhereToGo(_) => Self::new(Code::RedirectUrlMissing),
            CallbackError::Common(refusal) => refusal.into(),
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

/// Maps the errors of use cases that can also be a common [`Refusal`]: their own cases, as listed.
macro_rules! from_use_cases {
    ($($error:ident { $($case:ident $(($of:pat))? $({ $field:ident })? => $problem:expr,)+ })+) => {$(
        impl From<$error> for Problem {
            fn from(error: $error) -> Self {
                match error {
                    $($error::$case $(($of))? $({ $field })? => $problem,)+
                    $error::Common(refusal) => refusal.into(),
                }
            }
        }
    )+};
}

from_use_cases! {
    ListEventsError {
        CursorUnknown => Problem {
            param: Some("after".into()),
            ..Problem::new(Code::CursorUnknown)
        },
    }
    BeginRunError {
        Reused => Problem::new(Code::IdempotencyKeyReused),
        Running => Problem::still_running(),
        ExportDisabled => ExportWalletError::Disabled.into(),
        Unusable(unusable) => unusable.into(),
        UserDisabled(shown) => Problem::new(match shown {
            CredentialKind::Code => Code::InvalidOtp,
            CredentialKind::Link => Code::InvalidMagicToken,
            CredentialKind::Origin => Code::MagicLinkExpired,
            CredentialKind::Provider => Code::InvalidOauthToken,
            CredentialKind::Credentials => Code::InvalidCredentials,
            CredentialKind::Session => Code::InvalidSession,
        }),
    }
    TestEnvError {
        NotFound => Problem::no_route(),
    }
    VerifyCodeError {
        InvalidCode => Problem::new(Code::InvalidOtp),
    }
    VerifyTotpError {
        InvalidCode => Problem::new(Code::InvalidOtp),
    }
    VerifyLinkError {
        InvalidToken => Problem::new(Code::InvalidMagicToken),
        InvalidOrigin => Problem::new(Code::InvalidRequestOriginToken),
    }
    LoginStatusError {
        NotVerified => Problem::new(Code::MagicLinkNotVerified),
        Expired => Problem::new(Code::MagicLinkExpired),
        InvalidOrigin => Problem::new(Code::InvalidRequestOriginToken),
    }
    CompleteResetError {
        InvalidToken => Problem::new(Code::InvalidMagicToken),
    }
    BeginOauthError {
        NotConfigured => Problem::new(Code::ProviderNotConfigured),
        Misconfigured(fault) => Problem::provider_misconfigured(fault),
        TooMany { retry_after } => Problem::new(Code::RateLimited).with_retry_after(retry_after),
    }
    VerifyOauthError {
        InvalidToken => Problem::new(Code::InvalidOauthToken),
        InvalidState => Problem::new(Code::InvalidState),
        ForOurCallback => Problem {
            message: FOR_OUR_CALLBACK.into(),
            ..Problem::new(Code::InvalidState)
        },
        Misconfigured(fault) => Problem::provider_misconfigured(fault),
        NotConfigured => Problem::new(Code::ProviderNotConfigured),
    }
    DeleteWalletError {
        Managed => Problem::policy_denied(
            "managed wallets cannot be deleted on their own; disable the wallet, or delete its user",
        ),
    }
    SearchUsersError {
        TooLong(limit) => Problem::too_long(limit),
    }
    SwitchWalletError {
        ReadOnly => Problem::new(Code::WalletReadOnly),
    }
    ImportWalletError {
        Undecipherable => Problem::new(Code::DecryptionFailed),
        AddressMismatch => Problem::new(Code::AddressMismatch),
    }
    ExportWalletError {
        Disabled => Problem::new(Code::FeatureDisabled),
        Unusable(unusable) => unusable.into(),
    }
    SignError {
        Refused(refused) => refused.into(),
        Unusable(unusable) => unusable.into(),
    }
}
