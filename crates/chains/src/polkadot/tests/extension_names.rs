//! Extension names: those of today's chains, and unknown ones.

use super::refusals::{refused, with};
use super::*;

/// What each of them adds in polkadot-sdk: an empty struct to the transaction, and `Implicit = ()` to what is signed
/// (`frame_system::AuthorizeCall`, `pallet_revive`'s `SetOrigin`, whose one field is skipped, and
/// `cumulus_pallet_weight_reclaim::StorageWeightReclaim`).
const EMPTY: [&str; 3] = ["AuthorizeCall", "EthSetOrigin", "StorageWeightReclaim"];

/// Polkadot's relay chain, and its Asset Hub, as their metadata lists them.
const RELAY: [&str; 12] = [
    "AuthorizeCall",
    "CheckNonZeroSender",
    "CheckSpecVersion",
    "CheckTxVersion",
    "CheckGenesis",
    "CheckMortality",
    "CheckNonce",
    "CheckWeight",
    "ChargeTransactionPayment",
    "PrevalidateAttests",
    "CheckMetadataHash",
    "WeightReclaim",
];
const ASSET_HUB: [&str; 12] = [
    "AuthorizeCall",
    "CheckNonZeroSender",
    "CheckSpecVersion",
    "CheckTxVersion",
    "CheckGenesis",
    "CheckMortality",
    "CheckNonce",
    "CheckWeight",
    "ChargeAssetTxPayment",
    "CheckMetadataHash",
    "EthSetOrigin",
    "StorageWeightReclaim",
];

fn naming(extensions: &[&str]) -> Value {
    with(json!({ "signedExtensions": extensions }))
}

/// The source of signatures is the same each time, so equal answers are signatures over equal bytes.
#[test]
fn m_16_the_extensions_of_todays_chains_are_signed_and_add_no_bytes() {
    let wallet = Wallet::new(ABANDON);
    for chain in [RELAY, ASSET_HUB] {
        let known = chain.iter().filter(|name| !EMPTY.contains(name));
        let known: Vec<&str> = known.copied().collect();
        assert!(known.len() < chain.len());
        let signed = wallet.transaction(naming(&chain));
        assert_eq!(signed, wallet.transaction(naming(&known)));
    }
    // On both the fee, the version and the rest stand where they stood: by hand, as on the chain of the other tests.
    let genesis = "91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3";
    for (chain, asset) in [(RELAY, ""), (ASSET_HUB, "00")] {
        let expected = format!("00000c68656c001400{asset}00fb4d0f001a000000{genesis}{genesis}00");
        let signature = hex_of(&wallet.transaction(naming(&chain))["signature"]);
        let expected = hex::decode(expected).unwrap();
        assert!(wallet.verifies(&expected, &signature[1..]), "{chain:?}");
    }
}

#[test]
fn m_16_an_extension_that_adds_nothing_may_stand_anywhere_and_once() {
    let wallet = Wallet::new(ABANDON);
    let names = payload()["signedExtensions"].clone();
    let names: Vec<&str> = names
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    let plain = wallet.transaction(naming(&names));
    for name in EMPTY {
        for place in 0..=names.len() {
            let mut more = names.clone();
            more.insert(place, name);
            assert_eq!(
                wallet.transaction(naming(&more)),
                plain,
                "{name} at {place}"
            );
            more.push(name);
            let twice = refused(&SigningRequest::Transaction(naming(&more)));
            assert_eq!(twice.param, "dot_transaction.signedExtensions");
        }
    }
}

#[test]
fn m_16_an_unknown_extension_is_refused_by_its_name() {
    let say = |name: &str| {
        let invalid = refused(&SigningRequest::Transaction(naming(&[
            "CheckGenesis",
            name,
        ])));
        assert_eq!(invalid.param, "dot_transaction.signedExtensions");
        invalid.message.into_owned()
    };
    for name in [
        "ChargeNothing",
        "AsPerson",
        "authorizeCall",
        "CheckGenesis2",
    ] {
        let said = say(name);
        let named = format!("at index 1 {name}, ");
        assert!(said.contains(&named), "{said}");
    }
    // What cannot be a name is not repeated.
    let long = "A".repeat(65);
    for name in ["", "Check Genesis", "Überweisung", "a\u{7}", long.as_str()] {
        let said = say(name);
        assert!(said.contains("index 1"), "{said}");
        assert!(name.is_empty() || !said.contains(name), "{said}");
    }
}
