//! `users/{user_id}/update`: changes names and metadata, and attaches identifiers; it never removes one.

use std::collections::HashMap;

use serde_json::{Map, Value};
use vestry_domain::action::Action;
use vestry_domain::email::Email;
use vestry_domain::event::{ChangedFields, Fact};
use vestry_domain::ids::UserId;
use vestry_domain::message::CredentialChange;
use vestry_domain::metadata::Metadata;
use vestry_domain::phone::PhoneNumber;
use vestry_domain::user::{User, UserEmail, UserPhone, UserProfile, UserStatus};
use vestry_domain::{Invalid, Timestamp, text};
use vestry_ports::store::{Attached, Repositories};

use super::app_asserted::AppAsserted;
use super::get::FullUser;
use super::new_identifier::{new_email, new_phone};
use super::notices::{CredentialChangeNotice, tell};
use crate::kernel::fault::retried;
use crate::{Caller, Fault, Refusal, Service};

/// Most addresses, and most numbers, of one call.
const MAX_IDENTIFIERS: usize = 100;

/// The fields to change. Absent fields stay unchanged.
#[derive(Clone, Default)]
pub struct UpdateUser {
    /// Names; not `""`.
    pub first_name: Option<String>,
    /// See [`UpdateUser::first_name`].
    pub middle_name: Option<String>,
    /// See [`UpdateUser::first_name`].
    pub last_name: Option<String>,
    /// Addresses to attach; one that the user has already is passed over, unless the App vouches for it now.
    pub emails: Vec<NewIdentifier>,
    /// Numbers to attach, E.164; existing ones are skipped in the same way.
    pub phone_numbers: Vec<NewIdentifier>,
    /// Change of the metadata, by the merge rules of API-13 and API-14.
    pub metadata: Option<Map<String, Value>>,
    /// Whether the metadata replaces the existing one (API-14).
    pub replace_metadata: bool,
}

/// An address or a number to attach.
#[derive(Clone, Default)]
pub struct NewIdentifier {
    /// As it was typed.
    pub text: String,
    /// Whether the App vouches for it (CL-6).
    pub verified: bool,
}

/// An entry of a list, and where it stood.
struct Listed<T> {
    index: usize,
    value: T,
    verified: bool,
}

/// The validated changes to a user.
struct Change {
    first_name: Option<String>,
    middle_name: Option<String>,
    last_name: Option<String>,
    emails: Vec<Listed<Email>>,
    phones: Vec<Listed<PhoneNumber>>,
    metadata: Option<Map<String, Value>>,
    replace_metadata: bool,
}

/// The notices that a change may need.
struct Notices {
    email: Option<CredentialChangeNotice>,
    phone: Option<CredentialChangeNotice>,
}

impl Service {
    /// Changes a user, all or nothing.
    ///
    /// # Errors
    /// [`Refusal`]; nothing changes then.
    pub async fn update_user(
        &self,
        caller: &Caller,
        id: UserId,
        command: UpdateUser,
    ) -> Result<FullUser, Refusal> {
        caller.authorize(Action::UpdateUser)?;
        let id = caller.visible_user(id);
        let change = Change::check(command)?;
        let found = self.full_user(&caller.world, id).await?;
        let found = found.ok_or(Refusal::NotFound("user"))?;
        let notices = self.notices(caller, &found.profile, &change).await?;
        let profile = retried(|| self.try_to_update(caller, id, &change, &notices)).await?;
        Ok(FullUser { profile, ..found })
    }

    /// Notices for what this change will attach, as far as can be seen before its transaction.
    async fn notices(
        &self,
        caller: &Caller,
        profile: &UserProfile,
        change: &Change,
    ) -> Result<Notices, Fault> {
        let user = profile.user.id;
        let email = if new_emails(profile, change).next().is_some() {
            let added = CredentialChange::EmailAdded;
            Some(self.prepare_notice(caller, user, added).await?)
        } else {
            None
        };
        let phone = if new_phones(profile, change).next().is_some() {
            let added = CredentialChange::PhoneAdded;
            Some(self.prepare_notice(caller, user, added).await?)
        } else {
            None
        };
        Ok(Notices { email, phone })
    }

    async fn try_to_update(
        &self,
        caller: &Caller,
        id: UserId,
        change: &Change,
        notices: &Notices,
    ) -> Result<UserProfile, Refusal> {
        let world = &caller.world;
        let now = self.now(world);
        let mut tx = self.begin_change_if(change.vouches(), *world).await?;
        // Locked before it is read: of two concurrent merges, the second sees what the first wrote (R9).
        if !tx.users().lock(world, id).await? {
            return Err(Refusal::NotFound("user"));
        }
        let before = tx.users().profile(world, id).await?;
        let before = before.ok_or(Refusal::NotFound("user"))?;
        let attached_email = self.attach_emails(&mut *tx, &before, change, now).await?;
        let attached_phone = self.attach_phones(&mut *tx, &before, change, now).await?;
        self.vouch(&mut *tx, caller, &before, change, now).await?;
        let mut user = change.apply(&before.user)?;
        if attached_email || attached_phone || user != before.user {
            user.updated_at = now;
            tx.users().update(&user).await?;
        }
        let due = [
            notices.email.as_ref().filter(|_| attached_email),
            notices.phone.as_ref().filter(|_| attached_phone),
        ];
        for notice in due.into_iter().flatten() {
            tell(&mut *tx, notice).await?;
        }
        // Read again only where an identifier may have changed: SQLite's only writer is locked during the read.
        let profile = if change.emails.is_empty() && change.phones.is_empty() {
            UserProfile {
                user,
                emails: before.emails.clone(),
                phones: before.phones.clone(),
            }
        } else {
            let after = tx.users().profile(world, id).await?;
            after.ok_or(Refusal::NotFound("user"))?
        };
        self.emit(&mut *tx, caller, changes(&before, &profile))
            .await?;
        if let Some(vouched) = AppAsserted::since(&before, &profile) {
            tx.note(self.vouched(&caller.into(), vouched));
        }
        tx.commit_last(&caller.principal).await?;
        Ok(profile)
    }

    /// Marks identifiers that the App vouches for as verified, and founds the account for its owner.
    ///
    /// Credentials added before the account had an owner are removed, as by a proof from outside (CL-3, CL-6). Identifiers attached in this
    /// call are verified already.
    async fn vouch(
        &self,
        tx: &mut dyn Repositories,
        caller: &Caller,
        before: &UserProfile,
        change: &Change,
        now: Timestamp,
    ) -> Result<(), Fault> {
        let emails = || change.emails.iter().filter(|email| email.verified);
        let phones = || change.phones.iter().filter(|phone| phone.verified);
        if !change.vouches() {
            return Ok(());
        }
        let (world, user) = (&before.user.world, before.user.id);
        if !before.is_owned() {
            self.take_over(tx, &caller.into(), user, now).await?;
        }
        for email in emails() {
            let mut rows = before.emails.iter();
            let own = rows.find(|row| row.email.identity() == email.value.identity());
            if let Some(own) = own {
                let spelling = &email.value;
                tx.identifiers()
                    .verify_email(world, own.id, spelling, now)
                    .await?;
            }
        }
        for phone in phones() {
            let own = before.phones.iter().find(|row| row.number == phone.value);
            if let Some(own) = own {
                tx.identifiers().verify_phone(world, own.id, now).await?;
            }
        }
        Ok(tx.users().mark_owned(world, user, now).await?)
    }

    /// Attaches the addresses that the user does not have; whether there was one.
    async fn attach_emails(
        &self,
        tx: &mut dyn Repositories,
        before: &UserProfile,
        change: &Change,
        now: Timestamp,
    ) -> Result<bool, Refusal> {
        let user = &before.user;
        let newest = before.emails.iter().map(|row| row.id).max();
        let new: Vec<_> = new_emails(before, change).collect();
        let ids = ids_in_order(&new, self.ids_behind(now, newest));
        for email in &new {
            let Some(id) = ids.get(&email.index) else {
                continue;
            };
            let row = UserEmail {
                verified: email.verified,
                of_owned: user.is_owned,
                ..new_email(*id, user.id, email.value.clone(), now)
            };
            let field = || format!("emails[{}].email", email.index).into();
            match tx.identifiers().attach_email(&user.world, &row).await? {
                Attached::Yes => {}
                Attached::Taken => return Err(Refusal::Taken(field())),
                Attached::Full => return Err(Refusal::too_many_emails(Some(field()))),
            }
        }
        Ok(!new.is_empty())
    }

    /// The same for numbers.
    async fn attach_phones(
        &self,
        tx: &mut dyn Repositories,
        before: &UserProfile,
        change: &Change,
        now: Timestamp,
    ) -> Result<bool, Refusal> {
        let user = &before.user;
        let newest = before.phones.iter().map(|row| row.id).max();
        let new: Vec<_> = new_phones(before, change).collect();
        let ids = ids_in_order(&new, self.ids_behind(now, newest));
        for number in &new {
            let Some(id) = ids.get(&number.index) else {
                continue;
            };
            let row = UserPhone {
                verified: number.verified,
                of_owned: user.is_owned,
                ..new_phone(*id, user.id, number.value.clone(), now)
            };
            let field = || format!("phone_numbers[{}].phone_number", number.index).into();
            match tx.identifiers().attach_phone(&user.world, &row).await? {
                Attached::Yes => {}
                Attached::Taken => return Err(Refusal::Taken(field())),
                Attached::Full => return Err(Refusal::too_many_phone_numbers(Some(field()))),
            }
        }
        Ok(!new.is_empty())
    }
}

/// The events of a change to a user that was locked before it was read, so no one else can have changed it.
pub(super) fn changes(before: &UserProfile, after: &UserProfile) -> Vec<Fact> {
    let user = after.user.id;
    let mut facts = Vec::new();
    let changed = changed_fields(&before.user, &after.user);
    if !changed.0.is_empty() {
        facts.push(Fact::user_updated(user, changed));
    }
    for email in &after.emails {
        let earlier = before.emails.iter().find(|row| row.id == email.id);
        if earlier.is_none() {
            facts.push(Fact::email_added(user, email.id));
        }
        if email.verified && !earlier.is_some_and(|row| row.verified) {
            facts.push(Fact::email_verified(user, email.id));
        }
    }
    for phone in &after.phones {
        let earlier = before.phones.iter().find(|row| row.id == phone.id);
        if earlier.is_none() {
            facts.push(Fact::phone_number_added(user, phone.id));
        }
        if phone.verified && !earlier.is_some_and(|row| row.verified) {
            facts.push(Fact::phone_number_verified(user, phone.id));
        }
    }
    if before.user.status == UserStatus::Pending && after.user.status == UserStatus::Active {
        facts.push(Fact::user_activated(user));
    }
    facts
}

fn changed_fields(before: &User, after: &User) -> ChangedFields {
    let compared = [
        ("first_name", before.first_name != after.first_name),
        ("middle_name", before.middle_name != after.middle_name),
        ("last_name", before.last_name != after.last_name),
        ("metadata", before.metadata != after.metadata),
    ];
    let changed = compared.into_iter().filter(|(_, is_changed)| *is_changed);
    ChangedFields(changed.map(|(name, _)| name.to_owned()).collect())
}

fn new_emails<'a>(
    before: &'a UserProfile,
    change: &'a Change,
) -> impl Iterator<Item = &'a Listed<Email>> + Send {
    let own = |email: &Email| {
        let mut rows = before.emails.iter();
        rows.any(|row| row.email.identity() == email.identity())
    };
    change.emails.iter().filter(move |email| !own(&email.value))
}

fn new_phones<'a>(
    before: &'a UserProfile,
    change: &'a Change,
) -> impl Iterator<Item = &'a Listed<PhoneNumber>> + Send {
    let own = |number: &PhoneNumber| before.phones.iter().any(|row| row.number == *number);
    change
        .phones
        .iter()
        .filter(move |number| !own(&number.value))
}

/// An id for each entry, in the order of the request: what a user has is listed in the order of its ids, while everybody
/// attaches in the order of the change.
fn ids_in_order<T, I>(new: &[&Listed<T>], mut next: impl FnMut() -> I) -> HashMap<usize, I> {
    let mut places: Vec<usize> = new.iter().map(|entry| entry.index).collect();
    places.sort_unstable();
    places.into_iter().map(|index| (index, next())).collect()
}

impl Change {
    fn check(command: UpdateUser) -> Result<Self, Invalid> {
        let mut emails = list("emails", "email", &command.emails, Email::parse)?;
        // Everybody attaches in one order, so that two calls with the same addresses do not wait for each other in a circle. Of
        // two spellings of one address the first one stays, or the first one that the App vouches for.
        emails.sort_by(|a, b| a.value.identity().cmp(b.value.identity()));
        emails.dedup_by(|later, first| {
            let is_same = later.value.identity() == first.value.identity();
            if is_same && later.verified && !first.verified {
                std::mem::swap(first, later);
            }
            is_same
        });
        let mut phones = list(
            "phone_numbers",
            "phone_number",
            &command.phone_numbers,
            PhoneNumber::parse,
        )?;
        phones.sort_by(|a, b| a.value.as_str().cmp(b.value.as_str()));
        phones.dedup_by(|later, first| {
            let is_same = later.value == first.value;
            first.verified |= is_same && later.verified;
            is_same
        });
        if command.replace_metadata
            && let Some(metadata) = &command.metadata
        {
            Metadata::new(metadata.clone())?;
        }
        Ok(Self {
            first_name: name("first_name", command.first_name)?,
            middle_name: name("middle_name", command.middle_name)?,
            last_name: name("last_name", command.last_name)?,
            emails,
            phones,
            metadata: command.metadata,
            replace_metadata: command.replace_metadata,
        })
    }

    /// Whether the App vouches for any address or number.
    fn vouches(&self) -> bool {
        let mut emails = self.emails.iter();
        let mut phones = self.phones.iter();
        emails.any(|email| email.verified) || phones.any(|phone| phone.verified)
    }

    /// The user as it will be, but for `updated_at`.
    fn apply(&self, before: &User) -> Result<User, Invalid> {
        let or = |new: &Option<String>, old: &String| new.as_ref().unwrap_or(old).clone();
        let metadata = match &self.metadata {
            None => before.metadata.clone(),
            Some(whole) if self.replace_metadata => Metadata::new(whole.clone())?,
            Some(change) => before.metadata.merged(change)?,
        };
        Ok(User {
            first_name: or(&self.first_name, &before.first_name),
            middle_name: or(&self.middle_name, &before.middle_name),
            last_name: or(&self.last_name, &before.last_name),
            metadata,
            ..before.clone()
        })
    }
}

fn name(param: &'static str, value: Option<String>) -> Result<Option<String>, Invalid> {
    let Some(value) = value else {
        return Ok(None);
    };
    if value.is_empty() {
        let message = format!("{param} must not be empty");
        return Err(Invalid::value(param, message));
    }
    text::name(param, &value).map(Some)
}

/// BatchedReads every entry; a refusal names its place in the list.
fn list<T>(
    list: &'static str,
    field: &'static str,
    entries: &[NewIdentifier],
    read: impl Fn(&str) -> Result<T, Invalid>,
) -> Result<Vec<Listed<T>>, Invalid> {
    if entries.len() > MAX_IDENTIFIERS {
        let message = format!("{list} must have at most {MAX_IDENTIFIERS} entries");
        return Err(Invalid::value(list, message));
    }
    let numbered = entries.iter().enumerate();
    numbered
        .map(|(index, entry)| {
            let value = read(&entry.text).map_err(|refused| Invalid {
                param: format!("{list}[{index}].{field}").into(),
                ..refused
            })?;
            Ok(Listed {
                index,
                value,
                verified: entry.verified,
            })
        })
        .collect()
}
