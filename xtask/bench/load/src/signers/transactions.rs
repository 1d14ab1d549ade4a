//! A transaction of each chain, as the body of `sign_transaction`. It is never broadcast.

use bitcoin::absolute::LockTime;
use bitcoin::hashes::Hash;
use bitcoin::transaction::Version;
use bitcoin::{
    Address, Amount, OutPoint, Psbt, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Txid, Witness,
};
use data_encoding::BASE64;
use serde_json::{Value, json};
use vestry_domain::wallet::WalletType;

use crate::Failure;

pub(super) fn body(wallet_type: WalletType, address: &str) -> Result<Value, Failure> {
    Ok(match wallet_type {
        WalletType::Ethereum => json!({ "eth_transaction": ethereum() }),
        WalletType::Solana => json!({ "sol_transaction": solana(address)? }),
        WalletType::Bitcoin => json!({ "btc_transaction": bitcoin(address)? }),
        WalletType::Polkadot => json!({ "dot_transaction": polkadot(address) }),
        WalletType::Stellar => json!({ "xlm_transaction": stellar() }),
    })
}

/// A transfer of type 2 (EIP-1559).
fn ethereum() -> Value {
    json!({
        "to": "0x000000000000000000000000000000000000dead",
        "value": "0x38d7ea4c68000",
        "nonce": "0x8",
        "maxPriorityFeePerGas": "0x77359400",
        "maxFeePerGas": "0xdf8475800",
        "gas": "0x5208",
        "chainId": "0x5",
    })
}

/// A legacy transaction: the wallet pays the fee and sends itself nothing.
fn solana(address: &str) -> Result<Value, Failure> {
    // One signature to come; one signer, one read-only account: the system program, whose address is zeros.
    let mut transaction = [&[1][..], &[0; 64], &[1, 0, 1, 2]].concat();
    transaction.extend(
        bs58::decode(address)
            .into_vec()
            .map_err(|error| error.to_string())?,
    );
    transaction.extend([0; 32]);
    // The hash of a recent block.
    transaction.extend([7; 32]);
    // One instruction of program 1 on accounts 0 and 0: Transfer (2), of no lamports.
    transaction.extend([1, 1, 2, 0, 0, 12, 2, 0, 0, 0]);
    transaction.extend([0; 8]);
    Ok(json!({ "transaction": BASE64.encode(&transaction), "encoding": "base64" }))
}

/// A PSBT that spends one output of the wallet to itself.
fn bitcoin(address: &str) -> Result<Value, Failure> {
    let script = address
        .parse::<Address<_>>()?
        .assume_checked()
        .script_pubkey();
    let output = |sats| TxOut {
        value: Amount::from_sat(sats),
        script_pubkey: script.clone(),
    };
    let transaction = Transaction {
        version: Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![TxIn {
            previous_output: OutPoint::new(Txid::from_byte_array([9; 32]), 0),
            script_sig: ScriptBuf::new(),
            sequence: Sequence::ENABLE_RBF_NO_LOCKTIME,
            witness: Witness::new(),
        }],
        output: vec![output(99_000)],
    };
    let mut psbt = Psbt::from_unsigned_tx(transaction)?;
    for input in &mut psbt.inputs {
        input.witness_utxo = Some(output(100_000));
    }
    Ok(json!({ "psbt": BASE64.encode(&psbt.serialize()), "encoding": "base64" }))
}

/// A remark on Polkadot.
fn polkadot(address: &str) -> Value {
    let hash = "0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3";
    json!({
        "address": address,
        "blockHash": hash,
        "blockNumber": "0x00000000",
        "era": "0x00",
        "genesisHash": hash,
        "method": "0x00000c68656c",
        "nonce": "0x00000005",
        "specVersion": "0x000f4dfb",
        "tip": "0x00000000000000000000000000000000",
        "transactionVersion": "0x0000001a",
        "signedExtensions": [
            "CheckNonZeroSender", "CheckSpecVersion", "CheckTxVersion", "CheckGenesis", "CheckMortality", "CheckNonce",
            "CheckWeight", "ChargeTransactionPayment",
        ],
        "version": 4,
    })
}

/// An envelope (v1) of an account that has the wallet among its signers.
fn stellar() -> Value {
    let mut envelope = vec![0, 0, 0, 2, 0, 0, 0, 0];
    envelope.extend([5; 32]);
    // Fee 100, sequence number 1, no conditions, no memo.
    envelope.extend([0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    // One operation, of the same account: it sets the sequence number to 2. No extension, no signature.
    envelope.extend([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 11]);
    envelope.extend([0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
    json!({ "xdr": BASE64.encode(&envelope) })
}
