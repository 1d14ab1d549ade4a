//! `webauthn/registrations/begin` and `webauthn/registrations/create`: registering passkeys.

use serde_json::Value;
use vestry_domain::action::Action;
use vestry_domain::event::Fact;
use vestry_domain::ids::{UserId, WebauthnCredentialId};
use vestry_domain::message::CredentialChange;
use vestry_domain::passkey::{
    AuthenticatorType, Ceremony, MAX_PER_USER, Passkey, PasskeyChallenge, PasskeyDomain,
    UserHandle, UserVerification,
};
use vestry_domain::session::DeviceFingerprint;
use vestry_domain::token::TokenHash;
use vestry_domain::user::UserProfile;
use vestry_domain::{Invalid, Timestamp};
use vestry_ports::passkeys::{Expected, NewCredential, PresentedRegistration, Refused};
use vestry_ports::store::Attached;

use super::{allowed_domain, must_verify_user, on_domain, origins};
use crate::identity::users::notices::{CredentialChangeNotice, tell};
use crate::kernel::fault::retried;
use crate::{Caller, Refusal, Service};

/// The user who will get a passkey, and its domain.
#[derive(Debug)]
pub struct BeginRegistration {
    /// The user.
    pub user_id: UserId,
    /// The relying party id.
    pub domain: String,
    /// What kind of authenticator is wanted; `platform` when absent.
    pub authenticator_type: Option<String>,
}

/// What `navigator.credentials.create()` needs.
#[derive(Debug)]
pub struct RegistrationOptions {
    /// The user.
    pub user_id: UserId,
    /// The relying party id.
    pub domain: PasskeyDomain,
    /// Name of the App.
    pub app_name: String,
    /// The user handle known to authenticators.
    pub handle: UserHandle,
    /// The account label: an address, a number or the user's id.
    pub user_name: String,
    /// The user's own name, or the same.
    pub display_name: String,
    /// The challenge, base64url.
    pub challenge: String,
    /// COSE algorithms in order of preference.
    pub algorithms: &'static [i64],
    /// The kind of authenticator.
    pub authenticator_type: AuthenticatorType,
    /// Whether the authenticator must verify the user.
    pub user_verification: UserVerification,
    /// The user's passkeys on this domain, excluded so that no authenticator gets a second one.
    pub known: Vec<Passkey>,
}

/// The browser's response to the options.
#[derive(Debug)]
pub struct CreatePasskey {
    /// The user whose registration was begun.
    pub user_id: UserId,
    /// `PublicKeyCredential.toJSON()`, as an object or as text.
    pub credential: Value,
    /// The browser it was made in.
    pub device_fingerprint: DeviceFingerprint,
}

/// A passkey that was registered.
#[derive(Debug)]
pub struct CreatedPasskey {
    /// The user.
    pub user_id: UserId,
    /// The new passkey.
    pub passkey_id: WebauthnCredentialId,
}

/// The refusal of a response to a missing or expired challenge.
fn unknown_challenge() -> Invalid {
    Invalid::value(
        "public_key_credential",
        "public_key_credential does not match an open challenge of this user; begin again",
    )
}

impl Service {
    /// Begins a registration: a challenge that is good for five minutes and for one answer.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::Invalid`] also when the domain is not the App's.
    pub async fn begin_passkey_registration(
        &self,
        caller: &Caller,
        command: BeginRegistration,
    ) -> Result<RegistrationOptions, Refusal> {
        caller.authorize(Action::RegisterPasskey)?;
        let domain = allowed_domain(caller, &command.domain)?;
        let kind = command.authenticator_type.as_deref().map(str::parse);
        let kind: AuthenticatorType = kind.transpose()?.unwrap_or_default();
        let mut random = [0_u8; 32];
        self.ports.entropy.fill(&mut random);
        let fresh = UserHandle(random);
        let user = caller.visible_user(command.user_id);
        let now = self.now(&caller.world);
        let (text, challenge) = self.new_ceremony(
            caller,
            Ceremony::Registration,
            Some(user),
            &domain,
            kind,
            now,
        );
        let stored = retried(|| self.store_registration(caller, user, fresh, &challenge));
        let (profile, handle, passkeys) = stored.await?;
        let (user_name, display_name) = names(&profile);
        Ok(RegistrationOptions {
            user_id: command.user_id,
            app_name: caller.app.name.clone(),
            handle,
            user_name,
            display_name,
            challenge: text,
            algorithms: self.ports.passkeys.algorithms(),
            authenticator_type: kind,
            user_verification: caller.settings().webauthn_user_verification,
            known: on_domain(passkeys, &domain),
            domain,
        })
    }

    async fn store_registration(
        &self,
        caller: &Caller,
        user: UserId,
        fresh: UserHandle,
        challenge: &PasskeyChallenge,
    ) -> Result<(UserProfile, UserHandle, Vec<Passkey>), Refusal> {
        let world = &caller.world;
        let mut tx = self.ports.store.begin().await?;
        // A takeover that is under way removes this challenge or comes after it, and then there is none to remove.
        if !tx.users().lock(world, user).await? {
            return Err(Refusal::NotFound("user"));
        }
        let profile = tx.users().profile(world, user).await?;
        let profile = profile.ok_or(Refusal::NotFound("user"))?;
        let passkeys = tx.passkeys().of_user(world, user).await?;
        if passkeys.len() >= MAX_PER_USER {
            return Err(too_many().into());
        }
        let handle = tx.passkeys().handle_or(world, user, fresh).await?;
        tx.passkeys().add_challenge(challenge).await?;
        caller.commit_last(tx).await?;
        Ok((profile, handle, passkeys))
    }

    /// Registers a passkey created in the browser, and notifies its owner. Sessions stay, because no existing sign-in method changed.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] for a malformed credential or one that fails a check, and for a challenge that was used, has expired or belongs
    /// to another user. [`Refusal::Taken`] if the credential is already registered, by this user or another one (W-3). The challenge is
    /// consumed in every case.
    pub async fn create_passkey(
        &self,
        caller: &Caller,
        command: CreatePasskey,
    ) -> Result<CreatedPasskey, Refusal> {
        caller.authorize(Action::RegisterPasskey)?;
        let presented = self.ports.passkeys.read_registration(&command.credential)?;
        let challenge = self
            .registration_challenge(caller, &command, &presented)
            .await?;
        let expected = Expected {
            challenge: &presented.challenge,
            origins: &origins(caller, challenge.domain.clone()),
            user_verification: must_verify_user(caller),
        };
        let checked = self
            .ports
            .passkeys
            .check_registration(&presented, &expected);
        let change = CredentialChange::PasskeyAdded;
        let change = self.prepare_notice(caller, command.user_id, change).await?;
        let now = self.now(&caller.world);
        let outcome =
            checked.map(|new| self.new_passkey(&command, &challenge, &presented, new, now));
        retried(|| self.store_passkey(caller, &challenge, &outcome, &change, now)).await?;
        let passkey = outcome.map_err(refused)?;
        Ok(CreatedPasskey {
            user_id: command.user_id,
            passkey_id: passkey.id,
        })
    }

    /// The challenge that the answer names, if it waits for this user.
    async fn registration_challenge(
        &self,
        caller: &Caller,
        command: &CreatePasskey,
        presented: &PresentedRegistration,
    ) -> Result<PasskeyChallenge, Refusal> {
        let world = &caller.world;
        let hash = TokenHash::of(&presented.challenge);
        let mut read = self.ports.store.read().await?;
        let user_id = caller.visible_user(command.user_id);
        if read.users().profile(world, user_id).await?.is_none() {
            return Err(Refusal::NotFound("user"));
        }
        let found = read.passkeys().challenge(world, &hash).await?;
        let own = found.filter(|challenge| {
            challenge.ceremony == Ceremony::Registration
                && challenge.user_id == Some(command.user_id)
        });
        Ok(own.ok_or_else(unknown_challenge)?)
    }

    fn new_passkey(
        &self,
        command: &CreatePasskey,
        challenge: &PasskeyChallenge,
        presented: &PresentedRegistration,
        new: NewCredential,
        now: Timestamp,
    ) -> Passkey {
        Passkey {
            id: self.new_id(now),
            world: challenge.world,
            user_id: command.user_id,
            credential_id: presented.credential_id.clone(),
            public_key: new.public_key,
            sign_count: new.sign_count,
            backup_eligible: new.backup_eligible,
            backed_up: new.backed_up,
            domain: challenge.domain.clone(),
            authenticator_type: challenge.authenticator_type,
            transports: presented.transports.clone(),
            user_agent: command.device_fingerprint.user_agent.clone(),
            created_at: now,
            updated_at: now,
            last_used_at: None,
        }
    }

    /// Uses the challenge up, and stores the passkey if there is one.
    async fn store_passkey(
        &self,
        caller: &Caller,
        challenge: &PasskeyChallenge,
        outcome: &Result<Passkey, Refused>,
        change: &CredentialChangeNotice,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let world = &caller.world;
        let mut tx = self.ports.store.begin().await?;
        // Before the challenge, as a takeover takes the two.
        if let Some(user) = challenge.user_id
            && !tx.users().lock(world, user).await?
        {
            return Err(Refusal::NotFound("user"));
        }
        let (hash, ceremony) = (&challenge.hash, challenge.ceremony);
        if !tx
            .passkeys()
            .consume_challenge(world, hash, ceremony, now)
            .await?
        {
            return Err(unknown_challenge().into());
        }
        let Ok(passkey) = outcome else {
            return Ok(tx.commit().await?);
        };
        let count = tx.passkeys().of_user(world, passkey.user_id).await?.len();
        if count >= MAX_PER_USER {
            return Err(too_many().into());
        }
        if tx.passkeys().insert(passkey).await? == Attached::Taken {
            tx.commit().await?;
            return Err(Refusal::Taken("public_key_credential".into()));
        }
        let fact = Fact::passkey_added(passkey.user_id, passkey.id);
        self.emit(&mut *tx, caller, [fact]).await?;
        tell(&mut *tx, change).await?;
        Ok(caller.commit_last(tx).await?)
    }
}

fn too_many() -> Invalid {
    Invalid::value(
        "user_id",
        format!("the user has {MAX_PER_USER} passkeys already; delete one first"),
    )
}

/// Reveals which check failed: the caller is the App's own backend, and a registration signs no one in.
fn refused(Refused(check): Refused) -> Refusal {
    Invalid::value(
        "public_key_credential",
        format!("public_key_credential was refused: {check}"),
    )
    .into()
}

/// What people tell the account by, and what they call themselves.
fn names(profile: &UserProfile) -> (String, String) {
    let user = &profile.user;
    let email = profile.emails.first().map(|email| email.email.address());
    let phone = profile.phones.first().map(|phone| phone.number.as_str());
    let name = email
        .or(phone)
        .map_or_else(|| user.id.to_string(), str::to_owned);
    let parts = [&user.first_name, &user.middle_name, &user.last_name];
    let parts = parts.map(String::as_str);
    let full: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let display = if full.is_empty() {
        name.clone()
    } else {
        full.join(" ")
    };
    (name, display)
}
