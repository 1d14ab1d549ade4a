//! `magic_links/email/login_or_create` and `magic_links/email/invite`: sending magic links.

use vestry_domain::action::Action;
use vestry_domain::code::{Code, CodePurpose, MethodId, Reserved};
use vestry_domain::email::Email;
use vestry_domain::event::Via;
use vestry_domain::ids::{EmailId, UserId};
use vestry_domain::link::{self, FALLBACK_CODE_LIFETIME, Link, LinkPurpose};
use vestry_domain::message::{
    Channel, FallbackCode, MailedLink, OutboxJob, Priority, invite_mail, login_link_mail,
};
use vestry_domain::redirect::{Landing, RedirectKind};
use vestry_domain::session::DeviceFingerprint;
use vestry_domain::timestamp::Seconds;
use vestry_domain::user::{User, UserEmail, UserStatus};
use vestry_domain::{Secret, Timestamp, text};
use vestry_ports::store::{Attached, Repositories, StoreResult};

use super::RedirectError;
use super::repeat::{link_to, repeated};
use crate::delivery::outbox_message::Delivery;
use crate::identity::codes::{digits_mac, new_digits};
use crate::identity::landing::Registered;
use crate::identity::reserved;
use crate::identity::sign_in_binding::Starter;
use crate::identity::users::account_resolution::{FoundIdentifier, Resolution, resolve_account};
use crate::identity::users::new_identifier::new_email;
use crate::kernel::fault::retried;
use crate::kernel::mint;
use crate::{Caller, Fault, Refusal, Service, SignInBinding};

/// The parameters of `login_or_create`.
#[derive(Clone, Default)]
pub struct LoginByLink {
    /// The address.
    pub email: String,
    /// Where the link of an existing user leads; the App's default when absent.
    pub login_redirect_url: Option<String>,
    /// Where the link of a new user leads; the App's default when absent.
    pub registration_redirect_url: Option<String>,
    /// Minutes, 5 to 10080; 60 when absent.
    pub login_expires_in: Option<i64>,
    /// The same for a new user.
    pub registration_expires_in: Option<i64>,
    /// The default for each of the two lifetimes above.
    pub expires_in: Option<i64>,
    /// Whether a user created here stays `pending` until it is verified; the App's setting when absent.
    pub requires_verification: Option<bool>,
    /// The party that starts the sign-in.
    pub started_by: SignInBinding,
    /// The end user's device, if sent.
    pub device_fingerprint: Option<DeviceFingerprint>,
}

/// The parameters of `invite`.
#[derive(Clone, Default)]
pub struct InviteByLink {
    /// The address.
    pub email: String,
    /// Names of a user that is created here; `""` and absent are the same.
    pub first_name: Option<String>,
    /// See [`InviteByLink::first_name`].
    pub middle_name: Option<String>,
    /// See [`InviteByLink::first_name`].
    pub last_name: Option<String>,
    /// Where the link leads; the App's default when absent.
    pub invite_redirect_url: Option<String>,
    /// Minutes, 5 to 10080; 60 when absent.
    pub invite_expires_in: Option<i64>,
    /// The end user's device, if sent.
    pub device_fingerprint: Option<DeviceFingerprint>,
}

/// A link that was sent. With the App's setting `enumeration_safe`, only the ids distinguish an existing user from a new one.
#[derive(Debug, Clone)]
pub struct SentLink {
    /// The user that the link signs in.
    pub user_id: UserId,
    /// The address.
    pub email_id: EmailId,
    /// The user's status; always `pending` with `enumeration_safe`.
    pub status: UserStatus,
    /// Whether this call created the user; always false with `enumeration_safe`.
    pub user_created: bool,
    /// When the user was created; the current time with `enumeration_safe`.
    pub created_at: Timestamp,
    /// When the user last changed; the current time with `enumeration_safe`.
    pub updated_at: Timestamp,
}

/// A validated request.
struct Request {
    purpose: LinkPurpose,
    email: Email,
    starter: Starter,
    fingerprint: Option<DeviceFingerprint>,
    reserved: Option<Reserved>,
    existing: Way,
    new: Way,
    /// Names and status of a user created by this call.
    names: [String; 3],
    status: UserStatus,
}

/// Where a link leads, and its lifetime.
struct Way {
    kind: RedirectKind,
    landing: Landing,
    lifetime: Seconds,
}

/// The user that the link will sign in.
struct Owner {
    user: User,
    email: UserEmail,
    resolution: Resolution,
}

/// Everything that one attempt at the transaction writes.
struct Draft {
    owner: Owner,
    link: Link,
    code: Option<Code>,
    job: OutboxJob,
}

enum Stored {
    /// A link was sent, by this call or by the earlier one that it repeats.
    Sent { user_created: bool },
    /// The address was attached or verified concurrently; retry from the lookup.
    ChangedMeanwhile,
}

/// Secrets that are mailed and stored only as hashes.
struct Parts {
    token: Secret<String>,
    digits: Option<Secret<String>>,
}

impl Service {
    /// Sends a sign-in link to an address and creates its user if there is none.
    ///
    /// The mail also contains a code for `otps/verify`, because links can be damaged in transit.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::TooMany`] when too many codes and links were sent to this address, from this device or by this
    /// App. Nothing is created then.
    pub async fn login_or_create_by_link(
        &self,
        caller: &Caller,
        command: LoginByLink,
    ) -> Result<SentLink, Refusal> {
        caller.authorize(Action::SendLink)?;
        let requires_verification = command
            .requires_verification
            .unwrap_or(caller.settings().login_requires_verification);
        let email = Email::parse(&command.email)?;
        let life = |param, own: Option<i64>| {
            let (param, minutes) = match own {
                Some(_) => (param, own),
                None => ("expires_in", command.expires_in),
            };
            link::lifetime(param, minutes, caller.settings().magic_link_max_minutes)
        };
        let login_life = life("login_expires_in", command.login_expires_in)?;
        let registration_life = life("registration_expires_in", command.registration_expires_in)?;
        let starter = command.started_by.check()?;
        starter.suffices(caller.settings())?;
        let registered = Registered::read(&*self.ports.store, &caller.world).await?;
        // Both are looked up for known and unknown addresses alike: a missing one must not reveal which it is (attack 9).
        let existing = way(
            &registered,
            RedirectKind::Login,
            "login_redirect_url",
            command.login_redirect_url.as_deref(),
            login_life,
        )?;
        let new = way(
            &registered,
            RedirectKind::Registration,
            "registration_redirect_url",
            command.registration_redirect_url.as_deref(),
            registration_life,
        )?;
        let request = Request {
            purpose: LinkPurpose::Login,
            reserved: reserved::of_email(caller, &email),
            email,
            starter,
            fingerprint: command.device_fingerprint,
            existing,
            new,
            names: Default::default(),
            status: UserStatus::initial(requires_verification),
        };
        self.send_link(caller, request).await
    }

    /// Invites an address: sends a link, and creates a pending user with the given names if there is none.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::TooMany`] when too many codes and links were sent to this address, from this device or by this
    /// App. Nothing is created then.
    pub async fn invite_by_link(
        &self,
        caller: &Caller,
        command: InviteByLink,
    ) -> Result<SentLink, Refusal> {
        const PARAM: &str = "invite_redirect_url";
        caller.authorize(Action::SendLink)?;
        let email = Email::parse(&command.email)?;
        let names = [
            text::name("first_name", &command.first_name.unwrap_or_default())?,
            text::name("middle_name", &command.middle_name.unwrap_or_default())?,
            text::name("last_name", &command.last_name.unwrap_or_default())?,
        ];
        let maximum = caller.settings().magic_link_max_minutes;
        let life = link::lifetime("invite_expires_in", command.invite_expires_in, maximum)?;
        let registered = Registered::read(&*self.ports.store, &caller.world).await?;
        let wanted = command.invite_redirect_url.as_deref();
        let lead = || way(&registered, RedirectKind::Invite, PARAM, wanted, life);
        let request = Request {
            purpose: LinkPurpose::Invite,
            reserved: reserved::of_email(caller, &email),
            email,
            // The inviter is not the invitee: the browser that could hold a verifier has not been here yet.
            starter: Starter::default(),
            fingerprint: command.device_fingerprint,
            existing: lead()?,
            new: lead()?,
            names,
            status: UserStatus::Pending,
        };
        self.send_link(caller, request).await
    }

    async fn send_link(&self, caller: &Caller, request: Request) -> Result<SentLink, Refusal> {
        if !caller.is_test() && !self.has_mailer() {
            return Err(Fault::NoTransport("mail").into());
        }
        let priority = match request.purpose {
            LinkPurpose::Invite => Priority::Invite,
            LinkPurpose::Login | LinkPurpose::Create | LinkPurpose::PasswordReset => {
                Priority::SignIn
            }
        };
        self.admit_message(caller.world, Channel::Email, priority)?;
        loop {
            if let Some(sent) = retried(|| self.try_to_send_link(caller, &request)).await? {
                return Ok(sent);
            }
        }
    }

    /// Attempts a send once. `None`: the address was attached or verified concurrently; retry from the lookup.
    async fn try_to_send_link(
        &self,
        caller: &Caller,
        request: &Request,
    ) -> Result<Option<SentLink>, Refusal> {
        // Everything that needs a key is created before the transaction, and again for each attempt.
        let now = self.now(&caller.world);
        let owner = self.link_owner(caller, request, now).await?;
        let draft = self.draft_link(caller, request, owner, now).await?;
        let user_created = match self.store_link(caller, request, &draft, now).await? {
            Stored::Sent { user_created } => user_created,
            Stored::ChangedMeanwhile => return Ok(None),
        };
        let Owner { user, email, .. } = draft.owner;
        let sent = SentLink {
            user_id: user.id,
            email_id: email.id,
            status: user.status,
            user_created,
            created_at: user.created_at,
            updated_at: user.updated_at,
        };
        Ok(Some(if caller.settings().enumeration_safe {
            sent.uniform(now)
        } else {
            sent
        }))
    }

    /// Finds the user that the link will sign in.
    async fn link_owner(
        &self,
        caller: &Caller,
        request: &Request,
        now: Timestamp,
    ) -> Result<Owner, Refusal> {
        let new = || {
            let [first_name, middle_name, last_name] = request.names.clone();
            User {
                first_name,
                middle_name,
                last_name,
                ..User::new(self.new_id(now), caller.world, request.status, now)
            }
        };
        let mut read = self.ports.store.read().await?;
        let found = read
            .identifiers()
            .email_by_identity(&caller.world, request.email.identity())
            .await?;
        let Some((email, owner)) = found else {
            let user = new();
            if !caller.reaches_user(user.id) {
                return Err(Refusal::NotFound("user"));
            }
            return Ok(Owner {
                email: new_email(self.new_id(now), user.id, request.email.clone(), now),
                user,
                resolution: Resolution::New,
            });
        };
        let (user, resolution) =
            resolve_account(&mut *read, FoundIdentifier::email(&email, owner), new).await?;
        if !caller.reaches_user(user.id) {
            return Err(Refusal::NotFound("user"));
        }
        Ok(Owner {
            user,
            email: email.addressed(&request.email),
            resolution,
        })
    }

    async fn draft_link(
        &self,
        caller: &Caller,
        request: &Request,
        owner: Owner,
        now: Timestamp,
    ) -> Result<Draft, Fault> {
        let way = if owner.resolution.is_new() {
            &request.new
        } else {
            &request.existing
        };
        let parts = Parts {
            token: mint::link_token(&*self.ports.entropy),
            digits: match request.purpose {
                LinkPurpose::Login => {
                    Some(new_digits(&self.ports, &caller.world, request.reserved, now).await?)
                }
                _ => None,
            },
        };
        let code = match &parts.digits {
            Some(digits) => Some(
                self.fallback_code(caller, request, &owner, way, digits, now)
                    .await?,
            ),
            None => None,
        };
        let link = Link {
            world: caller.world,
            email_id: owner.email.id,
            purpose: request.purpose,
            user_id: owner.user.id,
            token: reserved::token_hash(&*self.ports.entropy, request.reserved, &parts.token),
            redirect: Some(way.kind),
            landing: Some(way.landing.without_token(request.starter.state.as_ref())),
            fingerprint: request.fingerprint.clone(),
            origin: None,
            user_created: owner.resolution.is_new(),
            challenge: request.starter.challenge,
            asked_as: Some(request.email.clone()),
            sent_as_asked: !owner.email.verified,
            created_at: now,
            expires_at: reserved::expiry(request.reserved, way.lifetime, now),
            used_at: None,
            session_id: None,
            handed_at: None,
        };
        let job = self.link_letter(caller, request, &owner, way, &parts);
        let job = job.await?;
        Ok(Draft {
            owner,
            link,
            code,
            job,
        })
    }

    /// Creates the code mailed with the link. It is an ordinary code of the address, so `otps/verify` accepts it and counts its attempts.
    async fn fallback_code(
        &self,
        caller: &Caller,
        request: &Request,
        owner: &Owner,
        way: &Way,
        digits: &Secret<String>,
        now: Timestamp,
    ) -> Result<Code, Fault> {
        let method_id = MethodId::Email(owner.email.id);
        let accepted = (request.reserved != Some(Reserved::Wrong)).then_some(digits);
        let mac = digits_mac(&self.ports, &caller.world, method_id, accepted).await?;
        Ok(Code {
            world: caller.world,
            method_id,
            purpose: CodePurpose::SignIn,
            user_id: owner.user.id,
            for_anybody: true,
            mac,
            fingerprint: request.fingerprint.clone(),
            user_created: owner.resolution.is_new(),
            asked_as: Some(request.email.clone()),
            sent_as_asked: !owner.email.verified,
            created_at: now,
            expires_at: reserved::expiry(request.reserved, code_lifetime(way), now),
        })
    }

    async fn link_letter(
        &self,
        caller: &Caller,
        request: &Request,
        owner: &Owner,
        way: &Way,
        parts: &Parts,
    ) -> Result<OutboxJob, Fault> {
        let (token, state) = (parts.token.expose(), request.starter.state.as_ref());
        let url = Secret::new(way.landing.with_token(token, state));
        let link = MailedLink {
            url: url.expose(),
            token: parts.token.expose(),
            lifetime: way.lifetime,
        };
        // Mail to a verified address uses the spelling that was verified (attack 5).
        let (app, to) = (&caller.app.name, owner.email.email.address());
        let mail = Secret::new(match &parts.digits {
            Some(digits) => {
                let code = FallbackCode {
                    digits: digits.expose(),
                    lifetime: code_lifetime(way),
                };
                login_link_mail(app, to, link, code)
            }
            None => invite_mail(app, to, &owner.user.first_name, link),
        });
        let delivery = Delivery {
            delay: reserved::delay(request.reserved),
            lifetime: way.lifetime,
        };
        self.letter(&caller.principal, &caller.world, &mail, delivery)
            .await
    }

    async fn store_link(
        &self,
        caller: &Caller,
        request: &Request,
        draft: &Draft,
        now: Timestamp,
    ) -> Result<Stored, Refusal> {
        let world = &caller.world;
        let mut tx = self.ports.store.begin().await?;
        if request.reserved.is_none() {
            let quota = self.send_quota(world, now);
            let device = request.fingerprint.as_ref();
            let send = link_to(request.email.identity(), request.purpose, device);
            let turn = quota.take_turn(&mut *tx, send.identifier).await?;
            let landing = |first: &Link| request.landing_after(first);
            if let Some(first) = repeated(&mut *tx, caller, &draft.link, landing, now).await? {
                // Nothing is counted, and the transaction is dropped.
                let user_created = first.user_created;
                return Ok(Stored::Sent { user_created });
            }
            quota.spend_narrow(&mut *tx, turn, send).await?;
            quota.spend_mail(&mut *tx, send.identifier).await?;
            // Where known and unknown addresses must look alike, this quota must not distinguish them either.
            if draft.owner.resolution.is_new() || caller.settings().enumeration_safe {
                quota.spend_new_user(&mut *tx, caller.settings()).await?;
            }
        }
        let owner = &draft.owner;
        if owner.resolution.is_new() {
            caller.may_create_user()?;
        }
        if !owner.store(&mut *tx).await? {
            return Ok(Stored::ChangedMeanwhile);
        }
        let (resolution, method) = (owner.resolution, MethodId::Email(owner.email.id));
        let facts = resolution.facts(owner.user.id, method, request.via());
        self.emit(&mut *tx, caller, facts).await?;
        tx.links().replace(&draft.link).await?;
        if let Some(code) = &draft.code {
            tx.codes().replace(code).await?;
        }
        tx.outbox().push(&draft.job).await?;
        caller.commit_last(tx).await?;
        Ok(Stored::Sent {
            user_created: draft.link.user_created,
        })
    }
}

impl Request {
    /// How a user is created when the link is sent.
    const fn via(&self) -> Via {
        match self.purpose {
            LinkPurpose::Invite => Via::Invite,
            LinkPurpose::Login | LinkPurpose::Create | LinkPurpose::PasswordReset => Via::MagicLink,
        }
    }

    /// Where a repeat of this call would lead: to the registration URL if the first call created the user.
    fn landing_after(&self, first: &Link) -> String {
        let way = if first.user_created {
            &self.new
        } else {
            &self.existing
        };
        way.landing.without_token(self.starter.state.as_ref())
    }
}

impl Owner {
    /// Stores a new user; `false` when the address has changed since it was read.
    async fn store(&self, tx: &mut dyn Repositories) -> StoreResult<bool> {
        let (world, user) = (&self.user.world, &self.user);
        if self.resolution == Resolution::New {
            tx.users().insert(user).await?;
            return Ok(tx.identifiers().attach_email(world, &self.email).await? == Attached::Yes);
        }
        let method = MethodId::Email(self.email.id);
        self.resolution
            .store_pending_owner(tx, world, user, method)
            .await
    }
}

impl SentLink {
    /// Removes what distinguishes a known address from an unknown one (attack 9).
    ///
    /// The ids must stay, because the caller could do nothing without them. A caller that passes them on also reveals when the user was
    /// created.
    fn uniform(self, now: Timestamp) -> Self {
        Self {
            status: UserStatus::Pending,
            user_created: false,
            created_at: now,
            updated_at: now,
            ..self
        }
    }
}

fn way(
    registered: &Registered,
    kind: RedirectKind,
    param: &'static str,
    wanted: Option<&str>,
    lifetime: Seconds,
) -> Result<Way, RedirectError> {
    Ok(Way {
        kind,
        landing: registered.choose(kind, param, wanted)?,
        lifetime,
    })
}

/// The code's lifetime: no longer than the link's, nor than that of any code (OTP-2).
fn code_lifetime(way: &Way) -> Seconds {
    way.lifetime.min(FALLBACK_CODE_LIFETIME)
}
