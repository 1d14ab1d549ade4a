//! `webauthn/authentication/begin`: a challenge for a passkey.

use vestry_domain::Invalid;
use vestry_domain::api_key::Scope;
use vestry_domain::ids::UserId;
use vestry_domain::passkey::{
    AuthenticatorType, Ceremony, Passkey, PasskeyChallenge, PasskeyDomain, UserVerification,
};
use vestry_ports::store::StoreError;

use super::{allowed_domain, on_domain};
use crate::fault::{may_lose_race, retried};
use crate::{Caller, Fault, NotAllowed, Service};

/// Who shall sign in, and on which domain.
#[derive(Debug)]
pub struct BeginAuthentication {
    /// The relying party id.
    pub domain: String,
    /// The user, when it is known already; otherwise the passkey tells (discoverable).
    pub user_id: Option<UserId>,
}

/// What `navigator.credentials.get()` needs.
#[derive(Debug)]
pub struct AuthenticationOptions {
    /// The user, when it was named.
    pub user_id: Option<UserId>,
    /// The relying party id.
    pub domain: PasskeyDomain,
    /// The challenge, base64url.
    pub challenge: String,
    /// Whether the authenticator checks who is using it.
    pub user_verification: UserVerification,
    /// The named user's passkeys on this domain.
    pub allowed: Vec<Passkey>,
}

/// Why no sign-in was begun.
#[derive(Debug, thiserror::Error)]
pub enum BeginAuthenticationError {
    /// See [`NotAllowed`].
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// A field was refused, or the domain is not the App's.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// No such user in this world.
    #[error("the user does not exist")]
    UserNotFound,
    /// See [`Fault`].
    #[error(transparent)]
    Fault(#[from] Fault),
}

may_lose_race!(BeginAuthenticationError);

impl From<StoreError> for BeginAuthenticationError {
    fn from(error: StoreError) -> Self {
        Self::Fault(error.into())
    }
}

impl Service {
    /// Begins a sign-in: a challenge that is good for five minutes and for one answer, by the named user if there is one.
    ///
    /// # Errors
    /// [`BeginAuthenticationError`].
    pub async fn begin_passkey_authentication(
        &self,
        caller: &Caller,
        command: BeginAuthentication,
    ) -> Result<AuthenticationOptions, BeginAuthenticationError> {
        caller.require(Scope::AuthWrite)?;
        let domain = allowed_domain(caller, &command.domain)?;
        let now = self.now(&caller.world);
        let kind = AuthenticatorType::default();
        let user = command.user_id;
        let (text, challenge) =
            self.new_ceremony(caller, Ceremony::Authentication, user, &domain, kind, now);
        let passkeys = retried(|| self.store_authentication(caller, &challenge)).await?;
        Ok(AuthenticationOptions {
            user_id: user,
            challenge: text,
            user_verification: caller.settings().webauthn_user_verification,
            allowed: on_domain(passkeys, &domain),
            domain,
        })
    }

    async fn store_authentication(
        &self,
        caller: &Caller,
        challenge: &PasskeyChallenge,
    ) -> Result<Vec<Passkey>, BeginAuthenticationError> {
        let world = &caller.world;
        let mut tx = self.ports.store.begin().await?;
        let mut passkeys = Vec::new();
        if let Some(user) = challenge.user_id {
            if tx.users().profile(world, user).await?.is_none() {
                return Err(BeginAuthenticationError::UserNotFound);
            }
            passkeys = tx.passkeys().of_user(world, user).await?;
        }
        tx.passkeys().add_challenge(challenge).await?;
        self.commit_last(tx).await?;
        Ok(passkeys)
    }
}
