use super::references::{cases, first, string, wallet};
use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use stellar_xdr::{
    HashIdPreimage, HashIdPreimageContractId, HashIdPreimageOperationId, HashIdPreimageRevokeId,
    Limits, WriteXdr,
};

#[test]
fn only_the_network_of_the_environment_is_signed_for() {
    for (own, other) in [("live", "test"), ("test", "live")] {
        let wallet = wallet(&first("auth_entries", own));
        for case in cases("auth_entries")
            .iter()
            .filter(|case| case["environment"] == other)
        {
            let params = json!({"auth_entry": case["auth_entry"]});
            assert!(is_denied(&wallet.rpc("xlm_signAuthEntry", params)));
        }
    }
    let case = first("auth_entries", "test");
    let params = json!({
        "auth_entry": case["auth_entry"],
        "network_passphrase": "Public Global Stellar Network ; September 2015",
    });
    assert!(is_denied(&wallet(&case).rpc("xlm_signAuthEntry", params)));
}

/// Their hashes are ids of operations, balances and contracts, which are never signed.
#[test]
fn preimages_of_ids_are_refused() {
    let wallet = Wallet::abandon();
    for preimage in [
        HashIdPreimage::OpId(HashIdPreimageOperationId::default()),
        HashIdPreimage::PoolRevokeOpId(HashIdPreimageRevokeId::default()),
        HashIdPreimage::ContractId(HashIdPreimageContractId::default()),
    ] {
        let xdr = STANDARD.encode(preimage.to_xdr(Limits::none()).unwrap());
        let refused = wallet.rpc("xlm_signAuthEntry", json!({"auth_entry": xdr}));
        assert_eq!(param(refused), "params.auth_entry");
    }
}

#[test]
fn what_is_no_auth_entry_is_refused_with_its_path() {
    let case = first("auth_entries", "test");
    let wallet = wallet(&case);
    let transaction = first("transactions", "test");
    let good = string(&case, "auth_entry");
    let bytes = STANDARD.decode(good).unwrap();
    for (params, expected) in [
        (json!({}), "params.auth_entry"),
        (json!({"auth_entry": null}), "params.auth_entry"),
        (json!({"auth_entry": 1}), "params.auth_entry"),
        (json!({"auth_entry": ""}), "params.auth_entry"),
        (json!({"auth_entry": "%"}), "params.auth_entry"),
        (
            json!({"auth_entry": hex::encode(&bytes)}),
            "params.auth_entry",
        ),
        (
            json!({"auth_entry": transaction["before"]}),
            "params.auth_entry",
        ),
        (
            json!({"auth_entry": good, "network_passphrase": 1}),
            "params.network_passphrase",
        ),
    ] {
        assert_eq!(param(wallet.rpc("xlm_signAuthEntry", params)), expected);
    }
    for length in 0..bytes.len() {
        let params = json!({"auth_entry": STANDARD.encode(&bytes[..length])});
        let refused = wallet.rpc("xlm_signAuthEntry", params);
        assert_eq!(param(refused), "params.auth_entry");
    }
    let params = json!({"auth_entry": STANDARD.encode([&bytes[..], &[0]].concat())});
    let refused = wallet.rpc("xlm_signAuthEntry", params);
    assert_eq!(param(refused), "params.auth_entry");
}
