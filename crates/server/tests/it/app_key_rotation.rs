//! Rotation of root keys and App keys under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::on_both_databases;
use crate::support::client::Api;
use crate::support::flow::{Owner, assert_signed, new_owner, sign, sign_in};
use crate::support::installation::{Installation, text};
use crate::support::poll::until;
use crate::support::process::{PATIENCE, Process};

on_both_databases! {
    /// R17: rotation while signatures run; none fails, and every key opens afterwards.
    a_rotation_disturbs_no_signature => super::a_rotation_disturbs_no_signature;
    /// R17, M-8: rotates App keys three times during signatures, with a kill and a rerun. No signature fails, and old keys can be retired.
    a_rotation_of_app_keys_disturbs_no_signature => super::a_rotation_of_app_keys_disturbs_no_signature;
}

/// The signers of R17, and the time from one signature of each to its next: 200 signatures a second. A signer without pauses would take
/// the processor from the rotation, which would last five times as long.
const SIGNERS: u32 = 8;
const PACE: Duration = Duration::from_millis(40);

/// Signs until it is stopped. Panics at the first failure.
async fn keep_signing(api: Api, owner: Owner, stop: Arc<AtomicBool>, done: Arc<AtomicUsize>) {
    let mut pace = tokio::time::interval(PACE);
    while !stop.load(Ordering::Relaxed) {
        let signed = sign(&api, &owner, "test").await.ok();
        assert_eq!(signed["wallet"]["public_address"], owner.address.as_str());
        done.fetch_add(1, Ordering::Relaxed);
        pace.tick().await;
    }
}

async fn until_at_least(done: &AtomicUsize, count: usize) {
    let reached = until(async || done.load(Ordering::Relaxed) >= count);
    tokio::time::timeout(PATIENCE, reached).await.unwrap();
}

async fn a_rotation_disturbs_no_signature(installation: Installation) {
    let keys = installation.set_up();
    let server = installation.serve().await;
    let api = server.api(&keys.live);
    let owner = new_owner(&api, "ada@example.com").await;
    let (stop, done) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
    let signers: Vec<_> = (0..SIGNERS)
        .map(|_| {
            tokio::spawn(keep_signing(
                api.clone(),
                owner.clone(),
                Arc::clone(&stop),
                Arc::clone(&done),
            ))
        })
        .collect();
    until_at_least(&done, 20).await;
    // A process creates the key of checkpoints when it starts.
    let of_audit = "SELECT app_id AS one, purpose AS two FROM app_keys WHERE purpose = 'audit'";
    let is_there = until(async || !installation.database.pairs(of_audit).await.is_empty());
    tokio::time::timeout(PATIENCE, is_there).await.unwrap();
    for version in 2..=4 {
        let rotated = block_in_place(|| installation.admin(&["vault", "rotate-root"]));
        let expected = json!({ "wallets": version, "secrets": version });
        assert_eq!(rotated["versions"], expected);
        // Those of the App, and the two of the deployment.
        assert_eq!(rotated["rewrapped"], 6);
        // A wallet created after the rotation is under the new version.
        new_owner(&api, &format!("user{version}@example.com")).await;
    }
    until_at_least(&done, 100).await;
    stop.store(true, Ordering::Relaxed);
    for signer in signers {
        signer.await.unwrap();
    }
    let verified = installation.admin(&["vault", "verify"]);
    assert_eq!(verified["ok"], true);
    assert_eq!(verified["wallets"], 4);
    assert_eq!(verified["app_keys"], 6);

    // The old versions can be retired: a process that has opened nothing yet still signs.
    assert_eq!(
        installation.admin(&["vault", "rotate-root", "--retire"])["retired"],
        true
    );
    let status = installation.admin(&["vault", "status"]);
    for (purpose, app_keys) in [("wallets", 3), ("secrets", 3)] {
        let versions = json!([{ "version": 5, "app_keys": app_keys }]);
        assert_eq!(status[purpose]["versions"], versions);
    }
    server.process.stop().await;
    let server = installation.serve().await;
    let signed = sign(&server.api(&keys.live), &owner, "after").await.ok();
    assert_signed(
        &installation.database,
        &owner,
        "after",
        &text(&signed, "signature"),
    )
    .await;
    server.process.stop().await;
}

/// Number of wallets to rotate: five batches, so that a kill leaves some behind. `cargo xtask rotation` has 100,000.
const ROTATED: usize = 250;

async fn a_rotation_of_app_keys_disturbs_no_signature(mut installation: Installation) {
    // The first checkpoint creates a key of the deployment, in the middle of a count if the machine is slow.
    installation.set("audit.checkpoint_seconds", "3600");
    let keys = installation.set_up();
    let server = installation.serve().await;
    let api = server.api(&keys.live);
    let mut owner = None;
    for number in 0..ROTATED {
        let made = new_owner(&api, &format!("user{number}@example.com")).await;
        owner.get_or_insert(made);
    }
    let owner = owner.unwrap();
    let tests = server.api(&keys.test);
    let ada = with_password(&tests).await;
    let (stop, done) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
    let signers: Vec<_> = (0..SIGNERS)
        .map(|_| {
            tokio::spawn(keep_signing(
                api.clone(),
                owner.clone(),
                Arc::clone(&stop),
                Arc::clone(&done),
            ))
        })
        .collect();
    until_at_least(&done, 20).await;
    let begun = Instant::now();
    let mut rotation = Process::start(&mut installation.command(&["vault", "rotate-apps"]));
    rotation.logged("wallets and secrets re-encrypted").await;
    rotation.kill().await;
    let finished = block_in_place(|| installation.admin(&["vault", "rotate-apps"]));
    assert_eq!(finished["failed_wallets"], json!([]));
    for more in [&[][..], &["--retire"]] {
        let arguments = [&["vault", "rotate-apps"], more].concat();
        let again = block_in_place(|| installation.admin(&arguments));
        assert_eq!(again["failed_wallets"], json!([]));
        assert_eq!(again["failed_secrets"], json!([]));
        assert_eq!(again["rewrapped"], ROTATED);
        // Two signing keys, and a password.
        assert_eq!(again["resealed"], 3);
    }
    assert_signs_in(&tests, &ada).await;
    m_8_old_keys_of_secrets_go(&installation).await;
    assert_signs_in(&tests, &ada).await;
    until_at_least(&done, 100).await;
    let (signed, seconds) = (done.load(Ordering::Relaxed), begun.elapsed().as_secs_f64());
    println!("R17: 3 rotations of App keys, {signed} signatures in {seconds:.1} s");
    stop.store(true, Ordering::Relaxed);
    for signer in signers {
        signer.await.unwrap();
    }
    let verified = installation.admin(&["vault", "verify"]);
    assert_eq!(verified["ok"], true);
    assert_eq!(verified["wallets"], ROTATED);
    assert_eq!(verified["secrets"], 3);
    let audited = installation.admin(&["audit", "verify"]);
    assert_eq!(audited["ok"], true);
    server.process.stop().await;
    let server = installation.serve().await;
    let signed = sign(&server.api(&keys.live), &owner, "after").await.ok();
    assert_signed(
        &installation.database,
        &owner,
        "after",
        &text(&signed, "signature"),
    )
    .await;
    assert_signs_in(&server.api(&keys.test), &ada).await;
    server.process.stop().await;
}

/// M-8: old keys for secrets are kept for an hour, and while anything unexpired is under them. They are then destroyed, except for what the
/// audit log and decoys need.
async fn m_8_old_keys_of_secrets_go(installation: &Installation) {
    let purposes = "SELECT purpose AS one, CAST(COUNT(*) AS TEXT) AS two FROM app_keys GROUP BY purpose ORDER BY purpose";
    let count = |found: &[(String, String)], purpose: &str| {
        let of_purpose = found.iter().find(|(one, _)| one == purpose);
        of_purpose.map(|(_, two)| two.parse::<u32>().unwrap())
    };
    let before = installation.database.pairs(purposes).await;
    let secrets = count(&before, "secrets").unwrap();
    assert!(secrets > 2, "old keys stayed: {before:?}");
    assert_eq!(count(&before, "wallets"), Some(2));
    installation
        .database
        .execute("UPDATE app_keys SET created_at = created_at - 3600")
        .await;
    installation.database.execute("DELETE FROM codes").await;
    let retired = block_in_place(|| installation.admin(&["vault", "retire-apps"]));
    assert_eq!(
        (&retired["minted"], &retired["kept"]),
        (&json!(0), &json!([]))
    );
    assert_eq!(retired["retired"], secrets - 2);
    let after = installation.database.pairs(purposes).await;
    for (purpose, expected) in [
        ("wallets", 2),
        ("secrets", 2),
        ("decoys", 2),
        ("past-audit", secrets - 2),
    ] {
        assert_eq!(count(&after, purpose), Some(expected), "{purpose}");
    }
}

/// A user of the test environment who signs in with a password.
async fn with_password(api: &Api) -> Value {
    let signed_in = sign_in(api, "ada@example.com").await;
    let set = json!({ "session_token": text(&signed_in, "session_token"), "password": PASSWORD });
    api.post("/v1/auth/passwords/session/update", &set)
        .await
        .ok();
    signed_in["user_id"].clone()
}

const PASSWORD: &str = "correct horse battery";

async fn assert_signs_in(api: &Api, user: &Value) {
    let proof = json!({ "user_id": user, "password": PASSWORD, "session_expires_in": 5 });
    let signed_in = api.post("/v1/auth/passwords/verify", &proof).await.ok();
    let session = json!({ "session_jwt": text(&signed_in, "session_jwt") });
    api.post("/v1/auth/sessions/verify", &session).await.ok();
}
