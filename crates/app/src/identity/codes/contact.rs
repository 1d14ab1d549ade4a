//! Recipients of codes: e-mail addresses and phone numbers.

use vestry_domain::code::{MethodId, Reserved};
use vestry_domain::email::Email;
use vestry_domain::ids::{Id, UserId};
use vestry_domain::message::{self, Channel, Message};
use vestry_domain::phone::PhoneNumber;
use vestry_domain::timestamp::Seconds;
use vestry_domain::user::{User, UserEmail, UserPhone};
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Attached, Repositories, StoreResult};

use crate::identity::users::account_resolution::FoundIdentifier;
use crate::identity::users::new_identifier::{new_email, new_phone};

/// A user's identifier that codes can be sent to.
#[port]
pub(crate) trait Contact: Clone + Send + Sync + Sized {
    /// The validated form of the input.
    type Typed: Clone + Send + Sync;
    /// The delivery channel of its messages.
    const CHANNEL: Channel;
    /// The resource name in not-found errors.
    const RESOURCE: &'static str;

    /// The identifier that sends are counted against, regardless of spelling.
    fn subject(typed: &Self::Typed) -> &str;
    /// The destination of a message.
    fn mailbox(typed: &Self::Typed) -> String;
    /// Its reserved meaning in the test environment.
    fn reserved(typed: &Self::Typed) -> Option<Reserved>;
    /// Finds the typed identifier with its owner.
    async fn find(
        repositories: &mut dyn Repositories,
        world: &World,
        typed: &Self::Typed,
    ) -> StoreResult<Option<(Self, User)>>;
    /// Creates one with an id from 16 random bytes.
    fn new(random: [u8; 16], user_id: UserId, typed: &Self::Typed, now: Timestamp) -> Self;
    /// Attaches it to its user.
    async fn attach(
        &self,
        repositories: &mut dyn Repositories,
        world: &World,
    ) -> StoreResult<Attached>;
    fn method_id(&self) -> MethodId;
    /// Its owner, or the future owner once it is verified.
    fn user_id(&self) -> UserId;
    /// A copy that belongs to that user.
    fn of_user(self, user: UserId) -> Self;
    /// A copy as addressed by its messages: an unverified claim uses the spelling of this request.
    fn addressed(self, typed: &Self::Typed) -> Self;
    /// The address as written in the request.
    fn asked_as(typed: &Self::Typed) -> Option<Email>;
    /// Whether its messages go to the spelling of the request.
    fn is_sent_as_asked(&self) -> bool;
    /// The identifier and its owner, used to decide which user a proof signs in.
    fn found(&self, owner: User) -> FoundIdentifier;
    /// The message that carries a code. Mail to a verified address uses the spelling that was verified (attack 5).
    fn message(&self, app_name: &str, digits: &str, lifetime: Seconds) -> Message;
}

#[port]
impl Contact for UserEmail {
    type Typed = Email;
    const CHANNEL: Channel = Channel::Email;
    const RESOURCE: &'static str = "email";

    fn subject(typed: &Email) -> &str {
        typed.identity().as_str()
    }

    fn mailbox(typed: &Email) -> String {
        typed.destination()
    }

    fn reserved(typed: &Email) -> Option<Reserved> {
        Reserved::of_email(typed.identity())
    }

    async fn find(
        repositories: &mut dyn Repositories,
        world: &World,
        typed: &Email,
    ) -> StoreResult<Option<(Self, User)>> {
        repositories
            .identifiers()
            .email_by_identity(world, typed.identity())
            .await
    }

    fn new(random: [u8; 16], user_id: UserId, typed: &Email, now: Timestamp) -> Self {
        new_email(Id::new(now, random), user_id, typed.clone(), now)
    }

    async fn attach(
        &self,
        repositories: &mut dyn Repositories,
        world: &World,
    ) -> StoreResult<Attached> {
        repositories.identifiers().attach_email(world, self).await
    }

    fn method_id(&self) -> MethodId {
        MethodId::Email(self.id)
    }

    fn user_id(&self) -> UserId {
        self.user_id
    }

    fn of_user(self, user_id: UserId) -> Self {
        Self { user_id, ..self }
    }

    fn addressed(self, typed: &Email) -> Self {
        Self::addressed(self, typed)
    }

    fn asked_as(typed: &Email) -> Option<Email> {
        Some(typed.clone())
    }

    fn is_sent_as_asked(&self) -> bool {
        !self.verified
    }

    fn found(&self, owner: User) -> FoundIdentifier {
        FoundIdentifier::email(self, owner)
    }

    fn message(&self, app_name: &str, digits: &str, lifetime: Seconds) -> Message {
        message::otp_mail(app_name, self.email.address(), digits, lifetime)
    }
}

#[port]
impl Contact for UserPhone {
    type Typed = PhoneNumber;
    const CHANNEL: Channel = Channel::Sms;
    const RESOURCE: &'static str = "phone_number";

    fn subject(typed: &PhoneNumber) -> &str {
        typed.as_str()
    }

    fn mailbox(typed: &PhoneNumber) -> String {
        typed.as_str().to_owned()
    }

    fn reserved(typed: &PhoneNumber) -> Option<Reserved> {
        Reserved::of_phone(typed)
    }

    async fn find(
        repositories: &mut dyn Repositories,
        world: &World,
        typed: &PhoneNumber,
    ) -> StoreResult<Option<(Self, User)>> {
        repositories
            .identifiers()
            .phone_by_number(world, typed)
            .await
    }

    fn new(random: [u8; 16], user_id: UserId, typed: &PhoneNumber, now: Timestamp) -> Self {
        new_phone(Id::new(now, random), user_id, typed.clone(), now)
    }

    async fn attach(
        &self,
        repositories: &mut dyn Repositories,
        world: &World,
    ) -> StoreResult<Attached> {
        repositories.identifiers().attach_phone(world, self).await
    }

    fn method_id(&self) -> MethodId {
        MethodId::Phone(self.id)
    }

    fn user_id(&self) -> UserId {
        self.user_id
    }

    fn of_user(self, user_id: UserId) -> Self {
        Self { user_id, ..self }
    }

    fn addressed(self, _typed: &PhoneNumber) -> Self {
        self
    }

    fn asked_as(_typed: &PhoneNumber) -> Option<Email> {
        None
    }

    fn is_sent_as_asked(&self) -> bool {
        false
    }

    fn found(&self, owner: User) -> FoundIdentifier {
        FoundIdentifier::phone(self, owner)
    }

    fn message(&self, app_name: &str, digits: &str, lifetime: Seconds) -> Message {
        message::otp_text(app_name, self.number.as_str(), digits, lifetime)
    }
}
