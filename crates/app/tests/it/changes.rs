//! The control chains: every operator change has an entry in the same transaction, whatever fails.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use vestry_app::audit::{About, FindingKind, ListChanges};
use vestry_app::identity::users::{CreateUser, NewIdentifier, UpdateUser};
use vestry_app::platform::webhooks::{EndpointChange, NewEndpoint, Replayed, Resume};
use vestry_app::{Caller, Principal, Refusal};
use vestry_contract::race::race;
use vestry_domain::Environment;
use vestry_domain::Secret;
use vestry_domain::World;
use vestry_domain::api_key::{ApiKeyKind, KeyFields, Scope};
use vestry_domain::audit::control::{
    ControlAction, ControlEntry, ControlFilter, ControlHead, Outcome, SubjectKind,
};
use vestry_domain::envelope::Sealed;
use vestry_domain::event::Actor;
use vestry_domain::ids::{Id, JobId};
use vestry_domain::message::{Channel, OutboxJob, Priority};
use vestry_domain::provider::{ConnectionSettings, ProviderName, TokenEndpointAuth};
use vestry_domain::redirect::RedirectKind;
use vestry_domain::test_clock::ClockChange;
use vestry_domain::timestamp::Seconds;
use vestry_ports::store::Store;

use crate::audit::findings;
use crate::harness::{Harness, operator};

/// Entries of an environment, oldest first.
pub(crate) async fn written(harness: &Harness, world: World) -> Vec<ControlEntry> {
    let mut read = harness.fake.read().await.unwrap();
    let all = ControlFilter::default();
    let mut page = read
        .control_log()
        .page(&world, &all, None, 1000)
        .await
        .unwrap();
    page.reverse();
    page
}

/// Reads the entries written since the last read.
struct Watch<'a> {
    harness: &'a Harness,
    world: World,
    seen: usize,
    all: BTreeSet<ControlAction>,
}

impl<'a> Watch<'a> {
    async fn new(harness: &'a Harness, environment: Environment) -> Self {
        let world = harness.world(environment);
        let before = written(harness, world).await;
        Self {
            harness,
            world,
            seen: before.len(),
            all: before.iter().map(|entry| entry.event.action).collect(),
        }
    }

    /// Asserts that exactly these actions were recorded, in this order, and returns the last entry.
    async fn sees(&mut self, expected: &[ControlAction]) -> ControlEntry {
        let entries = written(self.harness, self.world).await;
        let new = &entries[self.seen..];
        let actions: Vec<_> = new.iter().map(|entry| entry.event.action).collect();
        assert_eq!(actions, expected);
        self.seen = entries.len();
        self.all.extend(actions);
        self.harness.pass(1);
        new[new.len() - 1].clone()
    }
}

pub(crate) fn detail(entry: &ControlEntry) -> Value {
    serde_json::from_str(&entry.event.detail).unwrap()
}

/// Every operator use case and its entries in the chain of the test environment. Each change leaves one entry that names it; a call that
/// changes nothing leaves none.
#[tokio::test]
async fn aud_1_every_change_of_an_operator_has_its_entry() {
    use ControlAction::*;
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (service, app, world) = (
        &harness.service,
        harness.app.id,
        harness.world(Environment::Test),
    );
    let mut watch = Watch::new(&harness, Environment::Test).await;
    assert_eq!(
        watch.all.iter().copied().collect::<Vec<_>>(),
        [AppCreate, ApiKeyCreate, SigningKeyRotate]
    );

    // The App.
    let set = |name: &str, value: &str| [(name.to_owned(), value.to_owned())];
    service
        .set_app(Principal::cli(), app, &set("freshness_minutes", "7"))
        .await
        .unwrap();
    let entry = watch.sees(&[AppUpdate]).await;
    assert_eq!(
        detail(&entry),
        json!({"freshness_minutes": {"from": harness.app.settings.freshness_minutes, "to": 7}})
    );
    assert_eq!(entry.event.actor, Actor::Cli);
    assert_eq!(entry.event.subject.id, app.to_string());
    service
        .set_app(Principal::cli(), app, &set("freshness_minutes", "7"))
        .await
        .unwrap();
    watch.sees_nothing().await;
    service
        .set_app(Principal::cli(), app, &set("name", "Other"))
        .await
        .unwrap();
    watch.sees(&[AppUpdate]).await;
    for disabled in [true, false] {
        for _ in 0..2 {
            service
                .switch_app(Principal::cli(), app, disabled)
                .await
                .unwrap();
        }
        // The second changed nothing.
        let entry = watch.sees(&[AppUpdate]).await;
        assert_eq!(
            detail(&entry),
            json!({"disabled": {"from": !disabled, "to": disabled}})
        );
    }

    // Keys.
    let kind = ApiKeyKind::Secret;
    let scopes = vec![Scope::UsersRead];
    let key = service
        .create_api_key(Principal::cli(), world, kind, KeyFields::scoped(scopes))
        .await
        .unwrap();
    let entry = watch.sees(&[ApiKeyCreate]).await;
    assert_eq!(
        detail(&entry),
        json!({"kind": "secret", "scopes": ["users:read"]})
    );
    assert_eq!(entry.event.subject, key.record.id.into());
    let narrowed = || KeyFields {
        name: Some("reports".to_owned()),
        require_session: Some(true),
        ..KeyFields::default()
    };
    for _ in 0..2 {
        service
            .update_api_key(Principal::cli(), app.into(), key.record.id, &[], narrowed())
            .await
            .unwrap();
    }
    // The second changed nothing.
    let entry = watch.sees(&[ApiKeyUpdate]).await;
    assert_eq!(
        detail(&entry),
        json!({
            "kind": "secret", "scopes": ["users:read"], "restrictions": {"require_session": true},
            "changed": ["name", "require_session"]
        })
    );
    let rotated = service
        .rotate_api_key(Principal::cli(), app.into(), key.record.id)
        .await
        .unwrap();
    let entry = watch.sees(&[ApiKeyRotate]).await;
    assert_eq!(detail(&entry)["replaces"], json!(key.record.id.to_string()));
    service
        .revoke_api_key(Principal::cli(), app.into(), rotated.record.id)
        .await
        .unwrap();
    watch.sees(&[ApiKeyRevoke]).await;
    let signing = service
        .rotate_signing_key(Principal::cli(), world)
        .await
        .unwrap();
    watch.sees(&[SigningKeyRotate]).await;
    service
        .revoke_signing_key(Principal::cli(), app.into(), signing.id)
        .await
        .unwrap();
    watch.sees(&[SigningKeyRevoke]).await;
    let active = service
        .list_signing_keys(Principal::cli(), world)
        .await
        .unwrap()[0]
        .id;
    service
        .revoke_signing_key(Principal::cli(), app.into(), active)
        .await
        .unwrap();
    watch.sees(&[SigningKeyRotate, SigningKeyRevoke]).await;

    // Redirect URLs.
    let login = RedirectKind::Login;
    let url = "https://app.example.com/a";
    let added = service
        .add_redirect_url(Principal::cli(), world, login, url, false)
        .await
        .unwrap();
    watch.sees(&[RedirectUrlAdd]).await;
    service
        .add_redirect_url(Principal::cli(), world, login, url, false)
        .await
        .unwrap();
    watch.sees_nothing().await;
    service
        .add_redirect_url(Principal::cli(), world, login, url, true)
        .await
        .unwrap();
    watch.sees(&[RedirectUrlUpdate]).await;
    service
        .remove_redirect_url(Principal::cli(), app.into(), added.id)
        .await
        .unwrap();
    watch.sees(&[RedirectUrlRemove]).await;

    // Providers.
    let google = ProviderName::parse("google").unwrap();
    let secret = Secret::new("s3cr3t-of-google".to_owned());
    for client in ["client-1", "client-2"] {
        let settings = ConnectionSettings::default();
        let set = service.set_provider(
            Principal::cli(),
            world,
            google.clone(),
            client,
            &secret,
            settings,
        );
        set.await.unwrap();
        let entry = watch.sees(&[ProviderSet]).await;
        assert_eq!(detail(&entry)["client_id"]["to"], json!(client));
        assert!(!entry.event.detail.contains(secret.expose()));
    }
    let settings = |method| ConnectionSettings {
        token_endpoint_auth_method: method,
        ..ConnectionSettings::default()
    };
    let post = Some(TokenEndpointAuth::ClientSecretPost);
    for (method, from, to) in [
        (post, json!(null), json!("client_secret_post")),
        (None, json!("client_secret_post"), json!(null)),
    ] {
        let set = service.set_provider(
            Principal::cli(),
            world,
            google.clone(),
            "client-2",
            &secret,
            settings(method),
        );
        set.await.unwrap();
        let entry = watch.sees(&[ProviderSet]).await;
        let change = json!({"from": from, "to": to});
        assert_eq!(
            detail(&entry),
            json!({"secret": "set", "token_endpoint_auth_method": change})
        );
    }
    service
        .remove_provider(Principal::cli(), world, &google)
        .await
        .unwrap();
    watch.sees(&[ProviderRemove]).await;

    // Webhook endpoints.
    let new = NewEndpoint {
        url: "https://hooks.example.com/secret-path".to_owned(),
        name: None,
        types: vec!["*".to_owned()],
        enabled: true,
    };
    let (listed, _) = service
        .add_webhook(Principal::cli(), world, new)
        .await
        .unwrap();
    let endpoint = listed.endpoint.id;
    let entry = watch.sees(&[WebhookEndpointCreate]).await;
    assert_eq!(detail(&entry)["host"]["to"], json!("hooks.example.com"));
    assert!(!entry.event.detail.contains("secret-path"));
    let change = EndpointChange {
        url: Some("https://hooks.example.com/another-path".to_owned()),
        ..EndpointChange::default()
    };
    service
        .change_webhook(Principal::cli(), app.into(), endpoint, change.clone())
        .await
        .unwrap();
    let entry = watch.sees(&[WebhookEndpointUpdate]).await;
    assert_eq!(detail(&entry), json!({"url": "changed"}));
    service
        .change_webhook(Principal::cli(), app.into(), endpoint, change)
        .await
        .unwrap();
    watch.sees_nothing().await;
    service
        .rotate_webhook_secret(Principal::cli(), app.into(), endpoint, 5)
        .await
        .unwrap();
    watch.sees(&[WebhookEndpointRotateSecret]).await;
    service
        .disable_webhook(Principal::cli(), app.into(), endpoint)
        .await
        .unwrap();
    watch.sees(&[WebhookEndpointDisable]).await;
    service
        .disable_webhook(Principal::cli(), app.into(), endpoint)
        .await
        .unwrap();
    watch.sees_nothing().await;
    service
        .enable_webhook(Principal::cli(), app.into(), endpoint, Resume::All)
        .await
        .unwrap();
    watch.sees(&[WebhookEndpointEnable]).await;
    let user = harness.walletless(&test, "ada@example.com").await;
    service.sequence_all().await.unwrap();
    watch.sees_nothing().await;
    let events = service
        .list_events(&test, &Default::default())
        .await
        .unwrap();
    let event = Replayed::Event(events.events[0].event.id);
    service
        .replay_webhook(Principal::cli(), app.into(), endpoint, event)
        .await
        .unwrap();
    watch.sees(&[WebhookEndpointReplay]).await;
    service
        .try_webhook(Principal::cli(), app.into(), endpoint, None)
        .await
        .unwrap();
    let entry = watch.sees(&[WebhookEndpointTest]).await;
    assert_eq!(detail(&entry), json!({"type": "webhook.test"}));
    assert_eq!(entry.event.subject, endpoint.into());
    service
        .remove_webhook(Principal::cli(), app.into(), endpoint)
        .await
        .unwrap();
    watch.sees(&[WebhookEndpointDelete]).await;

    // The clock. Its App's own tests may set it often.
    let change = ClockChange {
        frozen: Some(false),
        ..ClockChange::default()
    };
    service.set_test_clock(&test, change).await.unwrap();
    service.reset_test_clock(&test).await.unwrap();
    watch.sees_nothing().await;
    let by = operator(service, world).await;
    service.set_test_clock(&by, change).await.unwrap();
    let entry = watch.sees(&[TestClockSet]).await;
    let now = entry.event.at.unix();
    assert_eq!(
        detail(&entry),
        json!({"now": now, "frozen": false, "set": true})
    );
    service.reset_test_clock(&by).await.unwrap();
    watch.sees(&[TestClockSet]).await;
    service.clear_captured(&test).await.unwrap();
    watch.sees_nothing().await;
    service.clear_captured(&by).await.unwrap();
    let entry = watch.sees(&[TestMessagesClear]).await;
    assert_eq!(detail(&entry), json!({"count": 0}));

    // Users.
    service
        .unlock_user(&operator(service, world).await, user)
        .await
        .unwrap();
    let entry = watch.sees(&[UserUnlock]).await;
    assert_eq!(entry.event.subject, user.into());
    service.unlock_user(&test, user).await.unwrap();
    let entry = watch.sees(&[UserUnlock]).await;
    assert_eq!(entry.event.actor, Actor::ApiKey(test.key().unwrap().id));
    service
        .delete_every_session(&operator(service, world).await)
        .await
        .unwrap();
    watch.sees(&[SessionsEndAll]).await;
    service
        .import_users(&operator(service, world).await, true)
        .await
        .unwrap();
    watch.sees_nothing().await;
    service
        .import_users(&operator(service, world).await, false)
        .await
        .unwrap();
    watch.sees(&[UsersImport]).await;
    let vouched = CreateUser {
        email: Some("vouched@example.com".to_owned()),
        email_verified: true,
        ..CreateUser::default()
    };
    let vouched = service.create_user(&test, vouched).await.unwrap().user;
    let entry = watch.sees(&[UserVouch]).await;
    let email = vouched.profile.emails[0].id.to_string();
    assert_eq!(detail(&entry), json!({"emails": [email]}));
    assert_eq!(entry.event.actor, Actor::ApiKey(test.key().unwrap().id));
    let attach = |verified| UpdateUser {
        phone_numbers: vec![NewIdentifier {
            text: "+14155552671".to_owned(),
            verified,
        }],
        ..UpdateUser::default()
    };
    let id = vouched.profile.user.id;
    service.update_user(&test, id, attach(false)).await.unwrap();
    watch.sees_nothing().await;
    let updated = service.update_user(&test, id, attach(true)).await.unwrap();
    let entry = watch.sees(&[UserVouch]).await;
    let phone = updated.profile.phones[0].id.to_string();
    assert_eq!(detail(&entry), json!({"phone_numbers": [phone]}));
    service.update_user(&test, id, attach(true)).await.unwrap();
    watch.sees_nothing().await;
    let page = service
        .export_users(&operator(service, world).await, None, 1, true)
        .await
        .unwrap();
    let entry = watch.sees(&[UsersExport]).await;
    assert_eq!(detail(&entry), json!({"password_hashes": true}));
    service
        .export_users(&operator(service, world).await, page.next, 1, true)
        .await
        .unwrap();
    watch.sees_nothing().await;

    // A message that cannot be handled.
    let job = OutboxJob {
        id: JobId::new(harness.now(), [7; 16]),
        world,
        channel: Channel::Email,
        priority: Priority::SignIn,
        payload: Sealed {
            key_version: 1,
            bytes: vec![7; 64],
        },
        not_before: harness.now(),
        deliver_before: harness.now() + Seconds(600),
        attempts: 0,
        failures: 2,
        cause: None,
        created_at: harness.now(),
    };
    let mut tx = harness.fake.begin().await.unwrap();
    tx.outbox().push(&job).await.unwrap();
    tx.commit().await.unwrap();
    let cli = operator(service, world).await;
    harness.deliver_once().await;
    service.retry_dead_message(&cli, job.id).await.unwrap();
    let entry = watch.sees(&[OutboxRetry]).await;
    let about = json!({"job_id": job.id.to_string(), "error": "tampered"});
    assert_eq!(detail(&entry), about);
    service.retry_dead_message(&cli, job.id).await.unwrap_err();
    for _ in 0..3 {
        harness.deliver_once().await;
        harness.pass(30);
    }
    service.drop_dead_message(&cli, job.id).await.unwrap();
    assert_eq!(detail(&watch.sees(&[OutboxDrop]).await), about);
    service.drop_dead_message(&cli, job.id).await.unwrap_err();
    watch.sees_nothing().await;

    // Keys of secrets.
    service
        .vault_rotate_root(Principal::cli(), &|_, _| {})
        .await
        .unwrap();
    let rewrapped = watch.sees(&[AppKeyRewrap; 2]).await;
    assert_eq!(
        detail(&rewrapped),
        json!({"root_version": {"from": 1, "to": 2}})
    );
    service
        .vault_rotate_apps(Principal::cli(), &|_, _| {})
        .await
        .unwrap();
    watch.sees(&[AppKeyRotate; 2]).await;
    harness.clock.advance(Seconds(7_200));
    let retired =
        service.vault_retire_apps(Principal::cli(), std::time::Duration::ZERO, &|_, _| {});
    retired.await.unwrap();
    // The wallet key. The code sent above is still under the secrets key.
    let entry = watch.sees(&[AppKeyRetire]).await;
    assert_eq!(entry.event.subject.id, "wallets/1");

    let unseen: Vec<_> = ControlAction::ALL
        .iter()
        .filter(|action| !watch.all.contains(action))
        .collect();
    // Covered by other tests.
    assert_eq!(
        unseen,
        [
            &ManagementKeyCreate,
            &ManagementKeyRevoke,
            &OperatorInvite,
            &OperatorWithdraw,
            &OperatorJoin,
            &OperatorUpdate,
            &OperatorDisable,
            &OperatorEnable,
            &OperatorReset,
            &OperatorRemove,
            &OperatorSignIn,
            &OperatorStepUp,
            &OperatorSignOut,
            &OperatorFactor,
            &OperatorUnlock,
            &UserUpdate,
            &UserDisable,
            &UserEnable,
            &UserDelete,
            &UserView,
            &TestMessageSend,
            &RootKeyRetire,
            &DatabaseBackup,
            &DatabaseRecover,
            &RequestDeny,
            &AuditFindingReport,
            &AuditFindingAcknowledge,
            &AuditSinkFail,
            &AuditSinkConflict,
            &AuditPrune,
            &ChainRestart
        ]
    );
    assert_eq!(findings(&harness).await, []);
}

impl Watch<'_> {
    async fn sees_nothing(&self) {
        let entries = written(self.harness, self.world).await;
        let new: Vec<_> = entries[self.seen..]
            .iter()
            .map(|it| it.event.action)
            .collect();
        assert_eq!(new, []);
    }
}

/// Files of `platform` with transactions that are no change by an operator, or for which no entry can be written.
const UNAUDITED: [&str; 3] = ["activity.rs", "retention.rs", "vault.rs"];

/// `platform` has no other transaction that could be committed without an entry. The type of `begin_change` enforces that; this test checks
/// that it is not bypassed.
#[test]
fn aud_1_no_operator_call_bypasses_the_log() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/platform");
    let mut files = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.is_dir() || UNAUDITED.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        let source = fs::read_to_string(&path).unwrap();
        assert!(
            !source.contains(".store.begin()"),
            "{} begins a transaction outside `begin_change`; use `begin_change`",
            path.display()
        );
        files += 1;
    }
    assert!(files > 5, "{files}");
}

/// A change and its entry are both stored or both missing, at whatever step the database fails.
#[tokio::test]
async fn aud_1_a_failure_at_any_step_leaves_both_or_neither() {
    for operations in 0.. {
        let harness = Harness::new().await;
        let world = harness.world(Environment::Live);
        let before = written(&harness, world).await.len();
        let keys = harness
            .service
            .list_api_keys(Principal::cli(), harness.app.id.into())
            .await
            .unwrap()
            .len();
        harness.fake.fail_after(operations);
        let scopes = Vec::new();
        let made = harness
            .service
            .create_api_key(
                Principal::cli(),
                world,
                ApiKeyKind::Secret,
                KeyFields::scoped(scopes),
            )
            .await;
        let is_over = harness.fake.has_yet_to_fail();
        harness.fake.fail_after(None);
        let new = written(&harness, world).await.len() - before;
        let made_keys = harness
            .service
            .list_api_keys(Principal::cli(), harness.app.id.into())
            .await
            .unwrap()
            .len()
            - keys;
        assert_eq!(new, made_keys, "after {operations} operations");
        assert_eq!(findings(&harness).await, []);
        if is_over {
            assert_eq!((made.is_ok(), new), (true, 1));
            return;
        }
    }
}

/// Two processes write to one chain concurrently.
#[tokio::test]
async fn aud_2_parallel_changes_form_one_chain() {
    let harness = Harness::new().await;
    let world = harness.world(Environment::Live);
    let before = written(&harness, world).await.len();
    let processes = [harness.service.clone(), harness.other_process()];
    let urls = (0..24).map(|number| (number, processes[number % 2].clone()));
    let made = race(urls.map(|(number, service)| async move {
        let url = format!("https://app.example.com/{number}");
        service
            .add_redirect_url(Principal::cli(), world, RedirectKind::Login, &url, false)
            .await
    }))
    .await;
    assert!(made.iter().all(Result::is_ok), "{made:?}");
    let entries = written(&harness, world).await;
    assert_eq!(entries.len(), before + 24);
    let sequences: Vec<_> = entries.iter().map(|entry| entry.sequence).collect();
    let expected: Vec<_> = (1..).take(entries.len()).collect();
    assert_eq!(sequences, expected, "ordered by id");
    assert_eq!(findings(&harness).await, []);
}

/// A database rollback leaves two sound chains and an entry that says what is lost.
#[tokio::test]
async fn aud_4_a_rolled_back_chain_is_abandoned() {
    let harness = Harness::new().await;
    let world = harness.world(Environment::Live);
    let add = async |name: &str| {
        let url = format!("https://app.example.com/{name}");
        let added = harness.service.add_redirect_url(
            Principal::cli(),
            world,
            RedirectKind::Login,
            &url,
            false,
        );
        added.await.unwrap();
        harness.pass(1);
    };
    add("kept").await;
    let kept = harness.fake.kept();
    let survived = written(&harness, world).await;
    add("lost").await;
    let lost = written(&harness, world).await.pop().unwrap();
    harness.fake.set_back(kept);
    add("after").await;
    add("later").await;
    let entries = written(&harness, world).await;
    let new = &entries[survived.len()..];
    let actions: Vec<_> = new.iter().map(|entry| entry.event.action).collect();
    let add = ControlAction::RedirectUrlAdd;
    assert_eq!(actions, [ControlAction::ChainRestart, add, add]);
    assert_ne!(new[0].chain, lost.chain);
    let found = survived[survived.len() - 1].sequence;
    assert_eq!(
        detail(&new[0]),
        json!({
            "chain": lost.chain.to_string(),
            "ended_at": lost.sequence,
            "found_at": found,
            "hash": hex::encode(lost.hash),
        })
    );
    assert_eq!(new[0].event.subject.kind, SubjectKind::Chain);
    assert_eq!(findings(&harness).await, []);
    // Another process continues from here and writes no second entry.
    let url = "https://app.example.com/other";
    let other = harness.other_process();
    let added = other
        .add_redirect_url(Principal::cli(), world, RedirectKind::Login, url, false)
        .await;
    added.unwrap();
    let entries = written(&harness, world).await;
    assert_eq!(entries[entries.len() - 1].chain, new[0].chain);
}

/// The page lists entries to authorized callers and reports altered ones.
#[tokio::test]
async fn entries_are_listed_to_authorized_callers() {
    let harness = Harness::new().await;
    let reader = harness.scoped(vec![Scope::AuditRead]).await;
    let list = |caller: &Caller, filter: ControlFilter| {
        let query = ListChanges {
            filter,
            limit: Some(100),
            starting_after: None,
        };
        let (service, caller) = (harness.service.clone(), caller.clone());
        async move { service.list_changes(&caller, query).await }
    };
    // A key without scopes has only the implied scopes, and this one is not implied.
    let refused = list(&*harness.test().await, ControlFilter::default()).await;
    assert!(matches!(
        refused,
        Err(Refusal::NotAllowed(Some(Scope::AuditRead)))
    ));

    let page = list(&reader, ControlFilter::default()).await.unwrap();
    let mut expected = written(&harness, reader.world).await;
    expected.reverse();
    assert_eq!(page.entries, expected);
    let of = |filter: ControlFilter| {
        let expected = expected.clone();
        let found = list(&reader, filter.clone());
        async move {
            let found = found.await.unwrap().entries;
            let all = expected.into_iter();
            let fits = |entry: &ControlEntry| {
                let event = &entry.event;
                filter.actions.is_empty() || filter.actions.contains(&event.action)
            };
            assert_eq!(found, all.filter(fits).collect::<Vec<_>>());
        }
    };
    of(ControlFilter {
        actions: vec![ControlAction::ApiKeyCreate],
        ..ControlFilter::default()
    })
    .await;
    let refused = ControlFilter {
        outcome: Some(Outcome::Refused),
        ..ControlFilter::default()
    };
    assert_eq!(list(&reader, refused).await.unwrap().entries, []);
}

/// No process continues from an end that the service did not write. A valid end would otherwise hide what was removed.
#[tokio::test]
async fn aud_2_a_chain_is_not_continued_from_an_altered_end() {
    let cut_off = |head: &mut ControlHead, entries: &[ControlEntry]| {
        let last = entries.iter().find(|entry| entry.sequence == 2).unwrap();
        (head.sequence, head.hash) = (2, last.hash);
    };
    let made_up = |head: &mut ControlHead, _: &[ControlEntry]| {
        (head.number, head.sequence, head.hash) = (99, 0, [0; 32]);
    };
    let with_another_key = |head: &mut ControlHead, _: &[ControlEntry]| head.mac.key_version = 9;
    type Edit<'a> = &'a dyn Fn(&mut ControlHead, &[ControlEntry]);
    let edits: [(&str, i64, Edit<'_>); 3] = [
        ("cut off", 2, &cut_off),
        ("made up", 0, &made_up),
        ("with another key", 9, &with_another_key),
    ];
    for (what, kept, edit) in edits {
        let harness = Harness::new().await;
        let world = harness.world(Environment::Live);
        let entries = written(&harness, world).await;
        harness.fake.edit_control_entries(|all| {
            all.retain(|entry| entry.event.world != world || entry.sequence <= kept);
        });
        let mut left = None;
        harness.fake.edit_control_heads(|heads| {
            let head = heads.iter_mut().find(|head| head.world == world).unwrap();
            edit(head, &entries);
            left = Some(head.clone());
        });
        let left = left.unwrap();
        harness.pass(1);
        // A process that has seen none of it, and one that continues afterwards.
        for url in ["https://app.example.com/a", "https://app.example.com/b"] {
            let other = harness.other_process();
            let added =
                other.add_redirect_url(Principal::cli(), world, RedirectKind::Login, url, false);
            added.await.unwrap();
            harness.pass(1);
        }
        let new = written(&harness, world).await;
        let new = &new[new.len() - 3..];
        let actions: Vec<_> = new.iter().map(|entry| entry.event.action).collect();
        let add = ControlAction::RedirectUrlAdd;
        assert_eq!(actions, [ControlAction::ChainRestart, add, add], "{what}");
        let altered =
            json!({"chain": left.chain.to_string(), "found_at": left.sequence, "is_altered": true});
        assert_eq!(detail(&new[0]), altered, "{what}");
        assert_ne!(new[0].chain, left.chain);
        let found = findings(&harness).await;
        assert_eq!(found.len(), 1, "{what}: {found:?}");
        assert_eq!(
            (&found[0].about, found[0].kind),
            (
                &About::Chain(left.world, left.chain),
                FindingKind::ForgedHead
            )
        );
    }
}

/// The clock of the previous process may be ahead of the next one's.
#[tokio::test]
async fn ids_rise_within_a_chain_whatever_the_clocks_say() {
    let harness = Harness::new().await;
    let world = harness.world(Environment::Live);
    for seconds in [3_600, -7_200, 1] {
        harness.pass(seconds);
        let url = format!("https://app.example.com/{seconds}");
        let added = harness.service.add_redirect_url(
            Principal::cli(),
            world,
            RedirectKind::Login,
            &url,
            false,
        );
        added.await.unwrap();
    }
    let entries = written(&harness, world).await;
    let sequences: Vec<_> = entries.iter().map(|entry| entry.sequence).collect();
    let expected: Vec<_> = (1..).take(entries.len()).collect();
    assert_eq!(sequences, expected);
}

/// Every alteration is found, and altered entries are not listed.
#[tokio::test]
async fn aud_2_an_altered_chain_is_found() {
    let harness = Harness::new().await;
    let world = harness.world(Environment::Live);
    for name in ["a", "b", "c"] {
        let url = format!("https://app.example.com/{name}");
        let added = harness.service.add_redirect_url(
            Principal::cli(),
            world,
            RedirectKind::Login,
            &url,
            false,
        );
        added.await.unwrap();
    }
    assert_eq!(findings(&harness).await, []);
    let whole = harness.fake.kept();
    type Edit = fn(&mut Vec<ControlEntry>);
    let edits: [(&str, Edit); 5] = [
        ("a word", |chain| chain[1].event.detail = "{}".to_owned()),
        ("one removed", |chain| drop(chain.remove(1))),
        ("the last one removed", |chain| drop(chain.pop())),
        ("two exchanged", |chain| {
            let (first, second) = (chain[1].sequence, chain[2].sequence);
            chain[1].sequence = second;
            chain[2].sequence = first;
        }),
        ("a recomputed hash", |chain| {
            let entry = &mut chain[1];
            entry.event.outcome = Outcome::Refused;
            let event = &entry.event;
            entry.hash = ControlEntry::digest(
                entry.id,
                entry.chain,
                entry.sequence,
                event,
                &entry.previous,
            );
        }),
    ];
    for (what, edit) in edits {
        harness.fake.edit_control_entries(|entries| {
            let (mut chain, others): (Vec<_>, Vec<_>) = std::mem::take(entries)
                .into_iter()
                .partition(|entry| entry.event.world == world);
            chain.sort_by_key(|entry| entry.sequence);
            edit(&mut chain);
            entries.extend(chain.into_iter().chain(others));
        });
        let found = findings(&harness).await;
        assert_eq!(found.len(), 1, "{what}: {found:?}");
        assert!(
            matches!(
                found[0].kind,
                FindingKind::Broken { .. } | FindingKind::Ends { .. }
            ),
            "{what}: {found:?}"
        );
        harness.fake.set_back(whole.clone());
    }
}
