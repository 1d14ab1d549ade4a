//! `magic_links/create`: a link that the App delivers itself.

use vestry_domain::action::Action;
use vestry_domain::email::Email;
use vestry_domain::ids::UserId;
use vestry_domain::link::{self, Link, LinkPurpose};
use vestry_domain::session::DeviceFingerprint;
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::user::{User, UserEmail, UserProfile};
use vestry_domain::{Invalid, Secret};

use crate::identity::reserved;
use crate::identity::sessions::SessionNamed;
use crate::identity::users::account_resolution::FoundIdentifier;
use crate::identity::users::verification::is_provable;
use crate::kernel::fault::retried;
use crate::kernel::mint;
use crate::{Caller, Fault, Refusal, Service};

/// The parameters of the call.
#[derive(Clone, Default)]
pub struct CreateLink {
    /// The user that the link signs in. Its first verified address is used, else its first one, unless `email` selects one.
    pub user_id: Option<UserId>,
    /// The address that the link verifies; required when there is no user.
    pub email: Option<String>,
    /// Minutes, 5 to 10080; 60 when absent.
    pub expires_in: Option<i64>,
    /// The end user's device, if sent.
    pub device_fingerprint: Option<DeviceFingerprint>,
    /// A session of the user whose claimed identifier is to be verified (CL-5).
    pub session: SessionNamed,
}

/// A link whose token the App puts into a URL of its own.
#[derive(Debug)]
pub struct CreatedLink {
    /// The address that it verifies.
    pub email: UserEmail,
    /// The token for `magic_links/verify`, intended for the person who reads mail at the address.
    pub token: Secret<String>,
    /// The token for `login_status`, intended for the requesting browser; it never belongs in a mail.
    pub origin_token: Secret<String>,
}

impl Service {
    /// Creates a link without sending a mail.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::NotFound`] when there is no such user, or no such address of it, [`Refusal::UnprovenIdentifier`] when
    /// it is the claim of an owned account and the call names no session of that user.
    pub async fn create_link(
        &self,
        caller: &Caller,
        command: CreateLink,
    ) -> Result<CreatedLink, Refusal> {
        caller.authorize(Action::CreateLink)?;
        let email = command.email.as_deref().map(Email::parse).transpose()?;
        let maximum = caller.settings().magic_link_max_minutes;
        let lifetime = link::lifetime("expires_in", command.expires_in, maximum)?;
        let in_session = self.user_in(caller, &command.session).await?;
        let (email, owner) = self
            .address_of(caller, command.user_id, email.as_ref())
            .await?;
        let found = FoundIdentifier::email(&email, owner);
        if in_session != Some(found.owner.id) && !is_provable(caller, &found) {
            return Err(match caller.settings().enumeration_safe {
                true => Refusal::NotFound("email"),
                false => Refusal::UnprovenIdentifier,
            });
        }
        let fingerprint = command.device_fingerprint.as_ref();
        let made = retried(|| self.store_created(caller, &email, lifetime, fingerprint));
        let (token, origin_token) = made.await?;
        Ok(CreatedLink {
            email,
            token,
            origin_token,
        })
    }

    async fn address_of(
        &self,
        caller: &Caller,
        user: Option<UserId>,
        email: Option<&Email>,
    ) -> Result<(UserEmail, User), Refusal> {
        let world = &caller.world;
        let mut read = self.ports.store.read().await?;
        match (user, email) {
            (None, None) => Err(neither().into()),
            (user, Some(email)) => {
                let found = read
                    .identifiers()
                    .email_by_identity(world, email.identity());
                found
                    .await?
                    .filter(|(_, owner)| user.is_none_or(|user| owner.id == user))
                    .filter(|(_, owner)| caller.reaches_user(owner.id))
                    .map(|(found, owner)| (found.addressed(email), owner))
                    .ok_or(Refusal::NotFound("email"))
            }
            (Some(user), None) => {
                let profile = read
                    .users()
                    .profile(world, caller.visible_user(user))
                    .await?;
                let UserProfile { user, emails, .. } = profile.ok_or(Refusal::NotFound("user"))?;
                let verified = emails.iter().find(|email| email.verified).cloned();
                let email = verified.or_else(|| emails.into_iter().next());
                Ok((email.ok_or(Refusal::NotFound("email"))?, user))
            }
        }
    }

    async fn store_created(
        &self,
        caller: &Caller,
        email: &UserEmail,
        lifetime: Seconds,
        fingerprint: Option<&DeviceFingerprint>,
    ) -> Result<(Secret<String>, Secret<String>), Fault> {
        let now = self.now(&caller.world);
        let token = mint::link_token(&*self.ports.entropy);
        let origin_token = mint::origin_token(&*self.ports.entropy);
        let reserved = reserved::of_email(caller, &email.email);
        let link = Link {
            world: caller.world,
            email_id: email.id,
            purpose: LinkPurpose::Create,
            user_id: email.user_id,
            token: reserved::token_hash(&*self.ports.entropy, reserved, &token),
            redirect: None,
            landing: None,
            fingerprint: fingerprint.cloned(),
            origin: Some(TokenHash::of(origin_token.expose())),
            user_created: false,
            challenge: None,
            asked_as: Some(email.email.clone()),
            sent_as_asked: !email.verified,
            created_at: now,
            expires_at: reserved::expiry(reserved, lifetime, now),
            used_at: None,
            session_id: None,
            handed_at: None,
        };
        let mut tx = self.ports.store.begin().await?;
        tx.links().replace(&link).await?;
        caller.commit_last(tx).await?;
        Ok((token, origin_token))
    }
}

fn neither() -> Invalid {
    Invalid {
        message: "user_id or email is required".into(),
        ..Invalid::missing("user_id")
    }
}
