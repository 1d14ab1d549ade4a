//! The root key: rotation under load, and data that somebody changed behind the service's back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::{Value, json};
use tokio::task::block_in_place;
use vestry_domain::wallet::WalletType;

use crate::on_both_databases;
use crate::support::client::Api;
use crate::support::journey::{Owner, assert_signed, new_owner, new_owner_of, sign, sign_in};
use crate::support::process::{PATIENCE, Process};
use crate::support::site::{Site, text};

on_both_databases! {
    /// R17: rotation while signatures run; none fails, and every key opens afterwards.
    a_rotation_disturbs_no_signature => super::a_rotation_disturbs_no_signature;
    /// R17, M-8: new App keys three times while signatures run, cut off by a kill and run again; none fails, and the old keys can go.
    a_rotation_of_app_keys_disturbs_no_signature => super::a_rotation_of_app_keys_disturbs_no_signature;
    /// T1: ciphertexts of two wallets swapped.
    swapped_ciphertexts_are_refused => super::swapped_ciphertexts_are_refused;
    /// T5, T6: one field of a wallet changed.
    a_changed_field_is_refused => super::a_changed_field_is_refused;
}

/// Signs until it is told to stop; counts, and answers with the first thing that went wrong.
async fn keep_signing(api: Api, owner: Owner, stop: Arc<AtomicBool>, done: Arc<AtomicUsize>) {
    while !stop.load(Ordering::Relaxed) {
        let signed = sign(&api, &owner, "test").await.ok();
        assert_eq!(signed["wallet"]["public_address"], owner.address.as_str());
        done.fetch_add(1, Ordering::Relaxed);
    }
}

async fn until_at_least(done: &AtomicUsize, count: usize) {
    let reached = async {
        while done.load(Ordering::Relaxed) < count {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, reached).await.unwrap();
}

async fn a_rotation_disturbs_no_signature(site: Site) {
    let keys = site.set_up();
    let server = site.serve().await;
    let api = server.api(&keys.live);
    let owner = new_owner(&api, "ada@example.com").await;
    let (stop, done) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
    let signers: Vec<_> = (0..4)
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
    for version in 2..=4 {
        let rotated = block_in_place(|| site.admin(&["vault", "rotate-root"]));
        let expected = json!({ "wallets": version, "secrets": version });
        assert_eq!(rotated["versions"], expected);
        assert_eq!(rotated["rewrapped"], 4);
        // A wallet made after the rotation stands under the new version.
        new_owner(&api, &format!("user{version}@example.com")).await;
    }
    until_at_least(&done, 100).await;
    stop.store(true, Ordering::Relaxed);
    for signer in signers {
        signer.await.unwrap();
    }
    let verified = site.admin(&["vault", "verify"]);
    assert_eq!(verified["ok"], true);
    assert_eq!(verified["wallets"], 4);
    assert_eq!(verified["app_keys"], 4);

    // The old versions can go: a process that has opened nothing yet still signs.
    assert_eq!(
        site.admin(&["vault", "rotate-root", "--retire"])["retired"],
        true
    );
    let status = site.admin(&["vault", "status"]);
    for purpose in ["wallets", "secrets"] {
        let versions = json!([{ "version": 5, "app_keys": 2 }]);
        assert_eq!(status[purpose]["versions"], versions);
    }
    server.process.stop().await;
    let server = site.serve().await;
    let signed = sign(&server.api(&keys.live), &owner, "after").await.ok();
    assert_signed(&site.database, &owner, "after", &text(&signed, "signature")).await;
    server.process.stop().await;
}

/// Wallets under rotation: several batches of them, so that a kill leaves some behind.
const ROTATED: usize = 1_000;

async fn a_rotation_of_app_keys_disturbs_no_signature(site: Site) {
    let keys = site.set_up();
    let server = site.serve().await;
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
    let signers: Vec<_> = (0..8)
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
    let mut rotation = Process::start(&mut site.command(&["vault", "rotate-apps"]));
    rotation
        .logged("wallets and secrets under new App keys")
        .await;
    rotation.kill().await;
    let finished = block_in_place(|| site.admin(&["vault", "rotate-apps"]));
    assert_eq!(finished["failed_wallets"], json!([]));
    for more in [&[][..], &["--retire"]] {
        let arguments = [&["vault", "rotate-apps"], more].concat();
        let again = block_in_place(|| site.admin(&arguments));
        assert_eq!(again["failed_wallets"], json!([]));
        assert_eq!(again["failed_secrets"], json!([]));
        assert_eq!(again["rewrapped"], ROTATED);
        // Two signing keys, and a password.
        assert_eq!(again["resealed"], 3);
    }
    assert_signs_in(&tests, &ada).await;
    m_8_old_keys_of_secrets_go(&site).await;
    assert_signs_in(&tests, &ada).await;
    until_at_least(&done, 100).await;
    let (signed, seconds) = (done.load(Ordering::Relaxed), begun.elapsed().as_secs_f64());
    println!("R17: 3 rotations of App keys, {signed} signatures in {seconds:.1} s");
    stop.store(true, Ordering::Relaxed);
    for signer in signers {
        signer.await.unwrap();
    }
    let verified = site.admin(&["vault", "verify"]);
    assert_eq!(verified["ok"], true);
    assert_eq!(verified["wallets"], ROTATED);
    assert_eq!(verified["secrets"], 3);
    let audited = site.admin(&["audit", "verify"]);
    assert_eq!(audited["ok"], true);
    server.process.stop().await;
    let server = site.serve().await;
    let signed = sign(&server.api(&keys.live), &owner, "after").await.ok();
    assert_signed(&site.database, &owner, "after", &text(&signed, "signature")).await;
    assert_signs_in(&server.api(&keys.test), &ada).await;
    server.process.stop().await;
}

/// M-8: old keys of secrets stay for an hour, and while something stands under them that has not ended; then they go, but for what the
/// audit log and decoys need of them.
async fn m_8_old_keys_of_secrets_go(site: &Site) {
    let purposes = "SELECT purpose AS one, CAST(COUNT(*) AS TEXT) AS two FROM app_keys GROUP BY purpose ORDER BY purpose";
    let count = |found: &[(String, String)], purpose: &str| {
        let of_purpose = found.iter().find(|(one, _)| one == purpose);
        of_purpose.map(|(_, two)| two.parse::<u32>().unwrap())
    };
    let before = site.database.pairs(purposes).await;
    let secrets = count(&before, "secrets").unwrap();
    assert!(secrets > 2, "old keys stayed: {before:?}");
    assert_eq!(count(&before, "wallets"), Some(2));
    site.database
        .execute("UPDATE app_keys SET created_at = created_at - 3600")
        .await;
    site.database.execute("DELETE FROM codes").await;
    let retired = block_in_place(|| site.admin(&["vault", "retire-apps"]));
    assert_eq!(
        (&retired["minted"], &retired["kept"]),
        (&json!(0), &json!([]))
    );
    assert_eq!(retired["retired"], secrets - 2);
    let after = site.database.pairs(purposes).await;
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

async fn assert_refused(api: &Api, owner: &Owner) {
    let shown = api.get(&format!("/v1/wallets/{}", owner.wallet_id)).await;
    assert_eq!(shown.error(500), "internal");
    assert_eq!(sign(api, owner, "test").await.error(500), "internal");
}

async fn assert_works(api: &Api, owner: &Owner) {
    let shown = api.get(&format!("/v1/wallets/{}", owner.wallet_id)).await;
    shown.ok();
    sign(api, owner, "test").await.ok();
}

/// Puts one column of another wallet's key into this wallet's.
async fn transplant(site: &Site, column: &str, from: &Owner, to: &Owner) {
    let statement = format!(
        "UPDATE wallet_keys SET {column} = (SELECT {column} FROM wallet_keys WHERE wallet_id = '{}') WHERE wallet_id = '{}'",
        from.wallet_id, to.wallet_id
    );
    site.database.execute(&statement).await;
}

/// What moves from one wallet to another: one layer of a key, both, and with the public key that they fit.
const LAYERS: [&[&str]; 4] = [
    &["ciphertext"],
    &["wrapped_data_key"],
    &["wrapped_data_key", "ciphertext"],
    &["public_key", "wrapped_data_key", "ciphertext"],
];

async fn swapped_ciphertexts_are_refused(site: Site) {
    let keys = site.set_up();
    let server = site.serve().await;
    let api = server.api(&keys.live);
    for wallet_type in WalletType::ALL {
        for (place, columns) in LAYERS.into_iter().enumerate() {
            let of = async |who| {
                let email = format!("{who}.{wallet_type:?}.{place}@example.com");
                new_owner_of(&api, &email, wallet_type).await
            };
            let (one, other, third) = (of("one").await, of("other").await, of("third").await);
            // What the service remembers of a wallet that signed does not keep its row from being looked at.
            for whole in [&one, &other] {
                assert_works(&api, whole).await;
            }
            for column in columns {
                transplant(&site, column, &one, &third).await;
                transplant(&site, column, &other, &one).await;
                transplant(&site, column, &third, &other).await;
            }
            for broken in [&one, &other, &third] {
                assert_refused(&api, broken).await;
            }
        }
    }
    // The others are not touched by it, and the verifier finds exactly the broken ones.
    let untouched = new_owner(&api, "untouched@example.com").await;
    assert_works(&api, &untouched).await;
    let verified = site.run(&["vault", "verify", "--json"]);
    assert_eq!(verified.code, 1);
    let document = verified.json();
    assert_eq!(document["ok"], false);
    let broken = WalletType::ALL.len() * LAYERS.len() * 3;
    let failed = document["failed_wallets"].as_array().unwrap();
    assert_eq!(failed.len(), broken);
    // Every owner but those of Ethereum's has a default wallet beside the broken one.
    assert_eq!(document["wallets"], broken - LAYERS.len() * 3 + 1);
    server.process.stop().await;
}

async fn a_changed_field_is_refused(site: Site) {
    let keys = site.set_up();
    let server = site.serve().await;
    let api = server.api(&keys.live);
    let stranger = new_owner(&api, "stranger@example.com").await;
    for wallet_type in WalletType::ALL {
        let other_type = match wallet_type {
            WalletType::Solana => "XLM",
            _ => "solana",
        };
        for (place, change) in [
            "public_address = '0x0000000000000000000000000000000000000001'".to_owned(),
            format!("user_id = '{}', is_default = false", stranger.user_id),
            "is_imported = true".to_owned(),
            "is_read_only = true".to_owned(),
            "account_index = 7".to_owned(),
            "disabled_at = 1".to_owned(),
            format!("wallet_type = '{other_type}'"),
        ]
        .into_iter()
        .enumerate()
        {
            let email = format!("user.{wallet_type:?}.{place}@example.com");
            let owner = new_owner_of(&api, &email, wallet_type).await;
            assert_works(&api, &owner).await;
            let statement = format!(
                "UPDATE wallets SET {change} WHERE id = '{}'",
                owner.wallet_id
            );
            site.database.execute(&statement).await;
            assert_refused(&api, &owner).await;
        }
    }
    assert_works(&api, &stranger).await;
    server.process.stop().await;
}
