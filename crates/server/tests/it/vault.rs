//! Wallets that were tampered with in the database.

use vestry_domain::wallet::WalletType;

use crate::on_both_databases;
use crate::support::client::Api;
use crate::support::flow::{Owner, new_owner, new_owner_of, sign};
use crate::support::installation::Installation;

on_both_databases! {
    /// T1: the ciphertexts of two wallets are swapped.
    swapped_ciphertexts_are_refused => super::swapped_ciphertexts_are_refused;
    /// T5, T6: one field of a wallet is changed.
    a_changed_field_is_refused => super::a_changed_field_is_refused;
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

/// Copies one column of another wallet's key into this wallet's.
async fn transplant(installation: &Installation, column: &str, from: &Owner, to: &Owner) {
    let place = format!(
        "SELECT app_id AS one, environment AS two FROM wallet_keys WHERE wallet_id = '{}'",
        to.wallet_id
    );
    let places = installation.database.pairs(&place).await;
    let (app, environment) = &places[0];
    let world = format!("app_id = '{app}' AND environment = '{environment}'");
    let statement = format!(
        "UPDATE wallet_keys SET {column} = (SELECT {column} FROM wallet_keys WHERE {world} AND wallet_id = '{}') \
         WHERE {world} AND wallet_id = '{}'",
        from.wallet_id, to.wallet_id
    );
    installation.database.execute(&statement).await;
}

/// The parts copied from one wallet to another: one layer of a key, both, and both with the matching public key.
const LAYERS: [&[&str]; 4] = [
    &["ciphertext"],
    &["wrapped_data_key"],
    &["wrapped_data_key", "ciphertext"],
    &["public_key", "wrapped_data_key", "ciphertext"],
];

async fn swapped_ciphertexts_are_refused(installation: Installation) {
    let keys = installation.set_up();
    let server = installation.serve().await;
    let api = server.api(&keys.live);
    for wallet_type in WalletType::ALL {
        for (place, columns) in LAYERS.into_iter().enumerate() {
            let of = async |who| {
                let email = format!("{who}.{wallet_type:?}.{place}@example.com");
                new_owner_of(&api, &email, wallet_type).await
            };
            let (one, other, third) = (of("one").await, of("other").await, of("third").await);
            // Even if the service has cached a wallet that signed, it checks its row.
            for whole in [&one, &other] {
                assert_works(&api, whole).await;
            }
            for column in columns {
                transplant(&installation, column, &one, &third).await;
                transplant(&installation, column, &other, &one).await;
                transplant(&installation, column, &third, &other).await;
            }
            for broken in [&one, &other, &third] {
                assert_refused(&api, broken).await;
            }
        }
    }
    // The others are unaffected, and the verification finds exactly the broken ones.
    let untouched = new_owner(&api, "untouched@example.com").await;
    assert_works(&api, &untouched).await;
    let verified = installation.run(&["vault", "verify", "--json"]);
    assert_eq!(verified.code, 1);
    let document = verified.json();
    assert_eq!(document["ok"], false);
    let broken = WalletType::ALL.len() * LAYERS.len() * 3;
    let failed = document["failed_wallets"].as_array().unwrap();
    assert_eq!(failed.len(), broken);
    // Every owner except those of Ethereum has a default wallet in addition to the broken one.
    assert_eq!(document["wallets"], broken - LAYERS.len() * 3 + 1);
    server.process.stop().await;
}

async fn a_changed_field_is_refused(installation: Installation) {
    let keys = installation.set_up();
    let server = installation.serve().await;
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
            installation.database.execute(&statement).await;
            assert_refused(&api, &owner).await;
        }
    }
    assert_works(&api, &stranger).await;
    server.process.stop().await;
}
