//! `webauthn/authentication/begin`: a challenge for a passkey.

use vestry_domain::action::Action;
use vestry_domain::ids::UserId;
use vestry_domain::passkey::{
    AuthenticatorType, Ceremony, Passkey, PasskeyChallenge, PasskeyDomain, UserVerification,
};

use super::{allowed_domain, on_domain};
use crate::kernel::fault::retried;
use crate::{Caller, Refusal, Service};

/// The user to sign in, and the domain.
#[derive(Debug)]
pub struct BeginAuthentication {
    /// The relying party id.
    pub domain: String,
    /// The user, if already known; otherwise the passkey identifies the user (discoverable).
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
    /// Whether the authenticator must verify the user.
    pub user_verification: UserVerification,
    /// The named user's passkeys on this domain.
    pub allowed: Vec<Passkey>,
}

impl Service {
    /// Begins a sign-in: a challenge that is good for five minutes and for one answer, by the named user if there is one.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::Invalid`] also when the domain is not the App's.
    pub async fn begin_passkey_authentication(
        &self,
        caller: &Caller,
        command: BeginAuthentication,
    ) -> Result<AuthenticationOptions, Refusal> {
        caller.authorize(Action::AuthenticateWithPasskey)?;
        let domain = allowed_domain(caller, &command.domain)?;
        let now = self.now(&caller.world);
        let kind = AuthenticatorType::default();
        let user = caller.visible_user_if_named(command.user_id)?;
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
    ) -> Result<Vec<Passkey>, Refusal> {
        let world = &caller.world;
        let mut tx = self.ports.store.begin().await?;
        let mut passkeys = Vec::new();
        if let Some(user) = challenge.user_id {
            if tx.users().profile(world, user).await?.is_none() {
                return Err(Refusal::NotFound("user"));
            }
            passkeys = tx.passkeys().of_user(world, user).await?;
        }
        tx.passkeys().add_challenge(challenge).await?;
        caller.commit_last(tx).await?;
        Ok(passkeys)
    }
}
