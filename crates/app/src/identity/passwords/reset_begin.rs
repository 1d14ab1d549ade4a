//! `passwords/reset/begin`: sends a password reset link to the owner of an address.

use vestry_domain::action::Action;
use vestry_domain::code::Reserved;
use vestry_domain::email::Email;
use vestry_domain::event::Fact;
use vestry_domain::ids::{EmailId, UserId};
use vestry_domain::limits;
use vestry_domain::link::{self, Link, LinkPurpose};
use vestry_domain::message::{Channel, MailedLink, OutboxJob, Priority, reset_mail};
use vestry_domain::redirect::{Landing, RedirectKind};
use vestry_domain::session::DeviceFingerprint;
use vestry_domain::timestamp::Seconds;
use vestry_domain::user::UserEmail;
use vestry_domain::{Secret, Timestamp};

use crate::delivery::outbox_message::Delivery;
use crate::identity::landing::Registered;
use crate::identity::links::repeat::{link_to, repeated};
use crate::identity::reserved;
use crate::identity::sessions::SessionNamed;
use crate::identity::users::account_resolution::FoundIdentifier;
use crate::identity::users::verification::is_provable;
use crate::kernel::fault::retried;
use crate::kernel::mint;
use crate::{Caller, Fault, Refusal, Service};

/// Maximum lifetime of a reset link in minutes: a day (NIST SP 800-63B-4, section 4.2.1.2).
const MAX_MINUTES: i64 = 1_440;

/// The parameters of the call.
#[derive(Clone, Default)]
pub struct BeginReset {
    /// The address; must exist, unless the App is `enumeration_safe`.
    pub email: String,
    /// Where the link leads, one of the login URLs; the App's default of these when absent.
    pub reset_redirect_url: Option<String>,
    /// Minutes, 5 to 1440; 60 when absent.
    pub expires_in: Option<i64>,
    /// The end user's device, if sent.
    pub device_fingerprint: Option<DeviceFingerprint>,
    /// A session of the user whose claimed identifier is to be verified (CL-5).
    pub session: SessionNamed,
}

/// A reset link that was sent; with `enumeration_safe`, possibly the same response without a link.
#[derive(Debug, Clone, Copy)]
pub struct BegunReset {
    /// The user whose password can be reset.
    pub user_id: UserId,
    /// The address.
    pub email_id: EmailId,
}

impl BegunReset {
    const fn of(link: &Link) -> Self {
        Self {
            user_id: link.user_id,
            email_id: link.email_id,
        }
    }
}

/// A validated request.
struct Request {
    email: Email,
    landing: Landing,
    lifetime: Seconds,
    fingerprint: Option<DeviceFingerprint>,
    reserved: Option<Reserved>,
    /// The user of the session that the call names.
    in_session: Option<UserId>,
}

/// The recipient of the link.
struct Owner {
    email: UserEmail,
    /// No user has the address, and the caller must not notice: everything is as usual, but no link is sent and none is valid.
    is_decoy: bool,
}

/// Everything that one attempt at the transaction writes.
struct Draft {
    link: Link,
    job: OutboxJob,
    is_decoy: bool,
}

impl Service {
    /// Sends a password reset link to a user's address. Nothing changes until it is used.
    ///
    /// With `enumeration_safe`, the response is the same for an address that no user has.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] when no user has the address, [`Refusal::UnprovenIdentifier`] when it is the claim of an owned account
    /// and the call names no session of that user, if the App tells these; [`Refusal::TooMany`] when too many codes and links
    /// were sent to this address, from this device or by this App.
    pub async fn begin_reset(
        &self,
        caller: &Caller,
        command: BeginReset,
    ) -> Result<BegunReset, Refusal> {
        caller.authorize(Action::BeginPasswordReset)?;
        let email = Email::parse(&command.email)?;
        let (least, _) = link::EXPIRES_IN_MINUTES;
        let minutes = command
            .expires_in
            .unwrap_or(link::DEFAULT_EXPIRES_IN_MINUTES);
        let lifetime = limits::minutes("expires_in", minutes, least, MAX_MINUTES)?;
        let registered = Registered::read(&*self.ports.store, &caller.world).await?;
        let wanted = command.reset_redirect_url.as_deref();
        let landing = registered.choose(RedirectKind::Login, "reset_redirect_url", wanted)?;
        if !caller.is_test() && !self.has_mailer() {
            return Err(Fault::NoTransport("mail").into());
        }
        self.admit_message(caller.world, Channel::Email, Priority::SignIn)?;
        let request = Request {
            reserved: reserved::of_email(caller, &email),
            email,
            landing,
            lifetime,
            fingerprint: command.device_fingerprint,
            in_session: self.user_in(caller, &command.session).await?,
        };
        retried(|| self.try_to_begin_reset(caller, &request)).await?
    }

    /// The inner refusal costs what a link costs.
    async fn try_to_begin_reset(
        &self,
        caller: &Caller,
        request: &Request,
    ) -> Result<Result<BegunReset, Refusal>, Refusal> {
        let world = &caller.world;
        let now = self.now(world);
        let identity = request.email.identity();
        let draft = match self.reset_owner(caller, request, now).await? {
            Ok(owner) => Ok(self.draft_reset(caller, request, owner, now).await?),
            Err(refused) => Err(refused),
        };
        let mut tx = self.ports.store.begin().await?;
        if request.reserved.is_none() {
            // Known and unknown addresses meet the same limits (OTP-10).
            let quota = self.send_quota(world, now);
            let device = request.fingerprint.as_ref();
            let send = link_to(identity, LinkPurpose::PasswordReset, device);
            let turn = quota.take_turn(&mut *tx, send.identifier).await?;
            let mailbox = request.email.destination();
            let landing = |_: &Link| request.landing.without_token(None);
            // A mere repeat is not counted, and the transaction is dropped.
            match &draft {
                Ok(Draft { link, .. }) => {
                    if let Some(first) = repeated(&mut *tx, caller, link, landing, now).await? {
                        return Ok(Ok(BegunReset::of(&first)));
                    }
                }
                Err(_)
                    if quota
                        .repeats_for_nobody(&mut *tx, send.kind, &mailbox)
                        .await? =>
                {
                    return Ok(draft.map(|draft| BegunReset::of(&draft.link)));
                }
                Err(_) => {}
            }
            quota.spend_narrow(&mut *tx, turn, send).await?;
            quota.spend_mail(&mut *tx, send.identifier).await?;
        }
        let begun = match draft {
            Ok(draft) => {
                tx.links().replace(&draft.link).await?;
                tx.outbox().push(&draft.job).await?;
                if !draft.is_decoy {
                    let fact = Fact::password_reset_requested(draft.link.user_id);
                    self.emit(&mut *tx, caller, [fact]).await?;
                }
                Ok(BegunReset::of(&draft.link))
            }
            Err(refused) => Err(refused),
        };
        caller.commit_last(tx).await?;
        Ok(begun)
    }

    /// Finds the user to reset. Where known and unknown addresses must look alike, a refusal would distinguish them.
    async fn reset_owner(
        &self,
        caller: &Caller,
        request: &Request,
        now: Timestamp,
    ) -> Result<Result<Owner, Refusal>, Fault> {
        let mut read = self.ports.store.read().await?;
        let identifiers = read.identifiers();
        let found = identifiers
            .email_by_identity(&caller.world, request.email.identity())
            .await?;
        let is_reached = caller.reaches_found(found.as_ref().map(|(_, user)| user.id));
        let found = found
            .filter(|_| is_reached)
            .map(|(email, user)| (email.addressed(&request.email), user));
        drop(read);
        let refused = match found {
            Some((email, user)) => {
                let found = FoundIdentifier::email(&email, user);
                if request.in_session == Some(found.owner.id) || is_provable(caller, &found) {
                    return Ok(Ok(Owner {
                        email,
                        is_decoy: false,
                    }));
                }
                Refusal::UnprovenIdentifier
            }
            None => Refusal::NotFound("email"),
        };
        if !caller.settings().enumeration_safe {
            return Ok(Err(refused));
        }
        // The same ids that `otps/email/send` returns for this address.
        let email = self.decoy(caller, &request.email, now).await?;
        Ok(Ok(Owner {
            email,
            is_decoy: true,
        }))
    }

    async fn draft_reset(
        &self,
        caller: &Caller,
        request: &Request,
        Owner { email, is_decoy }: Owner,
        now: Timestamp,
    ) -> Result<Draft, Fault> {
        let token = mint::link_token(&*self.ports.entropy);
        let url = Secret::new(request.landing.with_token(token.expose(), None));
        let mailed = MailedLink {
            url: url.expose(),
            token: token.expose(),
            lifetime: request.lifetime,
        };
        // Mail to a verified address uses the spelling that was verified (attack 5).
        let mail = Secret::new(reset_mail(&caller.app.name, email.email.address(), mailed));
        let delivery = Delivery {
            delay: reserved::delay(request.reserved),
            lifetime: if is_decoy {
                Seconds(0)
            } else {
                request.lifetime
            },
        };
        let job = self
            .letter(&caller.principal, &caller.world, &mail, delivery)
            .await?;
        // A decoy has the same link as `wrong@vestry.test`: its token is never sent.
        let fate = if is_decoy {
            Some(Reserved::Wrong)
        } else {
            request.reserved
        };
        let link = Link {
            world: caller.world,
            email_id: email.id,
            purpose: LinkPurpose::PasswordReset,
            user_id: email.user_id,
            token: reserved::token_hash(&*self.ports.entropy, fate, &token),
            redirect: Some(RedirectKind::Login),
            landing: Some(request.landing.without_token(None)),
            fingerprint: request.fingerprint.clone(),
            origin: None,
            user_created: false,
            challenge: None,
            asked_as: Some(request.email.clone()),
            sent_as_asked: !email.verified,
            created_at: now,
            expires_at: reserved::expiry(request.reserved, request.lifetime, now),
            used_at: None,
            session_id: None,
            handed_at: None,
        };
        Ok(Draft {
            link,
            job,
            is_decoy,
        })
    }
}
