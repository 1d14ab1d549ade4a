//! `vestry users import`: users of another service, or of another installation, with their passwords.
//!
//! Lines come in batches, each in one transaction, or in as many as its events need; a transaction in which a line is refused is done
//! again line by line. A line whose user is there already is passed over, so an import that was cut off is run again from its start.

use std::collections::HashSet;

use vestry_domain::audit::control::{ControlAction, Detail, Subject};
use vestry_domain::event::{Fact, MOST_AT_ONCE, Via};
use vestry_domain::ids::UserId;
use vestry_domain::password::StoredPassword;
use vestry_domain::user::{User, UserDisabled, UserEmail, UserPhone};
use vestry_domain::wallet::{StoredWallet, WalletType};
use vestry_domain::{Timestamp, World};
use vestry_ports::custody::AddressOrder;
use vestry_ports::passwords::ForeignHashError;
use vestry_ports::store::{Attached, Created, Repositories, StoreError};

use super::portable::{CheckedUser, PortableUser};
use crate::admin::AdminError;
use crate::events::Source;
use crate::fault::retried;
use crate::key_holds::hold_wallet_key;
use crate::pace::paced;
use crate::{Fault, Service};

/// What became of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Imported {
    /// A user was made.
    New(UserId),
    /// The user was there already, and nothing of it was changed.
    Known(UserId),
    /// Nothing was made; why, in words that repeat no value.
    Refused(String),
}

/// An import into one world.
pub struct UserImport<'a> {
    service: &'a Service,
    world: World,
    is_rehearsal: bool,
    /// How many users were made without an event for each; `None` when each has its own.
    untold: Option<u64>,
    /// What earlier lines of a rehearsal would have taken, with its user: nothing of them is in the database.
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
}

/// What there is to store of a line, or why there is nothing.
type Line = Result<Draft, String>;

/// Whether what a batch wrote stays.
enum Batch {
    Whole(Vec<Imported>),
    /// A line was refused half-way, so nothing of the batch may stay.
    Spoiled,
}

impl Service {
    /// Begins an import. A rehearsal checks everything and keeps nothing.
    ///
    /// # Errors
    /// [`AdminError::NotFound`]: there is no such App.
    pub async fn import_users(
        &self,
        world: World,
        is_rehearsal: bool,
    ) -> Result<UserImport<'_>, AdminError> {
        self.show_app(world.app_id).await?;
        if !is_rehearsal {
            let (action, subject) = (ControlAction::UsersImport, Subject::world(&world));
            let event = self.done_by_cli(world, action, subject, &Detail::default());
            self.record_change(event).await?;
        }
        Ok(UserImport {
            service: self,
            world,
            is_rehearsal,
            untold: None,
            taken: HashSet::new(),
        })
    }
}

impl UserImport<'_> {
    /// Tells of no user by itself, but of their number when it is over: see [`UserImport::finish`].
    #[must_use]
    pub fn without_events(self) -> Self {
        Self {
            untold: Some(0),
            ..self
        }
    }

    /// Ends an import. After one without events it tells how many users it made, so it is to be called also when something went
    /// wrong on the way.
    ///
    /// # Errors
    /// See [`Fault`]; then the number is not told, and the users stay.
    pub async fn finish(self) -> Result<(), Fault> {
        let Some(count) = self.untold.filter(|count| *count > 0) else {
            return Ok(());
        };
        retried(|| self.tell_count(count)).await
    }

    async fn tell_count(&self, count: u64) -> Result<(), Fault> {
        let service = self.service;
        let mut tx = service.ports.store.begin().await?;
        let told = [Fact::users_imported(count)];
        service
            .tell(&mut *tx, Source::cli(self.world), told)
            .await?;
        Ok(tx.commit().await?)
    }

    /// Takes some lines; what became of each, in their order.
    ///
    /// # Errors
    /// See [`Fault`]; what earlier calls answered stays, and of this one some may.
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
            if let Some(untold) = &mut self.untold {
                let new = stored.iter().filter(|one| matches!(one, Imported::New(_)));
                *untold += u64::try_from(new.count()).unwrap_or_default();
            }
            outcomes.extend(stored);
        }
        Ok(outcomes)
    }

    /// Lines that share a transaction: as many as may be told of in one.
    fn batches<'a>(&self, drafts: &'a [Line]) -> Vec<Vec<&'a Line>> {
        let mut batches: Vec<Vec<_>> = Vec::new();
        let mut room = 0;
        for draft in drafts {
            let needed = match (draft, self.untold) {
                (Ok(draft), None) => draft.facts().len(),
                _ => 0,
            };
            match batches.last_mut() {
                Some(batch) if needed <= room => batch.push(draft),
                _ => {
                    room = MOST_AT_ONCE;
                    batches.push(vec![draft]);
                }
            }
            room = room.saturating_sub(needed);
        }
        batches
    }

    async fn store_batch(&self, batch: &[&Line]) -> Result<Vec<Imported>, Fault> {
        if let Batch::Whole(outcomes) = self.store(batch).await? {
            return Ok(outcomes);
        }
        let mut outcomes = Vec::with_capacity(batch.len());
        for draft in batch {
            outcomes.push(self.store_alone(draft).await?);
        }
        Ok(outcomes)
    }

    async fn store_alone(&self, draft: &Line) -> Result<Imported, Fault> {
        match self.store(&[draft]).await? {
            Batch::Whole(outcomes) => Ok(outcomes.into_iter().next().unwrap_or_else(taken)),
            Batch::Spoiled => Ok(taken()),
        }
    }

    /// Line by line, in transactions that are dropped.
    async fn rehearse(&mut self, drafts: &[Line]) -> Result<Vec<Imported>, Fault> {
        let mut outcomes = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let mut outcome = self.store_alone(draft).await?;
            if let (Ok(draft), Imported::New(id)) = (draft, &outcome) {
                let keys = draft.keys();
                let own = keys.first().is_some_and(|own| self.taken.contains(own));
                if own {
                    outcome = Imported::Known(*id);
                } else if keys.iter().any(|key| self.taken.contains(key)) {
                    outcome = taken();
                } else {
                    self.taken.extend(keys);
                }
            }
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    /// Everything that is slow: before any transaction.
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
        for (wallet_type, text) in &checked.wallets {
            match self.service.signing_address(*wallet_type, text) {
                Ok(address) => addresses.push((*wallet_type, address)),
                Err(invalid) => return Ok(Err(invalid.message.into_owned())),
            }
        }
        let mut draft = self.draft_of(checked, now);
        draft.wallets = self.adopted(draft.user.id, addresses, now).await?;
        if let Some(hash) = password {
            let sealed = self
                .service
                .seal_password(&self.world, draft.user.id, &hash, now);
            draft.password = Some(sealed.await?);
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
        // In the order of the line, which is the order in which they are listed.
        let mut email_id = service.ids_behind(now, None);
        let mut phone_id = service.ids_behind(now, None);
        let emails = line.emails.into_iter().map(|(email, verified)| UserEmail {
            id: email_id(),
            verified,
            of_founded: line.founded,
            ..service.new_email(id, email, now)
        });
        let phones = line.phones.into_iter().map(|(number, verified)| UserPhone {
            id: phone_id(),
            user_id: id,
            number,
            verified,
            created_at: now,
            updated_at: now,
            successor: None,
            of_founded: line.founded,
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
                founded: line.founded,
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
        }
    }

    async fn store(&self, drafts: &[&Line]) -> Result<Batch, Fault> {
        paced(retried(|| self.try_to_store(drafts))).await
    }

    async fn try_to_store(&self, drafts: &[&Line]) -> Result<Batch, Fault> {
        let mut tx = self.service.ports.store.begin().await?;
        let mut outcomes = Vec::with_capacity(drafts.len());
        let mut told = Vec::new();
        for draft in drafts {
            let outcome = match draft {
                Err(why) => Imported::Refused(why.clone()),
                Ok(draft) => match draft.store(&mut *tx).await? {
                    Some(outcome) => outcome,
                    None => return Ok(Batch::Spoiled),
                },
            };
            if let (Ok(draft), Imported::New(_), None) = (draft, &outcome, self.untold) {
                told.extend(draft.facts());
            }
            outcomes.push(outcome);
        }
        if !self.is_rehearsal {
            if told.len() > MOST_AT_ONCE {
                // One user, of whom there is more to tell than goes into a transaction.
                told = vec![Fact::users_imported(1)];
            }
            let source = Source::cli(self.world);
            self.service.tell(&mut *tx, source, told).await?;
            tx.commit().await?;
        }
        Ok(Batch::Whole(outcomes))
    }
}

impl Draft {
    /// Writes the user unless it is there; `None` when something of it belongs to another user, and the transaction has to be
    /// dropped.
    async fn store(&self, tx: &mut dyn Repositories) -> Result<Option<Imported>, StoreError> {
        if let Some(known) = self.known(tx).await? {
            return Ok(Some(Imported::Known(known)));
        }
        let (world, id) = (&self.user.world, self.user.id);
        tx.users().insert(&self.user).await?;
        for email in &self.emails {
            if tx.users().attach_email(world, email).await? == Attached::Taken {
                return Ok(None);
            }
        }
        for phone in &self.phones {
            if tx.users().attach_phone(world, phone).await? == Attached::Taken {
                return Ok(None);
            }
        }
        if let Some(wallet) = self.wallets.first() {
            // All were made for this line, under one version.
            hold_wallet_key(tx, world, wallet.mac.key_version).await?;
        }
        for wallet in &self.wallets {
            if tx.wallets().insert_keyless(wallet).await? == Created::Exists {
                return Ok(None);
            }
        }
        if let Some(key) = &self.external_key {
            let at = self.user.updated_at;
            if !tx.imported_users().note(world, key, id, at).await? {
                return Ok(None);
            }
        }
        if let Some(password) = &self.password {
            tx.passwords().put(password).await?;
        }
        Ok(Some(Imported::New(id)))
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
        let wallets = self.wallets.iter().map(|stored| &stored.wallet);
        facts.extend(wallets.map(|wallet| Fact::wallet_linked(id, wallet.id, wallet.wallet_type)));
        facts
    }

    /// The user that the line has become already: by its id, else by its key, else by its first identifier or wallet.
    async fn known(&self, tx: &mut dyn Repositories) -> Result<Option<UserId>, StoreError> {
        let world = &self.user.world;
        if self.has_own_id {
            let found = tx.users().profile(world, self.user.id).await?;
            return Ok(found.map(|profile| profile.user.id));
        }
        if let Some(key) = &self.external_key {
            return tx.imported_users().find(world, key).await;
        }
        if let Some(email) = self.emails.first() {
            let identity = email.email.identity();
            let found = tx.users().email_by_identity(world, identity).await?;
            return Ok(found.map(|(_, user)| user.id));
        }
        if let Some(phone) = self.phones.first() {
            let found = tx.users().phone_by_number(world, &phone.number).await?;
            return Ok(found.map(|(_, user)| user.id));
        }
        if let Some(stored) = self.wallets.first() {
            let (kind, address) = (stored.wallet.wallet_type, &stored.wallet.public_address);
            let found = tx.wallets().by_address(world, kind, address).await?;
            return Ok(found.map(|found| found.wallet.user_id));
        }
        Ok(None)
    }

    /// Everything about it that is unique, beginning with that by which it is known.
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
    Imported::Refused(
        "an address, a number or the external_key belongs to another user already".to_owned(),
    )
}

fn refusal(error: ForeignHashError) -> String {
    let why = match error {
        ForeignHashError::UnknownScheme => {
            "password_hash is of no scheme that is known here; docs/migrate-users.md lists them"
        }
        ForeignHashError::Malformed => {
            "password_hash cannot be read: its parameters, salt or hash are not what its scheme prescribes"
        }
        ForeignHashError::TooExpensive => {
            "password_hash has parameters above what is verified here; docs/migrate-users.md has the ceilings"
        }
    };
    why.to_owned()
}
