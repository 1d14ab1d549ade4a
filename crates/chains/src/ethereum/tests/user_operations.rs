//! User operations beyond the vectors: rejected requests.

use serde_json::{Value, json};

use super::support::{param, rpc};
use vestry_domain::signing::{Fields, SigningRefused};

const V06: &str = "0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789";
const V07: &str = "0x0000000071727De22E5E9d8BAf0edAc6f37da032";
const V08: &str = "0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108";
const ADDRESS: &str = "0x1234567890123456789012345678901234567890";

fn operation() -> Value {
    json!({
        "sender": ADDRESS, "nonce": "0x0", "callData": "0x", "callGasLimit": "0x69ed75",
        "verificationGasLimit": "0x69ed75", "preVerificationGas": "0x69ed75", "maxFeePerGas": "0x10f2c",
        "maxPriorityFeePerGas": "0x45",
    })
}

fn sign_at(entry_point: &str, operation: Value) -> Result<Fields, SigningRefused> {
    let params = json!({ "contract": entry_point, "chain_id": "0x1", "user_operation": operation });
    rpc("eth_signUserOperation", params)
}

#[test]
fn each_entry_point_and_chain_has_a_signature_of_its_own() {
    let mut signatures = Vec::new();
    for entry_point in [V06, V07, V08] {
        for chain in ["0x1", "0xaa36a7"] {
            let params =
                json!({ "contract": entry_point, "chainId": chain, "user_operation": operation() });
            let fields = rpc("eth_signUserOperation", params).unwrap();
            assert_eq!(fields["encoding"], "hex");
            assert_eq!(fields.len(), 2);
            assert!(!signatures.contains(&fields["signature"]));
            signatures.push(fields["signature"].clone());
        }
    }
}

#[test]
fn names_with_underscores_say_the_same() {
    let renamed = json!({
        "sender": ADDRESS, "nonce": "0x0", "call_data": "0x", "call_gas_limit": "0x69ed75",
        "verification_gas_limit": "0x69ed75", "pre_verification_gas": "0x69ed75",
        "max_fee_per_gas": "0x10f2c", "max_priority_fee_per_gas": "0x45",
    });
    for entry_point in [V06, V07, V08] {
        let expected = sign_at(entry_point, operation()).unwrap();
        assert_eq!(sign_at(entry_point, renamed.clone()).unwrap(), expected);
    }
}

#[test]
fn what_is_missing_wrong_or_of_another_version_is_named() {
    for entry_point in [V06, V07, V08] {
        for name in operation().as_object().unwrap().keys() {
            let mut changed = operation();
            changed[name] = json!(null);
            let path = format!("params.user_operation.{name}");
            assert_eq!(param(sign_at(entry_point, changed.clone())), path);
            changed[name] = json!(5);
            assert_eq!(param(sign_at(entry_point, changed)), path);
        }
    }
    for (entry_point, name, value, path) in [
        (V06, "factory", json!(ADDRESS), "factory"),
        (V06, "paymaster", json!(ADDRESS), "paymaster"),
        (V06, "accountGasLimits", json!("0x"), "accountGasLimits"),
        (V06, "initCode", json!("0x1"), "initCode"),
        (V07, "initCode", json!("0x"), "initCode"),
        (V07, "paymasterAndData", json!("0x"), "paymasterAndData"),
        (V08, "gasFees", json!("0x"), "gasFees"),
        (V07, "factoryData", json!("0x12"), "factory"),
        (V07, "paymasterData", json!("0x12"), "paymaster"),
        (V07, "paymasterPostOpGasLimit", json!("0x1"), "paymaster"),
        (
            V07,
            "paymaster",
            json!(ADDRESS),
            "paymasterVerificationGasLimit",
        ),
        (V07, "factory", json!("0x7702"), "factory"),
        (V08, "factory", json!("0x7702"), "factory"),
        (V08, "factory", json!("0x77020000"), "factory"),
        (V08, "eip7702Auth", json!({}), "eip7702Auth.address"),
        (
            V07,
            "callGasLimit",
            json!("0x100000000000000000000000000000000"),
            "callGasLimit",
        ),
    ] {
        let mut changed = operation();
        changed[name] = value.clone();
        let path = format!("params.user_operation.{path}");
        assert_eq!(param(sign_at(entry_point, changed)), path, "{name} {value}");
    }
    assert_eq!(param(sign_at(ADDRESS, operation())), "params.contract");
    assert_eq!(param(sign_at(V08, json!("0x"))), "params.user_operation");
    let params = json!({ "contract": V08, "chain_id": "0x1", "chainId": "0x2", "user_operation": operation() });
    assert_eq!(
        param(rpc("eth_signUserOperation", params)),
        "params.chainId"
    );
}

/// The marker is written short or filled up to an address, and stands for the contract that is delegated to.
#[test]
fn an_account_that_delegates_signs_over_its_delegate() {
    let signed = |factory: &str, delegate: &str| {
        let mut changed = operation();
        changed["factory"] = json!(factory);
        changed["eip7702Auth"] = json!({ "address": delegate });
        sign_at(V08, changed).unwrap()
    };
    let filled = format!("0x7702{}", "00".repeat(18));
    assert_eq!(signed("0x7702", ADDRESS), signed(&filled, ADDRESS));
    assert_eq!(signed("0x7702", ADDRESS), signed(ADDRESS, ADDRESS));
    assert_ne!(signed("0x7702", ADDRESS), signed("0x7702", V06));
}
