//! `vestry users import`: imports users of another service or installation, with their passwords.
//!
//! Lines come in batches, each in one transaction, or in as many as its events need. If a line is refused or changes another user, the
//! batch is rolled back and repeated line by line. Lines whose user exists are skipped, so an interrupted import can be rerun from its
//! start. `plan` defines what "exists" means, and what happens to conflicting claims.

mod plan;

use std::collections::HashSet;

use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, Detail, Subject};
use vestry_domain::event::{Fact, MAX_AT_ONCE, Via};
use vestry_domain::ids::UserId;
use vestry_domain::password::{PasswordHash, StoredPassword};
use vestry_domain::user::{User, UserDisabled, UserEmail, UserPhone, UserProfile};
use vestry_domain::wallet::{StoredWallet, WalletType};
use vestry_domain::{Timestamp, World};
use vestry_ports::custody::AddressOrder;
use vestry_ports::passwords::ForeignHashError;
use vestry_ports::store::{Attached, Created, Repositories, StoreError};

use self::plan::{FULL, Plan, TAKEN, Target, lock};
use super::account_resolution::removed;
use super::app_asserted::AppAsserted;
use super::new_identifier::{new_email, new_phone};
use super::transfer_format::{CheckedUser, PortableUser};
use super::update::changes;
use crate::identity::password_seal;
use crate::identity::sign_in_address::sign_in_address;
use crate::kernel::change::Change;
use crate::kernel::emit::count;
use crate::kernel::fault::retried;
use crate::kernel::key_pins::hold_wallet_key;
use crate::kernel::source::Source;
use crate::kernel::throttle::paced;
use crate::{Caller, Fault, Refusal, Service};

/// The outcome of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Imported {
    /// The user was imported: created, or an account that only claimed an address or number of the line was founded for it.
    New(UserId),
    /// The user already existed and was not changed.
    Known(UserId),
    /// The line was refused; the reason repeats no value.
    Refused(String),
}

/// An import into one world.
pub struct UserImport<'a> {
    service: &'a Service,
    caller: Caller,
    world: World,
    is_rehearsal: bool,
    /// The number of users created without individual events; `None` when each has its own.
    unreported: Option<u64>,
    /// The number of accounts that existed only as claims and were founded.
    founded: u64,
    /// Unique values of earlier lines in a rehearsal, with their users: none of them is in the database.
    taken: HashSet<String>,
}

/// A line with everything that goes into the database.
struct Draft {
    user: User,
    external_key: Option<String>,
    has_own_id: bool,
    emails: Vec<UserEmail>,
    phones: Vec<UserPhone>,
    wallets: Vec<StoredWallet>,
    password: Option<StoredPassword>,
    /// The hash that `password` holds sealed.
    hash: Option<PasswordHash>,
}

/// The writes of a line.
struct Written {
    /// The user's profile, for its entry in the control log.
    vouched: Option<AppAsserted>,
    facts: Vec<Fact>,
}

/// The draft of a line, or the reason why there is none.
type Line = Result<Draft, String>;

/// Whether the writes of a batch are kept.
enum Batch {
    Whole(Vec<Imported>),
    /// A line was refused half-way or changes another user, so the batch must be rolled back.
    Spoiled,
}

impl Service {
    /// Begins an import. A rehearsal checks everything and keeps nothing.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn import_users(
        &self,
        caller: &Caller,
        is_rehearsal: bool,
    ) -> Result<UserImport<'_>, Refusal> {
        caller.authorize(Action::ImportUsers)?;
        let world = caller.world;
        if !is_rehearsal {
            let (action, subject) = (ControlAction::UsersImport, Subject::world(&world));
            let event = self.done(&caller.into(), action, subject, &Detail::default());
            self.record_change(event).await?;
        }
        Ok(UserImport {
            service: self,
            caller: caller.clone(),
            world,
            is_rehearsal,
            unreported: None,
            founded: 0,
            taken: HashSet::new(),
        })
    }
}

impl UserImport<'_> {
    /// Emits no event per user, only their number at the end: see [`UserImport::finish`].
    #[must_use]
    pub fn without_events(self) -> Self {
        Self {
            unreported: Some(0),
            ..self
        }
    }

    /// The number of accounts that existed only as claims and now belong to imported users. They are included in the new ones.
    #[must_use]
    pub const fn founded(&self) -> u64 {
        self.founded
    }

    /// Ends an import.
    ///
    /// An import without events then reports how many users it created, so call this even after an error.
    ///
    /// # Errors
    /// See [`Fault`]; then the number is not reported, and the users stay.
    pub async fn finish(self) -> Result<(), Fault> {
        let Some(count) = self.unreported.filter(|count| *count > 0) else {
            return Ok(());
        };
        retried(|| self.emit_count(count)).await
    }

    async fn emit_count(&self, count: u64) -> Result<(), Fault> {
        let service = self.service;
        let mut tx = service.ports.store.begin().await?;
        let fact = Fact::users_imported(count);
        service.emit(&mut *tx, &self.caller, [fact]).await?;
        Ok(tx.commit().await?)
    }

    /// Imports some lines and returns their outcomes in order.
    ///
    /// # Errors
    /// See [`Fault`]; results of earlier calls remain, and some of this call may.
    pub async fn take(&mut self, lines: &[PortableUser]) -> Result<Vec<Imported>, Fault> {
        let mut drafts = Vec::with_capacity(lines.len());
        for line in lines {
            drafts.push(self.draft(line).await?);
        }
        if self.is_rehearsal {
            return self.rehearse(&drafts).await;
        }
        let mut outcomes = Vec::with_capacity(drafts.len());
        for batch in self.batches(&drafts) {
            let stored = self.store_batch(&batch).await?;
            if let Some(unreported) = &mut self.unreported {
                let new = stored.iter().filter(|one| matches!(one, Imported::New(_)));
                *unreported += u64::try_from(new.count()).unwrap_or_default();
            }
            outcomes.extend(stored);
        }
        Ok(outcomes)
    }

    /// Groups lines into transactions, limited by the number of events in one.
    fn batches<'a>(&self, drafts: &'a [Line]) -> Vec<Vec<&'a Line>> {
        let mut batches: Vec<Vec<_>> = Vec::new();
        let mut room = 0;
        for draft in drafts {
            let needed = match (draft, self.unreported) {
                (Ok(draft), None) => draft.facts().len(),
                _ => 0,
            };
            match batches.last_mut() {
                Some(batch) if needed <= room => batch.push(draft),
                _ => {
                    room = MAX_AT_ONCE;
                    batches.push(vec![draft]);
                }
            }
            room = room.saturating_sub(needed);
        }
        batches
    }

    async fn store_batch(&mut self, batch: &[&Line]) -> Result<Vec<Imported>, Fault> {
        if let Batch::Whole(outcomes) = self.store(batch).await? {
            return Ok(outcomes);
        }
        let mut outcomes = Vec::with_capacity(batch.len());
        for draft in batch {
            let stored = self.store_alone(draft).await?;
            self.founded += u64::from(stored.is_founded);
            outcomes.push(stored.outcome);
        }
        Ok(outcomes)
    }

    async fn store_alone(&self, draft: &Line) -> Result<Stored, Fault> {
        match draft {
            Err(why) => Ok(Stored::of(Imported::Refused(why.clone()))),
            Ok(draft) => paced(retried(|| self.try_to_store_alone(draft))).await,
        }
    }

    /// Processes the lines one by one, in transactions that are rolled back.
    async fn rehearse(&mut self, drafts: &[Line]) -> Result<Vec<Imported>, Fault> {
        let mut outcomes = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let stored = self.store_alone(draft).await?;
            let mut outcome = stored.outcome;
            if let (Ok(draft), Imported::New(id)) = (draft, &outcome) {
                let keys = draft.keys();
                let own = keys.first().is_some_and(|own| self.taken.contains(own));
                if own {
                    outcome = Imported::Known(*id);
                } else if keys.iter().any(|key| self.taken.contains(key)) {
                    outcome = taken();
                } else {
                    self.taken.extend(keys);
                    self.founded += u64::from(stored.is_founded);
                }
            }
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    /// Does the slow work, before any transaction.
    async fn draft(&self, line: &PortableUser) -> Result<Line, Fault> {
        let now = self.service.now(&self.world);
        let checked = match line.check(now) {
            Ok(checked) => checked,
            Err(invalid) => return Ok(Err(invalid.message.into_owned())),
        };
        let password = match &checked.password {
            None => None,
            Some(hash) => match self.service.ports.passwords.admit(hash) {
                Ok(hash) => Some(hash),
                Err(refused) => return Ok(Err(refusal(refused))),
            },
        };
        let mut addresses = Vec::with_capacity(checked.wallets.len());
        let signatures = &*self.service.ports.signatures;
        for (wallet_type, text) in &checked.wallets {
            match sign_in_address(signatures, *wallet_type, text) {
                Ok(address) => addresses.push((*wallet_type, address)),
                Err(invalid) => return Ok(Err(invalid.message.into_owned())),
            }
        }
        let mut draft = self.draft_of(checked, now);
        draft.wallets = self.adopted(draft.user.id, addresses, now).await?;
        if let Some(hash) = password {
            let (sealer, user) = (&*self.service.ports.sealer, draft.user.id);
            let sealed = password_seal::seal(sealer, &self.world, user, &hash, now);
            draft.password = Some(sealed.await?);
            draft.hash = Some(hash);
        }
        Ok(Ok(draft))
    }

    /// The addresses as wallets that sign the user in.
    async fn adopted(
        &self,
        user_id: UserId,
        addresses: Vec<(WalletType, String)>,
        now: Timestamp,
    ) -> Result<Vec<StoredWallet>, Fault> {
        let mut wallet_id = self.service.ids_behind(now, None);
        let mut wallets = Vec::with_capacity(addresses.len());
        for (wallet_type, public_address) in addresses {
            let order = AddressOrder {
                wallet_id: wallet_id(),
                world: self.world,
                user_id,
                wallet_type,
                public_address,
                created_at: now,
            };
            wallets.push(self.service.ports.custodian.adopt_address(order).await?);
        }
        Ok(wallets)
    }

    fn draft_of(&self, line: CheckedUser, now: Timestamp) -> Draft {
        let service = self.service;
        let has_own_id = line.id.is_some();
        let id = line.id.unwrap_or_else(|| service.new_id(line.created_at));
        let [first_name, middle_name, last_name] = line.names;
        // In the order of the line, which is the order of listing.
        let mut email_id = service.ids_behind(now, None);
        let mut phone_id = service.ids_behind(now, None);
        let emails = line.emails.into_iter().map(|(email, verified)| UserEmail {
            verified,
            of_owned: line.founded,
            ..new_email(email_id(), id, email, now)
        });
        let phones = line.phones.into_iter().map(|(number, verified)| UserPhone {
            verified,
            of_owned: line.founded,
            ..new_phone(phone_id(), id, number, now)
        });
        Draft {
            emails: emails.collect(),
            phones: phones.collect(),
            user: User {
                id,
                world: self.world,
                first_name,
                middle_name,
                last_name,
                status: line.status,
                is_owned: line.founded,
                disabled: line.disabled.map(|reason| UserDisabled { at: now, reason }),
                last_sign_in_at: None,
                metadata: line.metadata,
                created_at: line.created_at,
                updated_at: now,
            },
            external_key: line.external_key,
            has_own_id,
            wallets: Vec::new(),
            password: None,
            hash: None,
        }
    }

    /// The same line for an existing user: sealed values are bound to their user.
    async fn draft_for(&self, draft: &Draft, id: UserId) -> Result<Draft, Fault> {
        let now = draft.user.updated_at;
        let wallets = draft.wallets.iter().map(|stored| &stored.wallet);
        let addresses = wallets.map(|wallet| (wallet.wallet_type, wallet.public_address.clone()));
        let password = match &draft.hash {
            None => None,
            Some(hash) => {
                let sealer = &*self.service.ports.sealer;
                Some(password_seal::seal(sealer, &self.world, id, hash, now).await?)
            }
        };
        let emails = draft.emails.iter().cloned();
        let phones = draft.phones.iter().cloned();
        Ok(Draft {
            user: User {
                id,
                ..draft.user.clone()
            },
            external_key: draft.external_key.clone(),
            has_own_id: draft.has_own_id,
            emails: emails.map(|row| UserEmail { user_id: id, ..row }).collect(),
            phones: phones.map(|row| UserPhone { user_id: id, ..row }).collect(),
            wallets: self.adopted(id, addresses.collect(), now).await?,
            password,
            hash: draft.hash.clone(),
        })
    }

    async fn store(&self, drafts: &[&Line]) -> Result<Batch, Fault> {
        paced(retried(|| self.try_to_store(drafts))).await
    }

    async fn try_to_store(&self, drafts: &[&Line]) -> Result<Batch, Fault> {
        let mut drafted = drafts.iter().filter_map(|draft| draft.as_ref().ok());
        let vouches = drafted.any(Draft::vouches);
        let mut tx = self.service.begin_change_if(vouches, self.world).await?;
        let mut outcomes = Vec::with_capacity(drafts.len());
        let mut facts = Vec::new();
        for draft in drafts {
            let draft = match draft {
                Ok(draft) => draft,
                Err(why) => {
                    outcomes.push(Imported::Refused(why.clone()));
                    continue;
                }
            };
            outcomes.push(match draft.plan(&mut *tx).await? {
                Plan::Known(id) => Imported::Known(id),
                Plan::Refused(why) => Imported::Refused(why.to_owned()),
                Plan::Store(target) if target.is_plain() => {
                    let Some(written) = draft.insert(&mut *tx).await? else {
                        return Ok(Batch::Spoiled);
                    };
                    facts.extend(written.facts);
                    self.note(&mut tx, written.vouched);
                    Imported::New(draft.user.id)
                }
                Plan::Store(_) => return Ok(Batch::Spoiled),
            });
        }
        self.commit(tx, facts).await?;
        Ok(Batch::Whole(outcomes))
    }

    /// Stores a single line, which may change existing accounts.
    async fn try_to_store_alone(&self, draft: &Draft) -> Result<Stored, Fault> {
        let service = self.service;
        let mut read = service.ports.store.read().await?;
        let plan = draft.plan(&mut *read).await?;
        drop(read);
        let target = match &plan {
            Plan::Known(id) => return Ok(Stored::of(Imported::Known(*id))),
            Plan::Refused(why) => return Ok(Stored::of(Imported::Refused((*why).to_owned()))),
            Plan::Store(target) => target,
        };
        let for_home = match target.home {
            Some(id) => Some(self.draft_for(draft, id).await?),
            None => None,
        };
        let draft = for_home.as_ref().unwrap_or(draft);
        let world = &self.world;
        let mut tx = service.begin_change_if(draft.vouches(), *world).await?;
        if !lock(&mut *tx, world, target).await? || draft.plan(&mut *tx).await? != plan {
            return Err(Fault::LostRace);
        }
        self.clear(&mut *tx, target, draft.user.updated_at).await?;
        let written = match target.home {
            Some(_) => self.found(&mut *tx, draft).await?,
            None => draft.insert(&mut *tx).await?.ok_or(TAKEN),
        };
        let written = match written {
            Ok(written) => written,
            Err(why) => return Ok(Stored::of(Imported::Refused(why.to_owned()))),
        };
        self.note(&mut tx, written.vouched);
        self.commit(tx, written.facts).await?;
        Ok(Stored {
            outcome: Imported::New(draft.user.id),
            is_founded: target.home.is_some(),
        })
    }

    /// Removes claims from the accounts that hold them.
    ///
    /// An account with nothing proved is cleared as by a proof from outside: its sessions and credentials were set by someone who claimed
    /// another person's identifier (CL-3).
    async fn clear(
        &self,
        tx: &mut dyn Repositories,
        target: &Target,
        now: Timestamp,
    ) -> Result<(), Fault> {
        let world = &self.world;
        let source = Source::from(&self.caller);
        for account in target.accounts() {
            let profile = tx.users().profile(world, account).await?;
            if !profile.ok_or(Fault::LostRace)?.is_owned() {
                self.service.take_over(tx, &source, account, now).await?;
            }
        }
        for (method, owner) in &target.moved {
            let removed_one = tx.identifiers().remove(world, *method).await?;
            if !removed_one {
                return Err(Fault::LostRace);
            }
            let fact = removed(*owner, *method);
            self.service.emit(tx, source.clone(), [fact]).await?;
        }
        Ok(())
    }

    /// Founds the cleared account behind a line's claims for the line's user.
    ///
    /// Values in the line replace those of the account; anything it omits stays. Returns the reason if the line cannot be stored.
    async fn found(
        &self,
        tx: &mut dyn Repositories,
        draft: &Draft,
    ) -> Result<Result<Written, &'static str>, Fault> {
        let (world, id, now) = (&self.world, draft.user.id, draft.user.updated_at);
        let before = tx.users().profile(world, id).await?;
        let before = before.ok_or(Fault::LostRace)?;
        let user = draft.over(&before.user);
        if user != before.user {
            tx.users().update(&user).await?;
        }
        for email in &draft.emails {
            let mut rows = before.emails.iter();
            match rows.find(|row| row.email.identity() == email.email.identity()) {
                Some(own) if email.verified => {
                    let spelling = &email.email;
                    tx.identifiers()
                        .verify_email(world, own.id, spelling, now)
                        .await?;
                }
                Some(_) => {}
                None => match tx.identifiers().attach_email(world, email).await? {
                    Attached::Yes => {}
                    Attached::Taken => return Err(Fault::LostRace),
                    Attached::Full => return Ok(Err(FULL)),
                },
            }
        }
        for phone in &draft.phones {
            match before.phones.iter().find(|row| row.number == phone.number) {
                Some(own) if phone.verified => {
                    tx.identifiers().verify_phone(world, own.id, now).await?
                }
                Some(_) => {}
                None => match tx.identifiers().attach_phone(world, phone).await? {
                    Attached::Yes => {}
                    Attached::Taken => return Err(Fault::LostRace),
                    Attached::Full => return Ok(Err(FULL)),
                },
            }
        }
        if !draft.insert_rest(tx).await? {
            return Ok(Err(TAKEN));
        }
        tx.users().mark_owned(world, id, now).await?;
        let mut facts = Vec::new();
        if let Some(disabled) = &draft.user.disabled
            && tx.users().disable(world, id, disabled).await?
        {
            facts.push(Fact::user_disabled(id));
        }
        let after = tx.users().profile(world, id).await?;
        let after = after.ok_or(Fault::LostRace)?;
        facts.extend(changes(&before, &after));
        facts.extend(draft.wallet_facts());
        Ok(Ok(Written {
            vouched: AppAsserted::since(&before, &after),
            facts,
        }))
    }

    fn note(&self, tx: &mut Change<'_>, vouched: Option<AppAsserted>) {
        if let Some(vouched) = vouched {
            tx.note(self.service.vouched(&Source::from(&self.caller), vouched));
        }
    }

    /// Commits the transaction, unless this is a dry run.
    async fn commit(&self, mut tx: Change<'_>, mut facts: Vec<Fact>) -> Result<(), Fault> {
        if self.is_rehearsal {
            return Ok(());
        }
        if self.unreported.is_some() {
            count(&mut *tx, &self.world, &facts);
            facts.clear();
        }
        if facts.len() > MAX_AT_ONCE {
            count(&mut *tx, &self.world, &facts);
            // One user with more events than fit into a transaction.
            facts = vec![Fact::users_imported(1)];
        }
        let source = Source::from(&self.caller);
        self.service.emit(&mut *tx, source, facts).await?;
        tx.commit_with_any().await
    }
}

/// A line that was stored on its own.
struct Stored {
    outcome: Imported,
    is_founded: bool,
}

impl Stored {
    const fn of(outcome: Imported) -> Self {
        Self {
            outcome,
            is_founded: false,
        }
    }
}

impl Draft {
    /// Whether an operator vouches for anything in the line: an address, a number, or a sign-in wallet.
    fn vouches(&self) -> bool {
        self.emails.iter().any(|email| email.verified)
            || self.phones.iter().any(|phone| phone.verified)
            || !self.wallets.is_empty()
    }

    /// The account with the line's values applied.
    fn over(&self, before: &User) -> User {
        let or = |new: &String, old: &String| if new.is_empty() { old } else { new }.clone();
        let metadata = match self.user.metadata.as_object().is_empty() {
            true => &before.metadata,
            false => &self.user.metadata,
        };
        User {
            first_name: or(&self.user.first_name, &before.first_name),
            middle_name: or(&self.user.middle_name, &before.middle_name),
            last_name: or(&self.user.last_name, &before.last_name),
            metadata: metadata.clone(),
            updated_at: self.user.updated_at,
            ..before.clone()
        }
    }

    /// Writes a new user; `None` when something in it belongs to another user, and the transaction must be dropped.
    async fn insert(&self, tx: &mut dyn Repositories) -> Result<Option<Written>, StoreError> {
        let world = &self.user.world;
        tx.users().insert(&self.user).await?;
        for email in &self.emails {
            if tx.identifiers().attach_email(world, email).await? != Attached::Yes {
                return Ok(None);
            }
        }
        for phone in &self.phones {
            if tx.identifiers().attach_phone(world, phone).await? != Attached::Yes {
                return Ok(None);
            }
        }
        if !self.insert_rest(tx).await? {
            return Ok(None);
        }
        let profile = UserProfile {
            user: self.user.clone(),
            emails: self.emails.clone(),
            phones: self.phones.clone(),
        };
        Ok(Some(Written {
            vouched: AppAsserted::of(&profile),
            facts: self.facts(),
        }))
    }

    /// Writes the wallets, key and password of a user; `false` when something in it belongs to another user.
    async fn insert_rest(&self, tx: &mut dyn Repositories) -> Result<bool, StoreError> {
        let (world, id) = (&self.user.world, self.user.id);
        if let Some(wallet) = self.wallets.first() {
            // All were created for this line, under one key version.
            hold_wallet_key(tx, world, wallet.mac.key_version).await?;
        }
        for wallet in &self.wallets {
            if tx.wallets().insert_keyless(wallet).await? == Created::Exists {
                return Ok(false);
            }
        }
        if let Some(key) = &self.external_key {
            let at = self.user.updated_at;
            let is_noted = tx.imported_users().note(world, key, id, at).await?;
            if !is_noted && tx.imported_users().find(world, key).await? != Some(id) {
                return Ok(false);
            }
        }
        if let Some(password) = &self.password {
            tx.passwords().put(password).await?;
        }
        Ok(true)
    }

    fn facts(&self) -> Vec<Fact> {
        let id = self.user.id;
        let mut facts = vec![Fact::user_created(id, Via::Import)];
        for email in &self.emails {
            facts.push(Fact::email_added(id, email.id));
            facts.extend(email.verified.then(|| Fact::email_verified(id, email.id)));
        }
        for phone in &self.phones {
            let verified = || Fact::phone_number_verified(id, phone.id);
            facts.push(Fact::phone_number_added(id, phone.id));
            facts.extend(phone.verified.then(verified));
        }
        facts.extend(self.wallet_facts());
        facts
    }

    fn wallet_facts(&self) -> impl Iterator<Item = Fact> + '_ {
        let id = self.user.id;
        let wallets = self.wallets.iter().map(|stored| &stored.wallet);
        wallets.map(move |wallet| Fact::wallet_linked(id, wallet.id, wallet.wallet_type))
    }

    /// All its unique values, beginning with its own key.
    fn keys(&self) -> Vec<String> {
        let id = self.has_own_id.then(|| self.user.id.to_string());
        let key = self.external_key.iter().map(|key| format!("key:{key}"));
        let emails = self.emails.iter();
        let emails = emails.map(|email| format!("email:{}", email.email.identity().as_str()));
        let phones = self.phones.iter();
        let phones = phones.map(|phone| format!("phone:{}", phone.number.as_str()));
        let wallets = self.wallets.iter().map(|stored| &stored.wallet);
        let wallets =
            wallets.map(|wallet| format!("{}:{}", wallet.wallet_type, wallet.public_address));
        id.into_iter()
            .chain(key)
            .chain(emails)
            .chain(phones)
            .chain(wallets)
            .collect()
    }
}

fn taken() -> Imported {
    Imported::Refused(TAKEN.to_owned())
}

fn refusal(error: ForeignHashError) -> String {
    let why = match error {
        ForeignHashError::UnknownScheme => {
            "password_hash uses an unsupported scheme; docs/migrate-users.md lists them"
        }
        ForeignHashError::Malformed => {
            "password_hash cannot be read: its parameters, salt or hash are not what its scheme prescribes"
        }
        ForeignHashError::TooExpensive => {
            "password_hash has parameters above the supported limits; docs/migrate-users.md lists them"
        }
    };
    why.to_owned()
}
