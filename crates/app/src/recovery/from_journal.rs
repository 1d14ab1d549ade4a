//! What a recovery takes from the journal: wallets that the database lacks (PR-148), and changes (PR-85).

use std::collections::{BTreeMap, BTreeSet};

use vestry_domain::Timestamp;
use vestry_domain::app::{App, AppSettings, NamedEvents};
use vestry_domain::envelope::{AppKey, KeyPurpose};
use vestry_domain::ids::{AppId, UserId, WalletId};
use vestry_domain::journal::{JournalEntry, JournaledApp, JournaledWallet};
use vestry_domain::test_clock::TestClock;
use vestry_domain::timestamp::Seconds;
use vestry_domain::user::{User, UserStatus};
use vestry_ports::anchors::SinkError;
use vestry_ports::custody::CustodyError;
use vestry_ports::journal::Journal;
use vestry_ports::store::Created;

use super::changes::LastChanges;
use crate::kernel::change::worlds_of;
use crate::kernel::fault::retried;
use crate::kernel::key_pins::{hold_root, hold_wallet_key};
use crate::{Fault, Principal, Refusal, Service};

/// How long before the newest checkpoint of the database the journal is read: clocks differ, and commits take time.
const BEFORE: Seconds = Seconds(86_400);

/// What a recovery inserted again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FromJournal {
    /// Apps, with default settings and without API keys.
    pub apps: BTreeSet<AppId>,
    /// Users, without identifiers.
    pub users: BTreeSet<UserId>,
    /// Wallets.
    pub wallets: BTreeSet<WalletId>,
    /// Number of changes that were repeated: revocations, removals and the like.
    pub changes: u64,
    /// What could not be inserted or repeated, each with the reason.
    pub refused: Vec<String>,
}

/// Why an entry is refused without the root key that wraps its App key.
const NO_ROOT_KEY: &str = "the root key of its App key is missing";

/// The outcome of an entry.
enum Outcome {
    /// It was there already.
    Present,
    /// It is there now; and its user, if that was missing.
    Inserted(Option<UserId>),
    /// The reason why it cannot be inserted.
    Refused(&'static str),
}

impl Service {
    /// Inserts the Apps and wallets of the journal that the database lacks, and repeats the changes. Repeating it is safe.
    ///
    /// # Errors
    /// [`Refusal`]; a part of them may be inserted then.
    pub(super) async fn recover_from_journal(
        &self,
        by: &Principal,
    ) -> Result<FromJournal, Refusal> {
        let mut done = FromJournal::default();
        let Some(store) = &self.ports.epoch_store else {
            return Ok(done);
        };
        let journal = &*store.journal;
        let from = match self.newest_checkpoint().await? {
            Some(newest) => newest.at.min(self.machine_time()) - BEFORE,
            None => Timestamp::from_unix(0),
        };
        let parts = journal.parts(from).await.map_err(unreadable)?;
        // What the database knows is in its logs from now on.
        self.sequence_all().await?;
        let (mut apps, mut changes) = (BTreeSet::new(), LastChanges::default());
        // Processes write their own parts, so an App or a deletion may come after the wallets.
        for part in &parts {
            for entry in entries(journal, part).await? {
                match entry {
                    JournalEntry::Wallet(_) => {}
                    JournalEntry::Change(signed) => changes.take(self, &signed, from).await?,
                    JournalEntry::App(app) => {
                        apps.insert(app.id);
                        match retried(|| self.insert_app_again(&app)).await? {
                            Outcome::Present => {}
                            Outcome::Inserted(_) => drop(done.apps.insert(app.id)),
                            Outcome::Refused(why) => {
                                apps.remove(&app.id);
                                done.refused.push(format!("{}: {why}", app.id));
                            }
                        }
                    }
                }
            }
        }
        for world in apps.into_iter().flat_map(worlds_of) {
            // Also if an earlier recovery was interrupted here.
            if self.list_signing_keys(by, world).await?.is_empty() {
                self.rotate_signing_key(by, world).await?;
            }
        }
        let deleted = changes.deleted_users();
        let mut refused = BTreeMap::new();
        for part in &parts {
            for entry in entries(journal, part).await? {
                let JournalEntry::Wallet(lost) = entry else {
                    continue;
                };
                let wallet = &lost.wallet.wallet;
                if deleted.contains(&(wallet.world, wallet.user_id)) {
                    continue;
                }
                match self.insert_wallet_again(&lost).await? {
                    // An imported wallet has two entries, of which one fits.
                    Outcome::Present => drop(refused.remove(&wallet.id)),
                    Outcome::Inserted(user) => {
                        done.wallets.insert(wallet.id);
                        done.users.extend(user);
                        refused.remove(&wallet.id);
                    }
                    Outcome::Refused(why) => drop(refused.insert(wallet.id, why)),
                }
            }
        }
        let refused = refused.iter().map(|(id, why)| format!("{id}: {why}"));
        done.refused.extend(refused);
        if changes.foreign > 0 {
            let foreign = changes.foreign;
            let why =
                format!("{foreign} entries were not written by this deployment; check epoch.store");
            done.refused.push(why);
        }
        let (repeated, refused) = self.repeat_changes(by, changes).await;
        done.changes = repeated;
        done.refused.extend(refused);
        Ok(done)
    }

    async fn insert_app_again(&self, lost: &JournaledApp) -> Result<Outcome, Fault> {
        let mut read = self.ports.store.read().await?;
        if read.apps().find(lost.id).await?.is_some() {
            return Ok(Outcome::Present);
        }
        drop(read);
        for key in &lost.keys {
            if !self.opens(key).await? {
                return Ok(Outcome::Refused(NO_ROOT_KEY));
            }
        }
        let app = App {
            id: lost.id,
            name: lost.name.clone(),
            settings: AppSettings::default(),
            test_clock: TestClock::default(),
            named_events: NamedEvents::default(),
            disabled_at: None,
            created_at: lost.created_at,
            updated_at: lost.created_at,
        };
        let mut tx = self.ports.store.begin().await?;
        tx.apps().insert(&app).await?;
        for key in &lost.keys {
            hold_root(&mut *tx, key).await?;
        }
        for key in &lost.keys {
            tx.app_keys().insert(key).await?;
        }
        tx.commit().await?;
        Ok(Outcome::Inserted(None))
    }

    async fn insert_wallet_again(&self, lost: &JournaledWallet) -> Result<Outcome, Fault> {
        let wallet = &lost.wallet.wallet;
        let mut read = self.ports.store.read().await?;
        if read
            .wallets()
            .find(&wallet.world, wallet.id)
            .await?
            .is_some()
        {
            return Ok(Outcome::Present);
        }
        if read.apps().find(wallet.world.app_id).await?.is_none() {
            return Ok(Outcome::Refused("its App is missing"));
        }
        drop(read);
        if !retried(|| self.hold_app_key(&lost.app_key)).await? {
            return Ok(Outcome::Refused(NO_ROOT_KEY));
        }
        let custodian = &self.ports.custodian;
        let opened = custodian.verify_wallet(lost.wallet.clone(), lost.key.clone());
        match opened.await {
            Ok(()) => {}
            Err(CustodyError::Tampered { .. }) => {
                return Ok(Outcome::Refused("its entry was altered"));
            }
            Err(CustodyError::Sealed(_)) => return Ok(Outcome::Refused(NO_ROOT_KEY)),
            Err(error) => return Err(error.into()),
        }
        retried(|| self.store_wallet_again(lost)).await
    }

    /// Ensures that the App key of a wallet is there. Returns whether it can be used.
    async fn hold_app_key(&self, key: &AppKey) -> Result<bool, Fault> {
        let mut read = self.ports.store.read().await?;
        let known = read
            .app_keys()
            .find(&key.world, KeyPurpose::Wallets, key.version);
        if known.await?.is_some() {
            return Ok(true);
        }
        drop(read);
        let is_usable = key.purpose == KeyPurpose::Wallets && self.opens(key).await?;
        if is_usable {
            let mut tx = self.ports.store.begin().await?;
            hold_root(&mut *tx, key).await?;
            tx.app_keys().add(key).await?;
            tx.commit().await?;
        }
        Ok(is_usable)
    }

    /// Returns whether a root key of this machine opens the App key.
    async fn opens(&self, key: &AppKey) -> Result<bool, Fault> {
        match self.ports.custodian.opens_app_key(key).await {
            Err(CustodyError::Sealed(_)) => Ok(false),
            opened => Ok(opened?),
        }
    }

    async fn store_wallet_again(&self, lost: &JournaledWallet) -> Result<Outcome, Fault> {
        let wallet = &lost.wallet.wallet;
        let (world, user_id) = (&wallet.world, wallet.user_id);
        let mut tx = self.ports.store.begin().await?;
        let is_missing = !tx.users().lock(world, user_id).await?;
        if is_missing {
            let user = User::new(user_id, *world, UserStatus::Active, wallet.created_at);
            tx.users().insert(&user).await?;
        }
        hold_wallet_key(&mut *tx, world, lost.key.key_version).await?;
        match tx.wallets().insert(&lost.wallet, &lost.key).await? {
            Created::Yes => {
                tx.commit().await?;
                Ok(Outcome::Inserted(is_missing.then_some(user_id)))
            }
            Created::Exists => Ok(Outcome::Refused(
                "its user has another default wallet of this type, or the address exists",
            )),
        }
    }
}

/// The entries of a part. Lines of later versions are skipped.
async fn entries(journal: &dyn Journal, part: &str) -> Result<Vec<JournalEntry>, Fault> {
    let lines = journal.lines(part).await.map_err(unreadable)?;
    let entries = lines.iter().filter_map(|line| JournalEntry::parse(line));
    Ok(entries.collect())
}

fn unreadable(error: SinkError) -> Fault {
    Fault::Unavailable(Box::new(error))
}
