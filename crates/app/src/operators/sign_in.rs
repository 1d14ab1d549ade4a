//! How operators sign in, prove their second factor, and set up factors.

use serde_json::Value;
use vestry_domain::audit::control::{ControlAction, Detail};
use vestry_domain::code::MethodId;
use vestry_domain::email::Email;
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::ids::{Id, TotpId, UserId, WebauthnCredentialId};
use vestry_domain::signing_key::SigningKey;
use vestry_domain::token::TokenHash;
use vestry_domain::user::UserEmail;
use vestry_domain::{Secret, Timestamp};

use super::WORLD;
use super::sessions::{ConsoleRequest, OperatorSession};
use crate::identity::codes::{SendCode, VerifyCode, VerifyCodeError};
use crate::identity::passkeys::{
    AuthenticationOptions, BeginAuthentication, BeginRegistration, CreatePasskey,
    RegistrationOptions, VerifyPasskey,
};
use crate::identity::passwords::{UpdatePassword, VerifyPassword};
use crate::identity::sessions::{IssuedSession, SessionFields, SessionNamed};
use crate::identity::totps::{CreateTotp, CreatedTotp, PresentedTotp, VerifyTotp, VerifyTotpError};
use crate::kernel::built_in::{self, ABSOLUTE_MINUTES};
use crate::kernel::fault::retried;
use crate::kernel::mint;
use crate::kernel::refusal::has_common;
use crate::{Caller, Fault, Principal, Refusal, Service};

/// Minutes for which a mailed code is valid.
const CODE_MINUTES: i64 = 10;
/// Minutes within which the first code of a new authenticator app must arrive.
const TOTP_MINUTES: i64 = 30;

/// A session that was started, or continued under a new token.
#[derive(Debug)]
pub struct NewSession {
    /// The token. Any earlier one of the session has stopped working (S-2).
    pub token: Secret<String>,
    /// The operator.
    pub user_id: UserId,
}

/// A proof of the second factor.
#[derive(Debug)]
pub enum SecondFactor {
    /// Six digits of the authenticator app.
    Totp(Secret<String>),
    /// A recovery code.
    RecoveryCode(Secret<String>),
    /// The answer of a passkey: `PublicKeyCredential.toJSON()`.
    Passkey(Value),
}

/// An operator's own factors.
#[derive(Debug, Default)]
pub struct Factors {
    /// Whether there is a password.
    pub has_password: bool,
    /// The verified authenticator apps.
    pub totps: Vec<(TotpId, Timestamp)>,
    /// The passkeys.
    pub passkeys: Vec<(WebauthnCredentialId, Timestamp)>,
}

/// The reason why a sign-in failed.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// Wrong, expired or used; or the operator is unknown, disabled or not invited (OPR-8).
    #[error("the credentials are wrong")]
    Wrong,
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(SignInError);

impl SignInError {
    /// Wrong credentials get one response, whatever is wrong about them.
    fn of(refusal: Refusal) -> Self {
        match refusal {
            Refusal::InvalidCredentials
            | Refusal::InsufficientFactor
            | Refusal::UnprovenIdentifier
            | Refusal::NotFound(_) => Self::Wrong,
            other => Self::Common(other),
        }
    }
}

impl From<VerifyCodeError> for SignInError {
    fn from(error: VerifyCodeError) -> Self {
        match error {
            VerifyCodeError::InvalidCode => Self::Wrong,
            VerifyCodeError::Common(refusal) => Self::of(refusal),
        }
    }
}

impl From<VerifyTotpError> for SignInError {
    fn from(error: VerifyTotpError) -> Self {
        match error {
            VerifyTotpError::InvalidCode => Self::Wrong,
            VerifyTotpError::Common(refusal) => Self::of(refusal),
        }
    }
}

impl Service {
    /// Creates what sessions of operators need, at first use: the keys of the built-in App.
    pub(super) async fn prepare_built_in_app(&self) -> Result<(), Refusal> {
        self.hold_deployment_key(KeyPurpose::Secrets).await?;
        let mut read = self.ports.store.read().await?;
        let has_key = !read.signing_keys().list(&WORLD).await?.is_empty();
        drop(read);
        if !has_key {
            let app = built_in::app(&self.settings);
            let key = self
                .new_signing_key(&app, WORLD, self.machine_time())
                .await?;
            retried(|| self.store_own_signing_key(&key)).await?;
        }
        Ok(())
    }

    async fn store_own_signing_key(&self, key: &SigningKey) -> Result<(), Fault> {
        let mut tx = self.begin_change([WORLD]).await?;
        tx.signing_keys().insert(key).await?;
        tx.note(self.signing_key_made(Principal::system(), key));
        tx.commit().await
    }

    /// Returns a random value for a browser without a session, to which its forms are bound.
    pub fn new_browser_value(&self) -> Secret<String> {
        mint::link_token(&*self.ports.entropy)
    }

    /// Signs an operator in with a password. An unknown address takes the same time and counts the same failures as a known one.
    ///
    /// # Errors
    /// [`SignInError`]; [`Refusal::TooMany`] after too many failures.
    pub async fn sign_operator_in_by_password(
        &self,
        request: &ConsoleRequest,
        email: &str,
        password: Secret<String>,
    ) -> Result<NewSession, SignInError> {
        let email = Email::parse(email)?;
        // Anyone can send this without a key, so it must not queue behind the sign-ins of Apps.
        self.require_room_to_hash()?;
        self.prepare_built_in_app().await?;
        let user_id = self.user_of_address(&email).await?;
        let command = VerifyPassword {
            user_id,
            password,
            session_fields: new_session(),
            device_fingerprint: request.device(),
        };
        let verified = self
            .verify_password(&self.signing_in(request).await?, command)
            .await
            .map_err(SignInError::of)?;
        self.signed_in(request, verified.user_id, verified.issued)
            .await
    }

    /// The user with this address, or an id that no user has and that is always the same for this address.
    async fn user_of_address(&self, email: &Email) -> Result<UserId, Fault> {
        let mut read = self.ports.store.read().await?;
        let identity = email.identity();
        let found = read
            .identifiers()
            .email_by_identity(&WORLD, identity)
            .await?;
        let TokenHash(hash) = TokenHash::of(&format!("unknown operator {}", identity.as_str()));
        let random = hash.first_chunk().copied().unwrap_or_default();
        let unknown = UserId::new(Timestamp::default(), random);
        Ok(found.map_or(unknown, |(_, user)| user.id))
    }

    /// Sends a sign-in code to the address of an operator. The result is the same for every address.
    ///
    /// # Errors
    /// [`Refusal`]; [`Fault::NoTransport`] if no mail can be sent.
    pub async fn send_code_to_operator(
        &self,
        request: &ConsoleRequest,
        email: &str,
    ) -> Result<(), Refusal> {
        self.prepare_built_in_app().await?;
        let command = SendCode {
            email: email.to_owned(),
            expires_in: Some(CODE_MINUTES),
            device_fingerprint: Some(request.device()),
            session: SessionNamed::default(),
        };
        let caller = self.console_caller(request);
        // The id of the address would reveal when it was created (OPR-8).
        self.send_code_by_email(&caller, command).await.map(drop)
    }

    /// Signs an operator in with a mailed code.
    ///
    /// # Errors
    /// [`SignInError`]; [`Refusal::TooMany`] after too many failures.
    pub async fn sign_operator_in_by_code(
        &self,
        request: &ConsoleRequest,
        email: &str,
        otp: Secret<String>,
    ) -> Result<NewSession, SignInError> {
        self.prepare_built_in_app().await?;
        let caller = self.console_caller(request);
        let email = Email::parse(email)?;
        let mut read = self.ports.store.read().await?;
        let found = read
            .identifiers()
            .email_by_identity(&WORLD, email.identity())
            .await?;
        drop(read);
        let id = match found {
            Some((found, _)) => found.id,
            // Codes for it were stored too, and count the same failures.
            None => {
                let now = self.now(&WORLD);
                self.decoy::<UserEmail>(&caller, &email, now).await?.id
            }
        };
        let command = VerifyCode {
            method_id: MethodId::Email(id),
            otp,
            session_fields: new_session(),
            device_fingerprint: request.device(),
        };
        let caller = self.signing_in(request).await?;
        let verified = self.verify_code(&caller, command).await?;
        self.signed_in(request, verified.user_id, verified.issued)
            .await
    }

    /// Returns a challenge for a passkey: for any operator's, or for one of the operator who is signed in.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn begin_operator_passkey(
        &self,
        request: &ConsoleRequest,
        of: Option<&OperatorSession>,
    ) -> Result<AuthenticationOptions, Refusal> {
        let command = BeginAuthentication {
            user_id: of.map(|session| session.operator.user_id),
            domain: self.console_host()?,
        };
        let caller = self.console_caller(request);
        self.begin_passkey_authentication(&caller, command).await
    }

    /// Signs an operator in with a passkey, which counts as both factors.
    ///
    /// # Errors
    /// [`SignInError`].
    pub async fn sign_operator_in_by_passkey(
        &self,
        request: &ConsoleRequest,
        credential: Value,
    ) -> Result<NewSession, SignInError> {
        self.prepare_built_in_app().await?;
        let command = VerifyPasskey {
            credential,
            session_fields: new_session(),
            device_fingerprint: request.device(),
        };
        let verified = self
            .verify_passkey(&self.signing_in(request).await?, command)
            .await
            .map_err(SignInError::of)?;
        self.signed_in(request, verified.user_id, verified.issued)
            .await
    }

    /// Proves the second factor in a session, which continues under a new token: to complete a sign-in, or to step up.
    ///
    /// # Errors
    /// [`SignInError`]; [`Refusal::TooMany`] after too many failures.
    pub async fn prove_second_factor(
        &self,
        request: &ConsoleRequest,
        of: &OperatorSession,
        token: Secret<String>,
        proof: SecondFactor,
    ) -> Result<NewSession, SignInError> {
        let user_id = of.operator.user_id;
        let session_fields = SessionFields {
            session_token: Some(token),
            ..SessionFields::default()
        };
        let (action, detail) = (ControlAction::OperatorStepUp, Detail::default());
        let caller = self.acting_caller(request, action, &detail).await?;
        let presented = match proof {
            SecondFactor::Totp(code) => PresentedTotp::Code(code),
            SecondFactor::RecoveryCode(code) => PresentedTotp::RecoveryCode(code),
            SecondFactor::Passkey(credential) => {
                let command = VerifyPasskey {
                    credential,
                    session_fields,
                    device_fingerprint: request.device(),
                };
                let verified = self
                    .verify_passkey(&caller, command)
                    .await
                    .map_err(|refusal| match refusal {
                        // It belongs to another operator.
                        Refusal::InvalidSession => SignInError::Wrong,
                        other => SignInError::of(other),
                    })?;
                return Ok(of_operator(verified.user_id, verified.issued)?);
            }
        };
        let command = VerifyTotp {
            user_id,
            presented,
            session_fields,
            device_fingerprint: request.device(),
        };
        let verified = self.verify_totp(&caller, command).await?;
        Ok(of_operator(user_id, verified.issued)?)
    }

    pub(super) async fn signing_in(&self, request: &ConsoleRequest) -> Result<Caller, Fault> {
        let (action, detail) = (ControlAction::OperatorSignIn, Detail::default());
        self.acting_caller(request, action, &detail).await
    }

    pub(super) async fn signed_in(
        &self,
        request: &ConsoleRequest,
        user_id: UserId,
        issued: Option<IssuedSession>,
    ) -> Result<NewSession, SignInError> {
        self.limit_sessions(request, user_id, issued.as_ref()).await;
        Ok(of_operator(user_id, issued)?)
    }

    /// Sets or changes the operator's own password. The current one is needed, unless the session proved it lately.
    ///
    /// # Errors
    /// [`Refusal::StepUpRequired`]; [`Refusal::InvalidCredentials`] if the current password is wrong; [`Refusal`], naming `password`.
    pub async fn set_operator_password(
        &self,
        request: &ConsoleRequest,
        of: &OperatorSession,
        token: Secret<String>,
        password: Secret<String>,
        current: Option<Secret<String>>,
    ) -> Result<(), Refusal> {
        may_change_factors(of)?;
        let command = UpdatePassword {
            password,
            current_password: current,
            session_token: Some(token),
            session_jwt: None,
        };
        let caller = self.factor_caller(request, of, "password", "set").await?;
        self.update_password(&caller, command).await?;
        Ok(())
    }

    /// Creates a seed for an authenticator app of the operator. It counts once [`Service::prove_second_factor`] has seen its first code.
    ///
    /// # Errors
    /// [`Refusal::StepUpRequired`].
    pub async fn create_operator_totp(
        &self,
        request: &ConsoleRequest,
        of: &OperatorSession,
    ) -> Result<CreatedTotp, Refusal> {
        may_change_factors(of)?;
        let command = CreateTotp {
            user_id: of.operator.user_id,
            expires_in: Some(TOTP_MINUTES),
        };
        let caller = self.factor_caller(request, of, "totp", "created").await?;
        let created = self.create_totp(&caller, command).await?;
        Ok(created)
    }

    /// Removes an authenticator app of the operator.
    ///
    /// # Errors
    /// [`Refusal::StepUpRequired`]; [`Refusal::NotFound`] if it is none of the operator's; [`Refusal::NotNow`] for the last second factor.
    pub async fn delete_operator_totp(
        &self,
        request: &ConsoleRequest,
        of: &OperatorSession,
        id: TotpId,
    ) -> Result<(), Refusal> {
        may_change_factors(of)?;
        let factors = self.factors_of_operator(of).await?;
        if !factors.totps.iter().any(|(own, _)| *own == id) {
            return Err(Refusal::NotFound("totp"));
        }
        let caller = self.factor_caller(request, of, "totp", "removed").await?;
        self.delete_totp(&caller, id).await?;
        Ok(())
    }

    /// Removes a passkey of the operator.
    ///
    /// # Errors
    /// As [`Service::delete_operator_totp`].
    pub async fn delete_operator_passkey(
        &self,
        request: &ConsoleRequest,
        of: &OperatorSession,
        id: WebauthnCredentialId,
    ) -> Result<(), Refusal> {
        may_change_factors(of)?;
        let factors = self.factors_of_operator(of).await?;
        if !factors.passkeys.iter().any(|(own, _)| *own == id) {
            return Err(Refusal::NotFound("passkey"));
        }
        let caller = self
            .factor_caller(request, of, "passkey", "removed")
            .await?;
        self.delete_passkey(&caller, id).await?;
        Ok(())
    }

    /// Lists the operator's own factors.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn factors_of_operator(&self, of: &OperatorSession) -> Result<Factors, Fault> {
        let user = of.operator.user_id;
        let mut read = self.ports.store.read().await?;
        let has_password = read.passwords().find(&WORLD, user).await?.is_some();
        let totps = read.totps().of_user(&WORLD, user).await?.into_iter();
        let passkeys = read.passkeys().of_user(&WORLD, user).await?.into_iter();
        Ok(Factors {
            has_password,
            totps: totps
                .filter(|totp| totp.verified)
                .map(|totp| (totp.id, totp.created_at))
                .collect(),
            passkeys: passkeys
                .map(|passkey| (passkey.id, passkey.created_at))
                .collect(),
        })
    }

    /// Returns what a browser needs to create a passkey for the operator, on an authenticator of this kind.
    ///
    /// # Errors
    /// [`Refusal::StepUpRequired`]; [`Refusal`], naming `authenticator_type`.
    pub async fn begin_operator_registration(
        &self,
        request: &ConsoleRequest,
        of: &OperatorSession,
        authenticator_type: Option<String>,
    ) -> Result<RegistrationOptions, Refusal> {
        may_change_factors(of)?;
        let command = BeginRegistration {
            user_id: of.operator.user_id,
            domain: self.console_host()?,
            authenticator_type,
        };
        let caller = self.console_caller(request);
        self.begin_passkey_registration(&caller, command).await
    }

    /// Stores a passkey that the operator's browser created. To count in this session, it has to be used once.
    ///
    /// # Errors
    /// [`Refusal::StepUpRequired`]; [`Refusal::InvalidCredentials`] if it does not answer the challenge.
    pub async fn create_operator_passkey(
        &self,
        request: &ConsoleRequest,
        of: &OperatorSession,
        credential: Value,
    ) -> Result<(), Refusal> {
        may_change_factors(of)?;
        let command = CreatePasskey {
            user_id: of.operator.user_id,
            credential,
            device_fingerprint: request.device(),
        };
        let caller = self
            .factor_caller(request, of, "passkey", "created")
            .await?;
        self.create_passkey(&caller, command).await?;
        Ok(())
    }

    fn console_host(&self) -> Result<String, Refusal> {
        let console = self.settings.console.as_ref();
        let console = console.ok_or(Refusal::NotFound("console"))?;
        Ok(console.host.clone())
    }
}

fn may_change_factors(of: &OperatorSession) -> Result<(), Refusal> {
    match of.may_change_factors() {
        true => Ok(()),
        false => Err(Refusal::StepUpRequired),
    }
}

/// The longest session that the built-in App allows.
pub(super) fn new_session() -> SessionFields {
    SessionFields {
        session_expires_in: Some(ABSOLUTE_MINUTES),
        ..SessionFields::default()
    }
}

pub(super) fn of_operator(
    user_id: UserId,
    issued: Option<IssuedSession>,
) -> Result<NewSession, Fault> {
    let issued = issued.ok_or_else(|| Fault::Internal("sign-in without a session".into()))?;
    Ok(NewSession {
        token: issued.token,
        user_id,
    })
}
