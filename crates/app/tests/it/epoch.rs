//! PR-83, PR-85 and PR-148: a database that is behind its checkpoints is not used. A recovery inserts the wallets that it lost, and repeats
//! revocations and removals.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use vestry_app::identity::users::CreateUser;
use vestry_app::{Caller, Fault, Principal, Refusal, Service};
use vestry_domain::api_key::{ApiKeyKind, KeyFields};
use vestry_domain::audit::checkpoint::{Checkpoint, SignedNote};
use vestry_domain::audit::control::ControlAction;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::wallet::{AddressForm, Wallet, WalletType};
use vestry_domain::{Environment, World};
use vestry_ports::store::Store;

use crate::changes::written;
use crate::harness::Harness;
use crate::wallets::text;

/// A deployment with `epoch.store`.
struct Watched {
    harness: Harness,
    directory: TempDir,
    service: Arc<Service>,
}

impl Watched {
    async fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let harness = Harness::with_epoch_store(directory.path()).await;
        let harness = harness.with_checkpoint_key().await;
        let service = Arc::clone(&harness.service);
        Self {
            harness,
            directory,
            service,
        }
    }

    /// A process that has just started.
    fn started(&self) -> Arc<Service> {
        self.harness.process_with_epoch_store(self.path())
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    async fn checkpoint(&self) {
        self.service.checkpoint_round("this process").await.unwrap();
        self.harness.pass(60);
    }

    /// The checkpoint with the highest number in the store.
    fn newest(&self) -> Checkpoint {
        let mut notes = self.files("checkpoint-");
        let note = fs::read_to_string(notes.pop().unwrap()).unwrap();
        Checkpoint::parse(&SignedNote::parse(&note).unwrap().text).unwrap()
    }

    /// Files of the store whose names begin like this, sorted.
    fn files(&self, beginning: &str) -> Vec<PathBuf> {
        let files = fs::read_dir(self.path()).unwrap();
        let files = files.map(|file| file.unwrap().path());
        let mut files: Vec<_> = files
            .filter(|path| {
                let name = path.file_name().unwrap().to_str().unwrap();
                name.starts_with(beginning)
            })
            .collect();
        files.sort();
        files
    }
}

async fn new_user(service: &Service, caller: &Caller, email: &str) -> Result<Wallet, Refusal> {
    let command = CreateUser {
        email: Some(email.to_owned()),
        ..CreateUser::default()
    };
    let created = service.create_user(caller, command).await?;
    Ok(created.user.wallets.into_iter().next().unwrap())
}

async fn new_wallet(
    service: &Service,
    caller: &Caller,
    beside: &Wallet,
    wallet_type: WalletType,
) -> Wallet {
    let made = service.create_wallet(caller, beside.user_id, wallet_type, AddressForm::Usual);
    made.await.unwrap()
}

fn is_unavailable(refused: &Refusal) -> bool {
    matches!(refused, Refusal::Fault(Fault::Unavailable(_)))
}

#[tokio::test]
async fn pr_148_a_recovery_inserts_lost_wallets_again() {
    let watched = Watched::new().await;
    let (harness, service) = (&watched.harness, &watched.service);
    // Creates the key that signs changes.
    service.look_at_epoch(true).await.unwrap();
    let test = harness.test().await;
    let before = new_user(service, &test, "ada@example.com").await.unwrap();
    // A user who was deleted does not come back.
    let gone = new_user(service, &test, "gone@example.com").await.unwrap();
    service.delete_user(&test, gone.user_id).await.unwrap();
    assert!(service.settle_changes().await);
    watched.checkpoint().await;
    let kept = harness.fake.kept();

    let mut lost = vec![new_user(service, &test, "bob@example.com").await.unwrap()];
    for wallet_type in WalletType::ALL {
        if wallet_type != WalletType::Ethereum {
            lost.push(new_wallet(service, &test, &before, wallet_type).await);
        }
    }
    let later = service.create_app(Principal::cli(), "Later").await.unwrap();
    let world = World::new(later.id, Environment::Live);
    let owner = service.caller(Principal::cli(), world).await.unwrap();
    lost.push(new_user(service, &owner, "eve@example.com").await.unwrap());
    watched.checkpoint().await;

    harness.fake.set_back(kept);
    let next = watched.started();
    let recovered = next.recover(Principal::cli(), None).await.unwrap();
    let from = recovered.journal;
    assert_eq!(from.refused, Vec::<String>::new());
    let mut expected: Vec<_> = lost.iter().map(|wallet| wallet.id).collect();
    expected.sort_unstable();
    assert_eq!(from.wallets.into_iter().collect::<Vec<_>>(), expected);
    let (bob, eve) = (lost[0].user_id, lost[lost.len() - 1].user_id);
    assert_eq!(from.users, [bob, eve].into());
    assert_eq!(from.apps, [later.id].into());

    let next = watched.started();
    for wallet in &lost {
        let caller = next.caller(Principal::cli(), wallet.world).await.unwrap();
        next.sign(&caller, text(wallet.id, "again")).await.unwrap();
        let mut read = harness.store.read().await.unwrap();
        let found = read.wallets().find(&wallet.world, wallet.id).await.unwrap();
        assert_eq!(found.unwrap().wallet, *wallet);
    }
    let keys = next.list_signing_keys(Principal::cli(), world).await;
    assert_eq!(keys.unwrap().len(), 1, "sessions of the App have a key");
    let mut read = harness.store.read().await.unwrap();
    let user = read.users().profile(&test.world, bob).await.unwrap();
    let user = user.unwrap();
    assert!(user.emails.is_empty() && user.phones.is_empty());
    drop(read);

    let again = next.recover(Principal::cli(), None).await.unwrap();
    assert_eq!(again.journal, Default::default(), "nothing is missing");
}

/// A wallet whose entry is not stored does not exist, and neither does its user.
#[tokio::test]
async fn pr_148_without_the_journal_no_wallet_is_created() {
    let watched = Watched::new().await;
    let (harness, service) = (&watched.harness, &watched.service);
    let test = harness.test().await;
    let ada = new_user(service, &test, "ada@example.com").await.unwrap();
    let aside = watched.path().with_extension("aside");
    fs::rename(watched.path(), &aside).unwrap();
    // The part that is open ends after a day.
    harness.pass(90_000);

    let refused = new_user(service, &test, "bob@example.com").await;
    assert!(is_unavailable(&refused.unwrap_err()));
    let solana = WalletType::Solana;
    let refused = service.create_wallet(&test, ada.user_id, solana, AddressForm::Usual);
    assert!(is_unavailable(&refused.await.unwrap_err()));
    let refused = service.create_app(Principal::cli(), "Later").await;
    assert!(is_unavailable(&refused.unwrap_err()));
    // Everything else goes on.
    service.sign(&test, text(ada.id, "hi")).await.unwrap();

    let mut read = harness.store.read().await.unwrap();
    let wallets = read.wallets().page(&test.world, None, None, 10).await;
    assert_eq!(wallets.unwrap().total, 1);
    assert_eq!(read.apps().list().await.unwrap().len(), 1);
    drop(read);
    fs::rename(&aside, watched.path()).unwrap();
    new_user(service, &test, "bob@example.com").await.unwrap();
    new_wallet(service, &test, &ada, solana).await;
}

/// Write access to the store is not enough to give a wallet to another user.
#[tokio::test]
async fn pr_148_an_altered_entry_is_refused() {
    let watched = Watched::new().await;
    let (harness, service) = (&watched.harness, &watched.service);
    let test = harness.test().await;
    let ada = new_user(service, &test, "ada@example.com").await.unwrap();
    let kept = harness.fake.kept();
    let bob = new_user(service, &test, "bob@example.com").await.unwrap();
    let carol = new_user(service, &test, "carol@example.com").await.unwrap();
    harness.fake.set_back(kept);
    let part = watched.files("journal-").pop().unwrap();
    let lines = fs::read_to_string(&part).unwrap();
    let altered = lines.replace(&bob.user_id.to_string(), &ada.user_id.to_string());
    assert_ne!(altered, lines);
    fs::write(&part, altered).unwrap();

    let recovered = watched.started().recover(Principal::cli(), None).await;
    let journal = recovered.unwrap().journal;
    assert_eq!(journal.wallets, [carol.id].into());
    assert_eq!(journal.users, [carol.user_id].into());
    let refused = format!("{}: its entry was altered", bob.id);
    assert_eq!(journal.refused, [refused]);
}

#[tokio::test]
async fn pr_85_a_recovery_repeats_what_was_taken_away() {
    let watched = Watched::new().await;
    let (harness, service, by) = (&watched.harness, &watched.service, Principal::cli());
    // Creates the key that signs changes.
    service.look_at_epoch(true).await.unwrap();
    let test = harness.test().await;
    let (world, app) = (test.world, harness.app.id);
    let ada = new_user(service, &test, "ada@example.com").await.unwrap();
    let bob = new_user(service, &test, "bob@example.com").await.unwrap();
    let eve = new_user(service, &test, "eve@example.com").await.unwrap();
    let key = service.create_api_key(by, world, ApiKeyKind::Secret, KeyFields::default());
    let key = key.await.unwrap().record.id;
    let export = |value: &str| [("wallet_export".to_owned(), value.to_owned())];
    service.set_app(by, app, &export("true")).await.unwrap();
    let url = "https://app.example.com/in";
    let url = service.add_redirect_url(by, world, RedirectKind::Login, url, false);
    let url = url.await.unwrap().id;
    let signing = service.list_signing_keys(by, world).await.unwrap()[0].id;
    // The backup has this change, so it is not repeated.
    let known = new_user(service, &test, "dan@example.com").await.unwrap();
    let disabled = service.disable_user(&test, known.user_id, "");
    disabled.await.unwrap();
    watched.checkpoint().await;
    let kept = harness.fake.kept();

    let fraud = service.disable_user(&test, ada.user_id, "fraud");
    fraud.await.unwrap();
    service.delete_user(&test, bob.user_id).await.unwrap();
    let mistaken = service.disable_user(&test, eve.user_id, "");
    mistaken.await.unwrap();
    service.enable_user(&test, eve.user_id).await.unwrap();
    service.disable_wallet(&test, eve.id).await.unwrap();
    let of = world.into();
    service.revoke_api_key(by, of, key).await.unwrap();
    service.set_app(by, app, &export("false")).await.unwrap();
    service.remove_redirect_url(by, of, url).await.unwrap();
    service.revoke_signing_key(by, of, signing).await.unwrap();
    assert!(service.settle_changes().await);
    watched.checkpoint().await;

    harness.fake.set_back(kept);
    let next = watched.started();
    let journal = next.recover(by, None).await.unwrap().journal;
    assert_eq!(journal.refused, Vec::<String>::new());
    // The setting belongs to both environments.
    assert_eq!(journal.changes, 9);
    let mut read = harness.store.read().await.unwrap();
    let mut disabled = Vec::new();
    for wallet in [&ada, &bob, &eve] {
        let profile = read.users().profile(&world, wallet.user_id).await.unwrap();
        disabled.push(profile.map(|profile| profile.user.disabled.is_some()));
    }
    assert_eq!(disabled, [Some(true), None, Some(false)]);
    let wallet = read.wallets().find(&world, eve.id).await.unwrap().unwrap();
    assert!(wallet.wallet.disabled.is_some());
    let keys = read.api_keys().list(app).await.unwrap();
    let revoked = keys.iter().find(|found| found.id == key).unwrap();
    assert!(revoked.revoked_at.is_some());
    let found = read.apps().find(app).await.unwrap().unwrap();
    assert!(!found.settings.wallet_export);
    assert!(read.redirect_urls().list(app).await.unwrap().is_empty());
    let keys = read.signing_keys().list(&world).await.unwrap();
    assert!(keys.iter().all(|found| found.id != signing) && !keys.is_empty());
}

/// Write access to the store is not enough to disable a user.
#[tokio::test]
async fn pr_85_an_altered_change_is_not_repeated() {
    let watched = Watched::new().await;
    let (harness, service, by) = (&watched.harness, &watched.service, Principal::cli());
    service.look_at_epoch(true).await.unwrap();
    let test = harness.test().await;
    let ada = new_user(service, &test, "ada@example.com").await.unwrap();
    let bob = new_user(service, &test, "bob@example.com").await.unwrap();
    let kept = harness.fake.kept();
    let disabled = service.disable_user(&test, ada.user_id, "");
    disabled.await.unwrap();
    assert!(service.settle_changes().await);
    harness.fake.set_back(kept);
    for part in watched.files("journal-") {
        let lines = fs::read_to_string(&part).unwrap();
        let lines = lines
            .lines()
            .map(|line| match line.contains("user.disabled") {
                true => line.replace(&ada.user_id.to_string(), &bob.user_id.to_string()) + "\n",
                false => format!("{line}\n"),
            });
        fs::write(&part, lines.collect::<String>()).unwrap();
    }
    let journal = watched.started().recover(by, None).await.unwrap().journal;
    let why = "1 entries were not written by this deployment; check epoch.store";
    assert_eq!(
        (journal.changes, journal.refused),
        (0, vec![why.to_owned()])
    );
}

/// A call waits for the journal two seconds at most, and its change is stored as soon as the journal can be written.
#[tokio::test]
async fn pr_85_a_change_is_made_without_the_journal_and_stored_later() {
    let watched = Watched::new().await;
    let (harness, service) = (&watched.harness, &watched.service);
    service.look_at_epoch(true).await.unwrap();
    let test = harness.test().await;
    let ada = new_user(service, &test, "ada@example.com").await.unwrap();
    let aside = watched.path().with_extension("aside");
    fs::rename(watched.path(), &aside).unwrap();
    // The part that is open ends after a day.
    harness.pass(90_000);
    let disabled = service.disable_user(&test, ada.user_id, "");
    disabled.await.unwrap();
    assert!(!service.settle_changes().await);
    fs::rename(&aside, watched.path()).unwrap();
    while !service.settle_changes().await {
        tokio::task::yield_now().await;
    }
    let stored = watched.files("journal-");
    let stored = stored.iter().map(|part| fs::read_to_string(part).unwrap());
    assert!(stored.collect::<String>().contains("user.disabled"));
}

#[tokio::test]
async fn pr_83_a_database_that_is_behind_is_not_used_until_it_is_recovered() {
    let watched = Watched::new().await;
    let (harness, service) = (&watched.harness, &watched.service);
    let test = harness.test().await;
    service.await_epoch();
    assert!(service.is_held_back(), "nothing was compared yet");
    let refused = new_user(service, &test, "ada@example.com").await;
    assert!(is_unavailable(&refused.unwrap_err()));
    service.look_at_epoch(true).await.unwrap();
    assert!(!service.is_held_back());

    new_user(service, &test, "ada@example.com").await.unwrap();
    watched.checkpoint().await;
    let kept = harness.fake.kept();
    for email in ["bob@example.com", "bo@example.com"] {
        new_user(service, &test, email).await.unwrap();
        watched.checkpoint().await;
    }
    service.look_at_epoch(false).await.unwrap();
    harness.fake.set_back(kept);

    // A running process, one that starts, and a command.
    assert_eq!(service.look_at_epoch(false).await, None);
    let next = watched.started();
    next.await_epoch();
    assert_eq!(next.look_at_epoch(true).await, None);
    for process in [service, &next] {
        assert!(process.is_held_back());
        let refused = new_user(process, &test, "carol@example.com").await;
        assert!(is_unavailable(&refused.unwrap_err()));
        process.sweep("this process").await;
    }
    let command = watched.started();
    command.compare_before_changes().await;
    let refused = command.create_app(Principal::cli(), "Later").await;
    assert!(is_unavailable(&refused.unwrap_err()));
    command.list_apps(Principal::cli()).await.unwrap();

    let recovered = watched.started().recover(Principal::cli(), None).await;
    assert_eq!(recovered.unwrap().epoch, Some(2));
    assert_eq!((watched.newest().epoch(), watched.newest().number), (2, 4));
    let next = watched.started();
    next.await_epoch();
    next.look_at_epoch(true).await.unwrap();
    assert!(!next.is_held_back());
    new_user(&next, &test, "dan@example.com").await.unwrap();
    // Later checkpoints keep the epoch, and no sink has another one of the same number.
    next.checkpoint_round("this process").await.unwrap();
    assert_eq!((watched.newest().epoch(), watched.newest().number), (2, 5));
    // A start compares with those of this epoch only.
    next.look_at_sinks().await;
    let log = written(harness, World::DEPLOYMENT).await;
    let action = ControlAction::AuditFindingReport;
    let reported = log.iter().filter(|entry| entry.event.action == action);
    assert_eq!(reported.count(), 0);
    // Numbers that the database lacks before an epoch are no finding.
    let report = next.verify_audit_log(&|_| {}).await.unwrap();
    assert_eq!(report.findings, []);
}

#[tokio::test]
async fn pr_83_a_start_waits_for_the_store_and_a_running_process_does_not() {
    let watched = Watched::new().await;
    let aside = watched.path().with_extension("aside");
    fs::rename(watched.path(), &aside).unwrap();
    let service = watched.started();
    service.await_epoch();
    let again = service.look_at_epoch(true).await.unwrap();
    assert!(service.is_held_back());
    fs::rename(&aside, watched.path()).unwrap();
    let every = service.look_at_epoch(false).await.unwrap();
    assert!(!service.is_held_back());
    assert!(again < every);
    fs::rename(watched.path(), &aside).unwrap();
    assert_eq!(service.look_at_epoch(false).await, Some(every));
    assert!(!service.is_held_back());
    fs::rename(&aside, watched.path()).unwrap();
}

#[tokio::test]
async fn pr_83_checkpoints_of_another_deployment_are_no_reason_to_recover() {
    let (watched, other) = (Watched::new().await, Watched::new().await);
    let test = other.harness.test().await;
    new_user(&other.service, &test, "ada@example.com")
        .await
        .unwrap();
    other.checkpoint().await;
    let service = watched.harness.process_with_epoch_store(other.path());
    service.await_epoch();
    assert_eq!(service.look_at_epoch(true).await, None);
    assert!(service.is_held_back());
}
