//! What other libraries made of the same requests, byte by byte. The scripts beside the files say which libraries and how. The whole
//! suite of ethers goes over HTTP, in `cargo xtask interop`.

use serde_json::{Value, json};
use vestry_domain::signing::{Fields, MessageRequest};

use super::samples::recovered;
use super::support::{param, sign};
use super::*;
use crate::ethereum::fields::Field;
use crate::ethereum::typed_data::payload;

fn files() -> [Value; 2] {
    let texts = [
        include_str!("../vectors/eth-account.json"),
        include_str!("../vectors/ethers-viem.json"),
    ];
    texts.map(|text| serde_json::from_str(text).unwrap())
}

/// The cases of a kind from all files, with what made them.
fn cases(kind: &str) -> Vec<(String, Value)> {
    let mut cases = Vec::new();
    for file in files() {
        let made_by = file["made_by"].as_str().unwrap().to_owned();
        let of_kind = file.get(kind).and_then(Value::as_array);
        for case in of_kind.into_iter().flatten() {
            cases.push((made_by.clone(), case.clone()));
        }
    }
    cases
}

fn signer_of(case: &Value) -> PrivateKey {
    key(case["key"].as_str().unwrap())
}

fn answer(case: &Value, request: &SigningRequest) -> Fields {
    sign(&signer_of(case), request).unwrap()
}

fn method(name: &str, params: &Value) -> SigningRequest {
    SigningRequest::Method {
        name: name.to_owned(),
        params: params.as_object().unwrap().clone(),
    }
}

fn hash_of(fields: &Fields) -> Value {
    let encoded = hex::decode(fields["signed_transaction"].as_str().unwrap()).unwrap();
    json!(keccak256(encoded).to_string())
}

/// ETH-6, ETH-7, CH-10.
#[test]
fn transactions_are_those_of_eth_account_and_ethers() {
    let mut signed = [0; 5];
    for (made_by, case) in cases("transactions") {
        let request = SigningRequest::Transaction(case["transaction"].clone());
        if let Some(path) = case.get("refused") {
            assert_eq!(json!(param(sign(&signer_of(&case), &request))), *path);
            continue;
        }
        let fields = answer(&case, &request);
        assert_eq!(
            hash_of(&fields),
            case["hash"],
            "{made_by}: {}",
            case["transaction"]
        );

        let through_rpc = method(
            "eth_signTransaction",
            &json!({ "transaction": case["transaction"] }),
        );
        assert_eq!(
            answer(&case, &through_rpc)["signed_transaction"],
            fields["signed_transaction"]
        );

        let encoded = hex::decode(fields["signed_transaction"].as_str().unwrap()).unwrap();
        assert_eq!(recovered(&encoded), address_of(&signer_of(&case)));
        signed[usize::from(
            Some(&encoded[0])
                .filter(|kind| **kind < 5)
                .copied()
                .unwrap_or(0),
        )] += 1;
    }
    assert!(signed.iter().all(|count| *count >= 10), "{signed:?}");
}

/// Each blob of a case is one byte, repeated; so are its commitment and its proofs.
fn with_blobs(case: &Value) -> Value {
    let repeated = |fill: &Value, length: usize| {
        let fill = u8::try_from(fill.as_u64().unwrap()).unwrap();
        json!(hex::encode_prefixed(vec![fill; length]))
    };
    let fills = case["fills"].as_array().unwrap();
    let each = |length| {
        fills
            .iter()
            .map(|fill| repeated(fill, length))
            .collect::<Value>()
    };
    let proofs = fills.iter().flat_map(|fill| vec![repeated(fill, 48); 128]);
    json!({ "blobs": each(131_072), "commitments": each(48), "proofs": proofs.collect::<Value>() })
}

/// ETH-6.
#[test]
fn blobs_are_wrapped_with_their_transaction_as_ethers_wraps_them() {
    let cases = cases("blobs");
    assert!(cases.len() >= 2);
    for (made_by, case) in cases {
        let mut transaction = case["transaction"].clone();
        transaction["sidecar"] = with_blobs(&case);
        let fields = answer(&case, &SigningRequest::Transaction(transaction.clone()));
        assert_eq!(hash_of(&fields), case["hash"], "{made_by}");

        let sidecar = transaction
            .as_object_mut()
            .unwrap()
            .remove("sidecar")
            .unwrap();
        let plain = answer(&case, &SigningRequest::Transaction(transaction.clone()));
        assert_eq!(plain["signature"], fields["signature"]);
        assert_ne!(plain["signed_transaction"], fields["signed_transaction"]);

        transaction
            .as_object_mut()
            .unwrap()
            .extend(sidecar.as_object().unwrap().clone());
        assert_eq!(
            answer(&case, &SigningRequest::Transaction(transaction)),
            fields
        );
    }
}

#[test]
fn blobs_that_do_not_fit_their_hashes_are_refused() {
    let (_, case) = cases("blobs").pop().unwrap();
    let mut good = case["transaction"].clone();
    good["sidecar"] = with_blobs(&case);
    let refused = |pointer: &str, value: Value| {
        let mut changed = good.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        param(sign(
            &signer_of(&case),
            &SigningRequest::Transaction(changed),
        ))
    };
    for (pointer, value, path) in [
        ("/blobVersionedHashes", json!([]), "blobVersionedHashes"),
        (
            "/blobVersionedHashes/0",
            json!(format!("0x02{}", "00".repeat(31))),
            "blobVersionedHashes[0]",
        ),
        (
            "/blobVersionedHashes/0",
            json!("0x01"),
            "blobVersionedHashes[0]",
        ),
        (
            "/blobVersionedHashes/1",
            json!(format!("0x01{}", "00".repeat(31))),
            "sidecar.commitments[1]",
        ),
        ("/sidecar/commitments", json!([]), "sidecar.commitments"),
        (
            "/sidecar/commitments/0",
            json!(format!("0x{}", "00".repeat(48))),
            "sidecar.commitments[0]",
        ),
        (
            "/sidecar/commitments/0",
            json!("0x00"),
            "sidecar.commitments[0]",
        ),
        ("/sidecar/proofs", json!([]), "sidecar.proofs"),
        ("/sidecar/proofs", json!(null), "sidecar.proofs"),
        ("/sidecar/proofs/255", json!("0x"), "sidecar.proofs[255]"),
        ("/sidecar/blobs", json!(["0x", "0x", "0x"]), "sidecar.blobs"),
        ("/sidecar/blobs/1", json!("0x00"), "sidecar.blobs[1]"),
        ("/sidecar", json!([]), "sidecar"),
    ] {
        assert_eq!(
            refused(pointer, value),
            format!("eth_transaction.{path}"),
            "{pointer}"
        );
    }
    let seven = vec![format!("0x01{}", "00".repeat(31)); 7];
    assert_eq!(
        refused("/blobVersionedHashes", json!(seven)),
        "eth_transaction.blobVersionedHashes"
    );
    let mut twice = good.clone();
    twice["blobs"] = json!([]);
    let request = SigningRequest::Transaction(twice);
    assert_eq!(
        param(sign(&signer_of(&case), &request)),
        "eth_transaction.blobs"
    );
}

#[test]
fn messages_are_signed_as_eth_account_signs_them() {
    let cases = cases("messages");
    assert!(cases.len() >= 10);
    for (made_by, case) in cases {
        let request = SigningRequest::Message(MessageRequest {
            message: case["message"].as_str().unwrap().to_owned(),
            encoding: Some("hex".to_owned()),
            format: None,
        });
        assert_eq!(
            answer(&case, &request)["signature"],
            case["signature"],
            "{made_by}"
        );
    }
}

/// ETH-8.
#[test]
fn typed_data_is_signed_as_eth_account_ethers_and_viem_sign_it() {
    let cases = cases("typed_data");
    assert!(cases.len() >= 30);
    for (made_by, case) in cases {
        let data = &case["typed_data"];
        if let Some(expected) = case.get("digest") {
            let ours = keccak256(payload(&Field::new(data, "typed_data")).unwrap());
            assert_eq!(json!(ours.to_string()), *expected, "{made_by}: {data}");
        } else {
            let request = method("eth_signTypedData_v4", &json!({ "typed_data": data }));
            assert_eq!(
                answer(&case, &request)["signature"],
                case["signature"],
                "{made_by}: {data}"
            );
        }
    }
}

#[test]
fn authorizations_are_signed_as_eth_account_signs_them() {
    let cases = cases("authorizations");
    assert!(cases.len() >= 10);
    for (made_by, case) in cases {
        let request = method("eth_sign7702Authorization", &case["params"]);
        assert_eq!(
            answer(&case, &request)["authorization"],
            case["authorization"],
            "{made_by}"
        );
    }
}

/// ETH-8.
#[test]
fn user_operations_are_signed_as_viem_signs_them() {
    let cases = cases("user_operations");
    assert!(cases.len() >= 30);
    for (made_by, case) in cases {
        let request = method("eth_signUserOperation", &case["params"]);
        let fields = answer(&case, &request);
        assert_eq!(
            fields["signature"], case["signature"],
            "{made_by}: {}",
            case["params"]
        );
    }
}
