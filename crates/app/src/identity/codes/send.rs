//! `otps/{email,sms}/login_or_create` and `otps/{email,sms}/send`: sending one-time codes.

use vestry_domain::action::Action;
use vestry_domain::code::{self, Code, CodePurpose, Reserved};
use vestry_domain::email::Email;
use vestry_domain::event::Via;
use vestry_domain::ids::UserId;
use vestry_domain::limits::{self, Limit};
use vestry_domain::message::{Channel, OutboxJob, Priority};
use vestry_domain::phone::{NumberRange, PhoneNumber};
use vestry_domain::session::DeviceFingerprint;
use vestry_domain::timestamp::Seconds;
use vestry_domain::user::{User, UserEmail, UserPhone, UserStatus};
use vestry_domain::{Invalid, Secret, Timestamp};
use vestry_ports::store::{Attached, Repositories, StoreResult};

use super::contact::Contact;
use super::digits::{digits_mac, new_digits};
use crate::delivery::outbox_message::Delivery;
use crate::identity::quotas::{Kind, Send};
use crate::identity::reserved;
use crate::identity::sessions::SessionNamed;
use crate::identity::users::account_resolution::{Resolution, resolve_account};
use crate::identity::users::verification::is_provable;
use crate::kernel::fault::retried;
use crate::{Caller, Fault, Refusal, Service};

/// The parameters of `email/login_or_create`.
#[derive(Clone)]
pub struct LoginOrCreate {
    /// The address.
    pub email: String,
    /// Lifetime in minutes, 1 to 10; 1 by default.
    pub expires_in: Option<i64>,
    /// Whether a user created here stays `pending` until the code is verified; defaults to the App's setting.
    pub requires_verification: Option<bool>,
    /// The end user's device, if sent.
    pub device_fingerprint: Option<DeviceFingerprint>,
}

/// The parameters of `sms/login_or_create`.
#[derive(Clone)]
pub struct LoginOrCreateByText {
    /// The number, E.164.
    pub phone_number: String,
    /// See [`LoginOrCreate::expires_in`].
    pub expires_in: Option<i64>,
    /// See [`LoginOrCreate::requires_verification`].
    pub requires_verification: Option<bool>,
    /// See [`LoginOrCreate::device_fingerprint`].
    pub device_fingerprint: Option<DeviceFingerprint>,
}

/// The parameters of `email/send`.
#[derive(Clone)]
pub struct SendCode {
    /// The address; must exist.
    pub email: String,
    /// Lifetime in minutes, 1 to 10; 1 by default.
    pub expires_in: Option<i64>,
    /// The end user's device, if sent.
    pub device_fingerprint: Option<DeviceFingerprint>,
    /// A session of the user whose claimed identifier is to be verified (CL-5).
    pub session: SessionNamed,
}

/// The parameters of `sms/send`.
#[derive(Clone)]
pub struct SendCodeByText {
    /// The number, E.164; must exist.
    pub phone_number: String,
    /// See [`SendCode::expires_in`].
    pub expires_in: Option<i64>,
    /// See [`SendCode::device_fingerprint`].
    pub device_fingerprint: Option<DeviceFingerprint>,
    /// See [`SendCode::session`].
    pub session: SessionNamed,
}

/// A code sent by mail.
#[derive(Debug, Clone)]
pub struct SentCode {
    /// The address.
    pub email: UserEmail,
    /// Its owner's status; always `pending` while the App is `enumeration_safe`.
    pub status: UserStatus,
    /// Whether this call created the user; never while the App is `enumeration_safe`.
    pub user_created: bool,
}

/// A code sent by text message.
#[derive(Debug, Clone)]
pub struct SentText {
    /// The number.
    pub phone: UserPhone,
    /// See [`SentCode::status`].
    pub status: UserStatus,
    /// See [`SentCode::user_created`].
    pub user_created: bool,
}

/// A validated request.
struct Request<C: Contact> {
    typed: C::Typed,
    lifetime: Seconds,
    fingerprint: Option<DeviceFingerprint>,
    reserved: Option<Reserved>,
    /// The status of a user created by this call; `None` when the user must exist.
    create: Option<UserStatus>,
    /// The user of the session that the call names.
    in_session: Option<UserId>,
    route: Route,
}

/// The calls, each with its quotas beyond identifier and device.
enum Route {
    Mail,
    Text(NumberRange),
}

impl Route {
    /// Daily limit of sends to one identifier.
    const fn a_day(&self) -> Limit {
        match self {
            Self::Mail => limits::codes::SENDS_PER_IDENTIFIER_AND_DAY,
            Self::Text(_) => limits::texts::SENDS_PER_NUMBER_AND_DAY,
        }
    }
}

/// Everything that one attempt at the transaction writes.
struct Draft<C> {
    owner: Owner<C>,
    code: Code,
    job: OutboxJob,
}

enum Owner<C> {
    User {
        user: Box<User>,
        resolution: Resolution,
        contact: C,
    },
    Unknown {
        decoy: C,
    },
}

impl<C> Owner<C> {
    const fn contact(&self) -> &C {
        match self {
            Self::User { contact, .. } => contact,
            Self::Unknown { decoy } => decoy,
        }
    }

    const fn is_new(&self) -> bool {
        matches!(self, Self::User { resolution, .. } if resolution.is_new())
    }
}

/// The result common to all channels.
struct Sent<C> {
    contact: C,
    status: UserStatus,
    user_created: bool,
}

enum Stored {
    /// A code was sent, by this call or by the earlier one that it repeats.
    Sent { user_created: bool },
    /// The identifier was attached or verified concurrently; retry from the lookup.
    ChangedMeanwhile,
}

impl Service {
    /// Sends a sign-in code to an address and creates its user if there is none.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::TooMany`] when too many codes were sent to this address, from this device or by this App. Nothing
    /// is created then.
    pub async fn login_or_create_by_email(
        &self,
        caller: &Caller,
        command: LoginOrCreate,
    ) -> Result<SentCode, Refusal> {
        caller.authorize(Action::SendCode)?;
        let mut request = mail(caller, &command.email, command.expires_in)?;
        request.fingerprint = command.device_fingerprint;
        request.create = Some(status_of_new(caller, command.requires_verification));
        Ok(self.send_code(caller, request).await?.into())
    }

    /// Sends a sign-in code to a number and creates its user if there is none.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::TooMany`] when too many codes were sent to this number or its range, from this device or by this
    /// App. Nothing is created then.
    pub async fn login_or_create_by_text(
        &self,
        caller: &Caller,
        command: LoginOrCreateByText,
    ) -> Result<SentText, Refusal> {
        caller.authorize(Action::SendCode)?;
        let mut request = text(caller, &command.phone_number, command.expires_in)?;
        request.fingerprint = command.device_fingerprint;
        request.create = Some(status_of_new(caller, command.requires_verification));
        Ok(self.send_code(caller, request).await?.into())
    }

    /// Sends a sign-in code to an existing user's address.
    ///
    /// # Errors
    /// As for [`Service::login_or_create_by_email`]; [`Refusal::NotFound`] when no user has the address,
    /// [`Refusal::UnprovenIdentifier`] when it is the claim of an owned account and the call names no session of that user.
    pub async fn send_code_by_email(
        &self,
        caller: &Caller,
        command: SendCode,
    ) -> Result<SentCode, Refusal> {
        caller.authorize(Action::SendCode)?;
        let mut request = mail(caller, &command.email, command.expires_in)?;
        request.fingerprint = command.device_fingerprint;
        request.in_session = self.user_in(caller, &command.session).await?;
        Ok(self.send_code(caller, request).await?.into())
    }

    /// Sends a sign-in code to an existing user's number.
    ///
    /// # Errors
    /// As for [`Service::login_or_create_by_text`] and [`Service::send_code_by_email`].
    pub async fn send_code_by_text(
        &self,
        caller: &Caller,
        command: SendCodeByText,
    ) -> Result<SentText, Refusal> {
        caller.authorize(Action::SendCode)?;
        let mut request = text(caller, &command.phone_number, command.expires_in)?;
        request.fingerprint = command.device_fingerprint;
        request.in_session = self.user_in(caller, &command.session).await?;
        Ok(self.send_code(caller, request).await?.into())
    }

    async fn send_code<C: Contact>(
        &self,
        caller: &Caller,
        request: Request<C>,
    ) -> Result<Sent<C>, Refusal> {
        if !caller.is_test() {
            self.require_transport(C::CHANNEL)?;
        }
        self.admit_message(caller.world, C::CHANNEL, Priority::SignIn)?;
        loop {
            if let Some(sent) = retried(|| self.try_to_send(caller, &request)).await? {
                return Ok(sent);
            }
        }
    }

    fn require_transport(&self, channel: Channel) -> Result<(), Fault> {
        match channel {
            Channel::Email if !self.has_mailer() => Err(Fault::NoTransport("mail")),
            Channel::Sms if !self.has_sms() => Err(Fault::NoTransport("SMS")),
            Channel::Email | Channel::Sms => Ok(()),
        }
    }

    /// Attempts a send once. `None`: the identifier was attached or verified concurrently; retry from the lookup.
    async fn try_to_send<C: Contact>(
        &self,
        caller: &Caller,
        request: &Request<C>,
    ) -> Result<Option<Sent<C>>, Refusal> {
        // Everything that needs a key is created before the transaction, and again for each attempt.
        let now = self.now(&caller.world);
        let owner = match self.find_owner(caller, request, now).await? {
            Ok(owner) => owner,
            Err(refused) => {
                self.spend_on_nobody(caller, request, now).await?;
                return Err(refused);
            }
        };
        let draft = self.draft(caller, request, owner, now).await?;
        match self.store_code(caller, request, &draft, now).await? {
            Stored::Sent { user_created } => Ok(Some(answer(caller, draft.owner, user_created))),
            Stored::ChangedMeanwhile => Ok(None),
        }
    }

    /// Finds the user that the code will sign in, or the refusal if the call must name an existing user and may not name this one.
    async fn find_owner<C: Contact>(
        &self,
        caller: &Caller,
        request: &Request<C>,
        now: Timestamp,
    ) -> Result<Result<Owner<C>, Refusal>, Fault> {
        let mut read = self.ports.store.read().await?;
        let found = C::find(&mut *read, &caller.world, &request.typed).await?;
        let found = found.map(|(contact, owner)| (contact.addressed(&request.typed), owner));
        let Some(status) = request.create else {
            drop(read);
            let is_reached = caller.reaches_found(found.as_ref().map(|(_, owner)| owner.id));
            let found = found.filter(|_| is_reached);
            return self.named_owner(caller, request, found, now).await;
        };
        let new = || User::new(self.new_id(now), caller.world, status, now);
        let (user, resolution, contact) = match found {
            Some((contact, owner)) => {
                let (user, resolution) =
                    resolve_account(&mut *read, contact.found(owner), new).await?;
                (user, resolution, contact)
            }
            None => {
                let user = new();
                let mut random = [0_u8; 16];
                self.ports.entropy.fill(&mut random);
                let contact = C::new(random, user.id, &request.typed, now);
                (user, Resolution::New, contact)
            }
        };
        if !caller.reaches_user(user.id) {
            return Ok(Err(Refusal::NotFound("user")));
        }
        Ok(Ok(Owner::User {
            contact: contact.of_user(user.id),
            user: Box::new(user),
            resolution,
        }))
    }

    /// Finds the user whose identifier the App names. With `enumeration_safe`, a refusal would reveal whether the identifier exists.
    async fn named_owner<C: Contact>(
        &self,
        caller: &Caller,
        request: &Request<C>,
        found: Option<(C, User)>,
        now: Timestamp,
    ) -> Result<Result<Owner<C>, Refusal>, Fault> {
        let refused = match found {
            Some((contact, user)) => {
                let found = contact.found(user);
                if request.in_session == Some(found.owner.id) || is_provable(caller, &found) {
                    return Ok(Ok(Owner::User {
                        user: Box::new(found.owner),
                        resolution: Resolution::Known,
                        contact,
                    }));
                }
                Refusal::UnprovenIdentifier
            }
            None => Refusal::NotFound(C::RESOURCE),
        };
        if !caller.settings().enumeration_safe {
            return Ok(Err(refused));
        }
        let decoy = self.decoy(caller, &request.typed, now).await?;
        Ok(Ok(Owner::Unknown { decoy }))
    }

    /// Counts a send to an unknown identifier, which meets the same limits as a known one: a missing limit would reveal it (OTP-10).
    async fn spend_on_nobody<C: Contact>(
        &self,
        caller: &Caller,
        request: &Request<C>,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        if request.reserved.is_some() {
            return Ok(());
        }
        let mut tx = self.ports.store.begin().await?;
        let quota = self.send_quota(&caller.world, now);
        let send = request.send();
        let turn = quota.take_turn(&mut *tx, send.identifier).await?;
        let mailbox = C::mailbox(&request.typed);
        if quota
            .repeats_for_nobody(&mut *tx, send.kind, &mailbox)
            .await?
        {
            return Ok(());
        }
        quota.spend_narrow(&mut *tx, turn, send).await?;
        self.spend_wide(&mut *tx, caller, request, false, now)
            .await?;
        Ok(tx.commit().await?)
    }

    async fn draft<C: Contact>(
        &self,
        caller: &Caller,
        request: &Request<C>,
        owner: Owner<C>,
        now: Timestamp,
    ) -> Result<Draft<C>, Fault> {
        let world = &caller.world;
        let digits = new_digits(&self.ports, world, request.reserved, now).await?;
        let contact = owner.contact();
        let method_id = contact.method_id();
        let is_decoy = matches!(owner, Owner::Unknown { .. });
        let never_matches = is_decoy || request.reserved == Some(Reserved::Wrong);
        let accepted = (!never_matches).then_some(&digits);
        let mac = digits_mac(&self.ports, world, method_id, accepted).await?;
        let code = Code {
            world: caller.world,
            method_id,
            purpose: CodePurpose::SignIn,
            user_id: contact.user_id(),
            for_anybody: request.create.is_some(),
            mac,
            fingerprint: request.fingerprint.clone(),
            user_created: owner.is_new(),
            asked_as: C::asked_as(&request.typed),
            sent_as_asked: contact.is_sent_as_asked(),
            created_at: now,
            expires_at: reserved::expiry(request.reserved, request.lifetime, now),
        };
        let message = contact.message(&caller.app.name, digits.expose(), request.lifetime);
        let delivery = Delivery {
            delay: reserved::delay(request.reserved),
            lifetime: if is_decoy {
                Seconds(0)
            } else {
                request.lifetime
            },
        };
        let job = self
            .letter(
                &caller.principal,
                &caller.world,
                &Secret::new(message),
                delivery,
            )
            .await?;
        Ok(Draft { owner, code, job })
    }

    async fn store_code<C: Contact>(
        &self,
        caller: &Caller,
        request: &Request<C>,
        draft: &Draft<C>,
        now: Timestamp,
    ) -> Result<Stored, Refusal> {
        let mut tx = self.ports.store.begin().await?;
        if request.reserved.is_none() {
            let quota = self.send_quota(&caller.world, now);
            let send = request.send();
            let turn = quota.take_turn(&mut *tx, send.identifier).await?;
            if let Some(first) = repeated(&mut *tx, caller, &draft.code, now).await? {
                // Nothing is counted, and the transaction is dropped.
                let user_created = first.user_created;
                return Ok(Stored::Sent { user_created });
            }
            quota.spend_narrow(&mut *tx, turn, send).await?;
        }
        let creates = draft.owner.is_new();
        if let Owner::User {
            user,
            resolution,
            contact,
        } = &draft.owner
        {
            if creates {
                caller.may_create_user()?;
            }
            if !store_resolution(&mut *tx, user, *resolution, contact).await? {
                return Ok(Stored::ChangedMeanwhile);
            }
            let facts = resolution.facts(user.id, contact.method_id(), via(C::CHANNEL));
            self.emit(&mut *tx, caller, facts).await?;
        }
        tx.codes().replace(&draft.code).await?;
        tx.outbox().push(&draft.job).await?;
        if request.reserved.is_none() {
            self.spend_wide(&mut *tx, caller, request, creates, now)
                .await?;
        }
        caller.commit_last(tx).await?;
        Ok(Stored::Sent {
            user_created: creates,
        })
    }

    async fn spend_wide<C: Contact>(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        request: &Request<C>,
        creates: bool,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let settings = caller.settings();
        let quota = self.send_quota(&caller.world, now);
        match &request.route {
            Route::Mail => {
                quota.spend_mail(tx, C::subject(&request.typed)).await?;
            }
            Route::Text(range) => quota.spend_text(tx, settings, range).await?,
        }
        // Where known and unknown identifiers must look alike, this quota must not distinguish them either.
        if creates || (settings.enumeration_safe && request.create.is_some()) {
            quota.spend_new_user(tx, settings).await?;
        }
        Ok(())
    }
}

impl<C: Contact> Request<C> {
    fn send(&self) -> Send<'_> {
        Send {
            identifier: C::subject(&self.typed),
            kind: Kind::Code,
            a_day: self.route.a_day(),
            device: self.fingerprint.as_ref(),
        }
    }
}

/// Finds the code that this one would only repeat: sent within seconds to the same user, mailbox and device, and still valid (M-5).
///
/// It may have been sent in the mail of a link.
async fn repeated(
    tx: &mut dyn Repositories,
    caller: &Caller,
    again: &Code,
    now: Timestamp,
) -> StoreResult<Option<Code>> {
    let first = tx
        .codes()
        .made_since(
            &again.world,
            again.method_id,
            again.purpose,
            code::MAX_TRIES,
            now - limits::codes::REPEATED_WITHIN,
            now,
        )
        .await?;
    let rule = caller.settings().device_fingerprint_match;
    Ok(first.filter(|first| {
        let devices = (first.fingerprint.as_ref(), again.fingerprint.as_ref());
        first.user_id == again.user_id
            && first.for_anybody == again.for_anybody
            && Email::is_same_mailbox(first.asked_as.as_ref(), again.asked_as.as_ref())
            && DeviceFingerprint::agree(devices.0, devices.1, rule)
    }))
}

/// Stores a new user; `false` when the identifier has changed since it was read.
async fn store_resolution<C: Contact>(
    tx: &mut dyn Repositories,
    user: &User,
    resolution: Resolution,
    contact: &C,
) -> StoreResult<bool> {
    let world = &user.world;
    if resolution == Resolution::New {
        tx.users().insert(user).await?;
        return Ok(contact.attach(tx, world).await? == Attached::Yes);
    }
    let method = contact.method_id();
    resolution
        .store_pending_owner(tx, world, user, method)
        .await
}

/// How a user is created when a code is sent over a channel.
const fn via(channel: Channel) -> Via {
    match channel {
        Channel::Email => Via::EmailOtp,
        Channel::Sms => Via::SmsOtp,
    }
}

/// The response to the caller; identical for all identifiers with `enumeration_safe`.
fn answer<C>(caller: &Caller, owner: Owner<C>, user_created: bool) -> Sent<C> {
    let (contact, status) = match owner {
        Owner::User { user, contact, .. } => (contact, user.status),
        Owner::Unknown { decoy } => (decoy, UserStatus::Pending),
    };
    if caller.settings().enumeration_safe {
        return Sent {
            contact,
            status: UserStatus::Pending,
            user_created: false,
        };
    }
    Sent {
        contact,
        status,
        user_created,
    }
}

impl From<Sent<UserEmail>> for SentCode {
    fn from(sent: Sent<UserEmail>) -> Self {
        Self {
            email: sent.contact,
            status: sent.status,
            user_created: sent.user_created,
        }
    }
}

impl From<Sent<UserPhone>> for SentText {
    fn from(sent: Sent<UserPhone>) -> Self {
        Self {
            phone: sent.contact,
            status: sent.status,
            user_created: sent.user_created,
        }
    }
}

fn status_of_new(caller: &Caller, requires_verification: Option<bool>) -> UserStatus {
    let setting = caller.settings().login_requires_verification;
    UserStatus::initial(requires_verification.unwrap_or(setting))
}

fn mail(
    caller: &Caller,
    email: &str,
    expires_in: Option<i64>,
) -> Result<Request<UserEmail>, Invalid> {
    let email = Email::parse(email)?;
    checked(caller, email, expires_in, Route::Mail)
}

fn text(
    caller: &Caller,
    number: &str,
    expires_in: Option<i64>,
) -> Result<Request<UserPhone>, Invalid> {
    let number = PhoneNumber::parse(number)?;
    let range = number.range();
    let allowed = &caller.settings().sms_countries;
    let reserved = caller.is_test() && Reserved::of_phone(&number).is_some();
    if !reserved && !range.takes_texts {
        return Err(Invalid::value(
            "phone_number",
            "phone_number must be a regular subscriber number (no premium-rate, shared-cost, toll-free or personal number)",
        ));
    }
    if !reserved && !allowed.is_empty() && !allowed.contains(&range.country) {
        return Err(Invalid::value(
            "phone_number",
            "phone_number is in a country to which this App does not send text messages",
        ));
    }
    checked(caller, number, expires_in, Route::Text(range))
}

fn checked<C: Contact>(
    caller: &Caller,
    typed: C::Typed,
    expires_in: Option<i64>,
    route: Route,
) -> Result<Request<C>, Invalid> {
    let (least, most) = code::EXPIRES_IN_MINUTES;
    let lifetime = match expires_in {
        Some(minutes) => limits::minutes("expires_in", minutes, least, most)?,
        None => code::DEFAULT_EXPIRES_IN,
    };
    Ok(Request {
        reserved: caller.is_test().then(|| C::reserved(&typed)).flatten(),
        typed,
        lifetime,
        fingerprint: None,
        create: None,
        in_session: None,
        route,
    })
}
