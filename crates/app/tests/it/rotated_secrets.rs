//! M-8: rotation of the App keys for small secrets. These tests do not wait for other processes: each one defines which there are, and what
//! they know.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use vestry_app::audit::ListAudit;
use vestry_app::identity::codes::SendCode;
use vestry_app::identity::sessions::SessionNamed;
use vestry_app::platform::rotation::{AppRotation, FailedSecret, KeptKey, Why};
use vestry_app::platform::webhooks::NewEndpoint;
use vestry_app::{Caller, Principal, Service};
use vestry_contract::race::race;
use vestry_domain::Secret;
use vestry_domain::World;
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::provider::ConnectionSettings;
use vestry_domain::webhook::SigningSecret;
use vestry_ports::store::{KeyUsage, PersistentKind, PersistentSecret, Store};

use crate::audit::findings;
use crate::harness::Harness;
use crate::passwords::{change, verify, with_password};
use crate::totps::{code, is_invalid, recovery, shown_at};
use crate::wallets::text;

const ADA: &str = "ada@example.com";
const BOB: &str = "bob@example.com";
const FIRST: &str = "the first of her passwords";
const SECOND: &str = "the second of her passwords";
/// A version with a newer successor can be retired after this time.
const AN_HOUR: i64 = 3_600;

async fn rotate(service: &Service) -> AppRotation {
    service
        .vault_rotate_apps(Principal::cli(), &|_, _| {})
        .await
        .unwrap()
}

async fn retire(service: &Service) -> AppRotation {
    service
        .vault_retire_apps(Principal::cli(), Duration::ZERO, &|_, _| {})
        .await
        .unwrap()
}

async fn lasting(
    harness: &Harness,
    world: World,
    kind: PersistentKind,
    below: u32,
) -> Vec<PersistentSecret> {
    let mut view = harness.fake.read().await.unwrap();
    let secrets = view.persistent_secrets();
    let found = secrets.under_older(&world, kind, below, None, 1_000);
    found.await.unwrap()
}

/// The existing versions of a key of the test environment.
async fn versions(harness: &Harness, purpose: KeyPurpose) -> Vec<u32> {
    let world = harness.test().await.world;
    let keys = harness
        .fake
        .read()
        .await
        .unwrap()
        .app_keys()
        .all()
        .await
        .unwrap();
    let mut versions: Vec<_> = keys
        .iter()
        .filter(|key| (key.world, key.purpose) == (world, purpose))
        .map(|key| key.version)
        .collect();
    versions.sort_unstable();
    versions
}

/// Lets all codes and messages left by a sign-in expire.
async fn forget_what_passes(harness: &Harness) {
    harness.deliver().await;
    harness.pass(8 * 86_400);
    harness.sweep().await;
}

#[tokio::test]
async fn m_8_every_persistent_secret_moves_to_a_new_key() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let ada = with_password(&harness, &test, ADA, FIRST).await;
    let user = ada.session.user_id;
    let session = harness.sign_in(&test, BOB, 600).await;
    let totp = harness.verified_totp(&test, user).await;
    let codes: Vec<_> = totp
        .recovery_codes
        .iter()
        .map(|code| code.expose().clone())
        .collect();
    harness
        .try_totp(&test, recovery(user, &codes[0]))
        .await
        .unwrap();
    let settings = ConnectionSettings::default();
    let secret = Secret::new("s3cret".to_owned());
    let set = harness.service.set_provider(
        Principal::cli(),
        test.world,
        "google".parse().unwrap(),
        "client",
        &secret,
        settings,
    );
    set.await.unwrap();
    let endpoint = NewEndpoint {
        url: "https://hooks.example.com/".to_owned(),
        name: None,
        types: vec!["*".to_owned()],
        enabled: true,
    };
    let added = harness
        .service
        .add_webhook(Principal::cli(), test.world, endpoint)
        .await;
    let (endpoint, webhook_secret) = added.unwrap();

    let rotation = rotate(&harness.other_process()).await;
    // Two purposes in two environments.
    assert_eq!(rotation.minted, 4);
    // A signing key in each environment; a password, a seed, the rest of sixteen recovery codes, a client secret, and one that signs
    // events.
    assert_eq!(rotation.resealed, 2 + 1 + 1 + 15 + 1 + 1);
    assert_eq!((rotation.failed, rotation.failed_secrets), (vec![], vec![]));
    for kind in PersistentKind::ALL {
        assert_eq!(lasting(&harness, test.world, kind, 2).await, [], "{kind:?}");
        assert_ne!(lasting(&harness, test.world, kind, 3).await, [], "{kind:?}");
    }
    let id = endpoint.endpoint.id;
    harness
        .service
        .try_webhook(Principal::cli(), harness.app.id.into(), id, None)
        .await
        .unwrap();
    let sent = harness.webhooks.sent_to("hooks.example.com").remove(0);
    let secret = SigningSecret::parse(webhook_secret.expose()).unwrap();
    assert!(crate::webhooks::is_signed_by(&sent, &[&secret]));
    // One by the process that was there before, one by a process that knows only the new keys.
    for (process, recovered) in [
        (Arc::clone(&harness.service), 1),
        (harness.other_process(), 2),
    ] {
        let caller = harness.test().await;
        let attempt = crate::passwords::attempt(user, FIRST);
        process.verify_password(&caller, attempt).await.unwrap();
        harness.pass(30);
        let shown = code(user, &shown_at(&totp, harness.now()));
        process.verify_totp(&caller, shown).await.unwrap();
        let used = recovery(user, &codes[0]);
        assert!(process.verify_totp(&caller, used).await.is_err());
        let unused = recovery(user, &codes[recovered]);
        process.verify_totp(&caller, unused).await.unwrap();
        let shown = process.recovery_codes(&caller, user).await.unwrap();
        assert_eq!(shown[0].recovery_codes.len(), 15 - recovered);
        let jwt = harness.by_token(&caller, &session.token).await.unwrap().jwt;
        harness.by_jwt(&caller, &jwt).await.unwrap();
    }
    // After its key is gone, a used code counts as wrong and raises no alarm.
    forget_what_passes(&harness).await;
    let other = harness.other_process();
    assert_eq!(retire(&other).await.kept, []);
    assert_eq!(versions(&harness, KeyPurpose::Secrets).await, [2]);
    let caller = harness.test().await;
    let used = other.verify_totp(&caller, recovery(user, &codes[0])).await;
    assert!(is_invalid(&used));
    other
        .verify_totp(&caller, recovery(user, &codes[3]))
        .await
        .unwrap();
}

/// Short-lived secrets stay under their key, keep working, and keep the key until they expire.
#[tokio::test]
async fn m_8_a_code_keeps_its_key_until_it_expires() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    send(&harness, &test, ADA).await;
    rotate(&harness.other_process()).await;
    harness.pass(AN_HOUR);
    let other = harness.other_process();
    let retired = retire(&other).await;
    let kept = |why| KeptKey {
        world: test.world,
        purpose: KeyPurpose::Secrets,
        version: 1,
        why,
    };
    let needed_by = |table, rows| KeyUsage {
        version: 1,
        table,
        rows,
    };
    assert_eq!(
        retired.kept,
        [kept(Why::InUse(vec![needed_by("codes", 1)]))]
    );
    // Both wallet keys were destroyed, and the secrets key of the environment in which no code was sent.
    assert_eq!(retired.retired, 3);
    assert_eq!(versions(&harness, KeyPurpose::Secrets).await, [1, 2]);
    forget_what_passes(&harness).await;
    let retired = retire(&other).await;
    assert_eq!((retired.retired, retired.kept), (1, vec![]));
    assert_eq!(versions(&harness, KeyPurpose::Secrets).await, [2]);
}

async fn send(harness: &Harness, caller: &Caller, email: &str) {
    let command = SendCode {
        email: email.to_owned(),
        expires_in: None,
        device_fingerprint: None,
        session: SessionNamed::default(),
    };
    harness.user(caller, email).await;
    harness
        .service
        .send_code_by_email(caller, command)
        .await
        .unwrap();
    harness.deliver().await;
}

/// A version with a newer successor stays for an hour, because another process may be about to store a code under it.
#[tokio::test]
async fn m_8_a_recently_replaced_key_stays() {
    let harness = Harness::new().await;
    let rotated_at = harness.now();
    rotate(&harness.service).await;
    let rotation = retire(&harness.service).await;
    // The wallet keys: every wallet write pins the key it uses.
    assert_eq!(rotation.retired, 2);
    let due = Why::TooSoon(rotated_at + vestry_domain::timestamp::Seconds(AN_HOUR));
    let whys: Vec<_> = rotation.kept.iter().map(|kept| kept.why.clone()).collect();
    assert_eq!(whys, [due.clone(), due]);
    harness.pass(AN_HOUR - 1);
    assert_eq!(retire(&harness.service).await.retired, 0);
    harness.pass(1);
    assert_eq!(retire(&harness.service).await.retired, 2);
    assert_eq!(versions(&harness, KeyPurpose::Secrets).await, [2]);
    let report = harness.other_process().vault_verify(&|_| {}).await.unwrap();
    assert_eq!(report.failed_app_keys, Vec::<String>::new());
}

/// An altered secret is named, left unchanged, and keeps only the version that it is under: no other version, no other secret.
#[tokio::test]
async fn m_8_an_altered_secret_keeps_only_its_own_key() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let ada = with_password(&harness, &test, ADA, FIRST)
        .await
        .session
        .user_id;
    let bob = with_password(&harness, &test, BOB, FIRST)
        .await
        .session
        .user_id;
    forget_what_passes(&harness).await;
    let mut tx = harness.fake.begin().await.unwrap();
    let mut row = tx
        .passwords()
        .find(&test.world, ada)
        .await
        .unwrap()
        .unwrap();
    row.sealed.bytes[40] ^= 1;
    tx.passwords().put(&row).await.unwrap();
    tx.commit().await.unwrap();
    let altered = FailedSecret {
        world: test.world,
        kind: PersistentKind::Password,
        owner: ada.to_string(),
    };
    for version in [2, 3] {
        let rotation = rotate(&harness.other_process()).await;
        assert_eq!(
            rotation.failed_secrets.as_slice(),
            std::slice::from_ref(&altered)
        );
        // Two signing keys, and Bob's password.
        assert_eq!(
            (rotation.minted, rotation.resealed),
            (4, 3),
            "to version {version}"
        );
        harness.pass(AN_HOUR);
    }
    let retired = retire(&harness.other_process()).await;
    assert_eq!(retired.failed_secrets, [altered]);
    let its_own = KeptKey {
        world: test.world,
        purpose: KeyPurpose::Secrets,
        version: 1,
        why: Why::InUse(vec![KeyUsage {
            version: 1,
            table: "passwords",
            rows: 1,
        }]),
    };
    assert_eq!(retired.kept, [its_own]);
    assert_eq!(versions(&harness, KeyPurpose::Secrets).await, [1, 3]);
    assert_eq!(versions(&harness, KeyPurpose::Wallets).await, [3]);
    verify(&harness, &test, bob, FIRST).await.unwrap();
    assert!(verify(&harness, &test, ada, FIRST).await.is_err());
    let report = harness.other_process().vault_verify(&|_| {}).await.unwrap();
    assert_eq!((report.secrets, report.failed_secrets.len()), (3, 1));
}

/// The same for a wallet: the old key of the others is retired.
#[tokio::test]
async fn m_8_an_altered_wallet_keeps_only_its_own_key() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let mut row = crate::tamper::unstored(&harness, &test, "mallory@example.com").await;
    row.0.wallet.is_imported = true;
    let altered = crate::tamper::store(&harness, &row).await;
    let wallet = harness.user(&test, ADA).await.wallets[0].id;
    for _ in 0..2 {
        assert_eq!(rotate(&harness.other_process()).await.failed, [altered]);
    }
    let retired = retire(&harness.other_process()).await;
    assert_eq!(retired.failed, [altered]);
    let kept = retired
        .kept
        .iter()
        .filter(|kept| kept.purpose == KeyPurpose::Wallets);
    let kept: Vec<_> = kept.map(|kept| (kept.world, kept.version)).collect();
    assert_eq!(kept, [(test.world, 1)]);
    assert_eq!(versions(&harness, KeyPurpose::Wallets).await, [1, 3]);
    harness
        .other_process()
        .sign(&test, text(wallet, "hi"))
        .await
        .unwrap();
}

/// The log of wallet uses stays intact after the keys it was written under are gone.
#[tokio::test]
async fn m_8_the_audit_log_outlives_its_keys() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let wallet = harness.user(&test, ADA).await.wallets[0].id;
    let mut signed = 0;
    for version in [2, 3] {
        harness
            .other_process()
            .sign(&test, text(wallet, "hi"))
            .await
            .unwrap();
        signed += 1;
        rotate(&harness.other_process()).await;
        harness.pass(AN_HOUR);
        retire(&harness.other_process()).await;
        assert_eq!(versions(&harness, KeyPurpose::Secrets).await, [version]);
    }
    assert_eq!(versions(&harness, KeyPurpose::PastAudit).await, [1, 2]);
    let other = harness.other_process();
    let report = other.verify_audit_log(&|_| {}).await.unwrap();
    assert_eq!(report.findings, []);
    let query = ListAudit {
        wallet_id: wallet,
        limit: None,
        starting_after: None,
    };
    let page = other.list_audit(&test, query).await.unwrap();
    assert_eq!(page.entries.len(), 1 + signed);
    // Root keys rotate over the remaining ones.
    other
        .vault_rotate_root(Principal::cli(), &|_, _| {})
        .await
        .unwrap();
    assert_eq!(other.vault_retire(Principal::cli()).await.unwrap(), 0);
    assert_eq!(findings(&harness).await, []);
}

/// Attack 9: the ids of a nonexistent user survive a rotation like those of every other user.
#[tokio::test]
async fn m_8_attack_9_a_decoy_keeps_its_ids() {
    let harness = Harness::new().await;
    harness.set(&[("enumeration_safe", "true")]).await;
    // Old enough for eight more days to change no decoy: their times move when the App's age doubles.
    harness.pass(5_000_000);
    let test = harness.test().await;
    let ask = async |service: &Service| {
        let command = SendCode {
            email: "nobody@example.com".to_owned(),
            expires_in: None,
            device_fingerprint: None,
            session: SessionNamed::default(),
        };
        let sent = service.send_code_by_email(&test, command).await.unwrap();
        harness.pass(20);
        (sent.email.user_id, sent.email.id)
    };
    let before = ask(&harness.service).await;
    for version in [2, 3] {
        rotate(&harness.other_process()).await;
        assert_eq!(
            ask(&harness.other_process()).await,
            before,
            "under version {version}"
        );
        assert_eq!(
            ask(&harness.service).await,
            before,
            "by a process that has not noticed yet"
        );
    }
    forget_what_passes(&harness).await;
    harness
        .other_process()
        .vault_retire_apps(Principal::cli(), Duration::ZERO, &|_, _| {})
        .await
        .unwrap();
    assert_eq!(versions(&harness, KeyPurpose::Secrets).await, [3]);
    assert_eq!(
        ask(&harness.other_process()).await,
        before,
        "after the first key is gone"
    );
}

/// R17: password sign-ins and changes continue during rotations, and none fails or is rolled back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m_8_rotations_disturb_no_sign_in() {
    let harness = Arc::new(Harness::new().await);
    let test = harness.test().await;
    let session = with_password(&harness, &test, ADA, FIRST).await;
    let user = session.session.user_id;
    let stays = with_password(&harness, &test, BOB, FIRST)
        .await
        .session
        .user_id;
    let signs_in = (0..4).map(|_| {
        let harness = Arc::clone(&harness);
        async move {
            let test = harness.test().await;
            for _ in 0..20 {
                verify(&harness, &test, stays, FIRST).await.unwrap();
            }
        }
        .boxed()
    });
    let changes = std::iter::once({
        let (harness, token) = (Arc::clone(&harness), session.token.clone());
        async move {
            let test = harness.test().await;
            for password in [SECOND, FIRST, SECOND] {
                let command = change(&token, password);
                harness
                    .service
                    .update_password(&test, command)
                    .await
                    .unwrap();
                verify(&harness, &test, user, password).await.unwrap();
            }
        }
        .boxed()
    });
    let rotations = (0..3).map(|_| {
        let harness = Arc::clone(&harness);
        async move {
            let rotation = rotate(&harness.other_process()).await;
            assert_eq!(rotation.failed_secrets, []);
        }
        .boxed()
    });
    race(signs_in.chain(changes).chain(rotations)).await;
    rotate(&harness.other_process()).await;
    verify(&harness, &test, user, SECOND).await.unwrap();
    verify(&harness, &test, stays, FIRST).await.unwrap();
}
