//! Rejected requests, and the fields named in the errors.

use vestry_domain::invalid::Reason;

use super::*;

/// The payload with some fields set, or taken away by `null`.
pub(super) fn with(changes: Value) -> Value {
    let mut payload = payload();
    for (name, value) in changes.as_object().unwrap() {
        payload[name.as_str()] = value.clone();
    }
    payload
}

pub(super) fn refused(request: &SigningRequest) -> Invalid {
    match Wallet::new(ABANDON).prepare(request).err() {
        Some(SigningRefused::Invalid(invalid)) => invalid,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_missing_field_is_named() {
    for name in [
        "address",
        "blockHash",
        "era",
        "genesisHash",
        "method",
        "nonce",
        "signedExtensions",
        "specVersion",
        "tip",
        "transactionVersion",
        "version",
    ] {
        let payload = with(json!({ name: null }));
        let invalid = refused(&SigningRequest::Transaction(payload.clone()));
        assert_eq!(invalid.param, format!("dot_transaction.{name}"));
        assert_eq!(invalid.reason, Reason::Missing, "{name}");

        let params = json!({"address": ADDRESS, "transactionPayload": payload});
        let invalid = refused(&method("polkadot_signTransaction", params));
        assert_eq!(invalid.param, format!("params.transactionPayload.{name}"));
        assert_eq!(invalid.reason, Reason::Missing, "{name}");
    }
}

#[test]
fn a_field_of_the_wrong_type_is_named() {
    let fields = [
        "address",
        "assetId",
        "blockHash",
        "blockNumber",
        "era",
        "genesisHash",
        "metadataHash",
        "method",
        "mode",
        "nonce",
        "signedExtensions",
        "specVersion",
        "tip",
        "transactionVersion",
        "version",
        "withSignedTransaction",
    ];
    for name in fields {
        for wrong in [
            json!(7),
            json!(-1),
            json!(0.5),
            json!([]),
            json!([1]),
            json!({}),
            json!("x"),
            json!(""),
        ] {
            let invalid = refused(&SigningRequest::Transaction(with(json!({ name: wrong }))));
            assert_eq!(invalid.param, format!("dot_transaction.{name}"), "{wrong}");
            assert_eq!(invalid.reason, Reason::Value);
        }
    }
}

/// DOT-4, DOT-5, DOT-6.
#[test]
fn values_that_cannot_be_are_refused() {
    let asset_hub = json!([
        "CheckGenesis",
        "CheckNonce",
        "ChargeAssetTxPayment",
        "CheckMortality",
        "CheckMetadataHash"
    ]);
    let hash = "0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3";
    let too_many = vec!["CheckWeight"; 33];
    for (name, changes) in [
        (
            "address",
            json!({"address": "13KVd4f2a4S5pLp4gTTFezyXdPWx27vQ9vS6xBXJ9yWVd7xp"}),
        ),
        (
            "address",
            json!({"address": "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5"}),
        ),
        ("address", json!({"address": "1".repeat(10_000)})),
        ("version", json!({"version": 5})),
        ("version", json!({"version": 3})),
        ("version", json!({"version": "4"})),
        ("nonce", json!({"nonce": "0x"})),
        ("nonce", json!({"nonce": "5"})),
        ("nonce", json!({"nonce": "0X5"})),
        ("nonce", json!({"nonce": "0x+5"})),
        ("nonce", json!({"nonce": "0x100000000"})),
        ("nonce", json!({"nonce": format!("0x{}", "0".repeat(65))})),
        ("tip", json!({"tip": format!("0x1{}", "0".repeat(32))})),
        ("specVersion", json!({"specVersion": "0x100000000"})),
        ("transactionVersion", json!({"transactionVersion": "0xzz"})),
        ("blockNumber", json!({"blockNumber": "0x10000000000000000"})),
        ("method", json!({"method": "0x"})),
        ("method", json!({"method": "0x00"})),
        ("method", json!({"method": "0x000"})),
        ("method", json!({"method": "0x0x00"})),
        ("method", json!({"method": "0000"})),
        (
            "method",
            json!({"method": format!("0x{}", "00".repeat(128 * 1024 + 1))}),
        ),
        ("blockHash", json!({"blockHash": "0x00"})),
        ("genesisHash", json!({"genesisHash": format!("{hash}00")})),
        ("era", json!({"era": "0x"})),
        ("era", json!({"era": "0x01"})),
        // Immortal and a byte too many; a period of 2; a phase beyond its period.
        ("era", json!({"era": "0x0000"})),
        ("era", json!({"era": "0x1000"})),
        ("era", json!({"era": "0x4100"})),
        ("era", json!({"era": "0xf50100"})),
        ("mode", json!({"mode": 2})),
        ("mode", json!({"mode": 256})),
        ("metadataHash", json!({"mode": 1})),
        ("metadataHash", json!({"mode": 0, "metadataHash": hash})),
        ("metadataHash", json!({"mode": 1, "metadataHash": "0x00"})),
        (
            "signedExtensions",
            json!({"signedExtensions": ["CheckGenesis", "CheckNonce", "ChargeNothing"]}),
        ),
        (
            "signedExtensions",
            json!({"signedExtensions": ["CheckGenesis", "checkNonce"]}),
        ),
        (
            "signedExtensions",
            json!({"signedExtensions": ["CheckGenesis", "CheckNonce", "CheckNonce"]}),
        ),
        (
            "signedExtensions",
            json!({"signedExtensions": ["CheckGenesis", "CheckWeight", "CheckWeight"]}),
        ),
        (
            "signedExtensions",
            json!({"signedExtensions": ["CheckGenesis", "CheckEra", "CheckMortality"]}),
        ),
        (
            "signedExtensions",
            json!({"signedExtensions": ["CheckGenesis", "SkipCheckIfFeeless", "ChargeAssetTxPayment"]}),
        ),
        ("signedExtensions", json!({"signedExtensions": too_many})),
        (
            "signedExtensions",
            json!({"signedExtensions": ["CheckGenesis", "CheckNonce", 5]}),
        ),
        // A transaction of no chain in particular.
        (
            "signedExtensions",
            json!({"signedExtensions": ["CheckNonce"]}),
        ),
        ("signedExtensions", json!({"signedExtensions": []})),
        // What no extension signs is not left out in silence.
        ("assetId", json!({"assetId": "0x010100"})),
        (
            "tip",
            json!({"signedExtensions": ["CheckGenesis", "CheckNonce"], "tip": "0x01"}),
        ),
        (
            "era",
            json!({"signedExtensions": ["CheckGenesis", "CheckNonce"], "era": "0xf501"}),
        ),
        (
            "mode",
            json!({"signedExtensions": ["CheckGenesis", "CheckNonce"], "mode": 1, "metadataHash": hash}),
        ),
        // An option is 0x00 or 0x01 and something.
        (
            "assetId",
            json!({"signedExtensions": asset_hub, "assetId": "0x01"}),
        ),
        (
            "assetId",
            json!({"signedExtensions": asset_hub, "assetId": "0x0000"}),
        ),
        (
            "assetId",
            json!({"signedExtensions": asset_hub, "assetId": "0x02010203"}),
        ),
        (
            "assetId",
            json!({"signedExtensions": asset_hub, "assetId": format!("0x01{}", "00".repeat(512))}),
        ),
    ] {
        let invalid = refused(&SigningRequest::Transaction(with(changes.clone())));
        assert_eq!(
            invalid.param,
            format!("dot_transaction.{name}"),
            "{changes}"
        );
    }
}

#[test]
fn what_says_nothing_may_stand_there_unsigned() {
    let wallet = Wallet::new(ABANDON);
    for changes in [
        json!({"assetId": "0x00", "metadataHash": null, "withSignedTransaction": null}),
        json!({"signedExtensions": ["CheckGenesis"], "tip": "0x00", "mode": 0, "assetId": null}),
        json!({"signedExtensions": ["CheckGenesis"], "nonce": null, "era": null, "tip": null, "specVersion": null}),
        json!({"blockNumber": null, "mode": null, "unknown": null}),
        json!({"nonce": "0x5", "tip": format!("0x{}", "0".repeat(64))}),
    ] {
        let fields = wallet.transaction(with(changes));
        assert!(fields["signed_transaction"].is_string());
    }
}

#[test]
fn ch_11_an_unknown_member_is_refused_by_name() {
    for name in [
        "Tip",
        "assetID",
        "metadata_hash",
        "data_",
        "appId",
        "runtimeVersion",
        "comment",
    ] {
        let value = with(json!({ name: "0x00" }));
        let invalid = refused(&SigningRequest::Transaction(value.clone()));
        assert_eq!(
            (&*invalid.param, invalid.reason),
            (&*format!("dot_transaction.{name}"), Reason::Unknown)
        );
        let params = json!({"address": ADDRESS, "transactionPayload": value});
        let invalid = refused(&method("polkadot_signTransaction", params));
        assert_eq!(invalid.param, format!("params.transactionPayload.{name}"));
    }
    for name in ["era", "nonce", "Data"] {
        let raw = json!({"address": ADDRESS, "data": "0x00", "type": "payload", name: "0x00"});
        let invalid = refused(&SigningRequest::Transaction(raw));
        assert_eq!(
            (&*invalid.param, invalid.reason),
            (&*format!("dot_transaction.{name}"), Reason::Unknown)
        );
    }
}

/// The chain checks the signature of an immortal transaction over the genesis hash, and drops one over another hash.
#[test]
fn dot_7_an_immortal_transaction_names_the_genesis_as_its_block() {
    let wallet = Wallet::new(ABANDON);
    let other = "0x5c81da2fe8a62f26e05d1a4b0e0ea4b1dd1a28ae47d5e2ffd1de9e6b5a8ed5a2";
    wallet.transaction(with(json!({"era": "0x00"})));
    wallet.transaction(with(json!({"era": "0xf501", "blockHash": other})));
    // Without the extension the era and the hash are not signed at all.
    let neither = json!({"signedExtensions": ["CheckGenesis"], "blockHash": other});
    wallet.transaction(with(neither));
    for extension in ["CheckMortality", "CheckEra"] {
        for changes in [json!({"blockHash": other}), json!({"genesisHash": other})] {
            let mut changes = changes;
            changes["signedExtensions"] = json!(["CheckGenesis", extension, "CheckNonce"]);
            let invalid = refused(&SigningRequest::Transaction(with(changes.clone())));
            assert_eq!(
                (&*invalid.param, invalid.reason),
                ("dot_transaction.blockHash", Reason::Value),
                "{changes}"
            );
        }
    }
}

#[test]
fn the_raw_form_names_its_fields() {
    for (name, value) in [
        ("address", json!({"data": "0x00", "type": "payload"})),
        ("type", json!({"address": ADDRESS, "data": "0x00"})),
        (
            "type",
            json!({"address": ADDRESS, "data": "0x00", "type": "bytes"}),
        ),
        (
            "type",
            json!({"address": ADDRESS, "data": "0x00", "type": 1}),
        ),
        ("data", json!({"address": ADDRESS, "type": "payload"})),
        (
            "data",
            json!({"address": ADDRESS, "data": "0x", "type": "payload"}),
        ),
        (
            "data",
            json!({"address": ADDRESS, "data": "00", "type": "payload"}),
        ),
        (
            "data",
            json!({"address": ADDRESS, "data": [0], "type": "payload"}),
        ),
        (
            "data",
            json!({"address": ADDRESS, "data": format!("0x{}", "00".repeat(129 * 1024 + 1)), "type": "payload"}),
        ),
        (
            "data",
            json!({"address": ADDRESS, "data": "0x00", "type": "payload", "method": "0x0000"}),
        ),
        (
            "type",
            json!({"address": ADDRESS, "type": "payload", "method": "0x0000"}),
        ),
    ] {
        let invalid = refused(&SigningRequest::Transaction(value));
        assert_eq!(invalid.param, format!("dot_transaction.{name}"));
    }
}

#[test]
fn what_is_no_object_is_refused_by_its_own_name() {
    for value in [json!(1), json!("0x00"), json!([]), json!(true)] {
        let invalid = refused(&SigningRequest::Transaction(value.clone()));
        assert_eq!(
            (&*invalid.param, invalid.reason),
            ("dot_transaction", Reason::Value)
        );
        let params = json!({"address": ADDRESS, "transactionPayload": value});
        let invalid = refused(&method("polkadot_signTransaction", params));
        assert_eq!(invalid.param, "params.transactionPayload");
    }
    let invalid = refused(&SigningRequest::Transaction(Value::Null));
    assert_eq!(
        (&*invalid.param, invalid.reason),
        ("dot_transaction", Reason::Missing)
    );
}
