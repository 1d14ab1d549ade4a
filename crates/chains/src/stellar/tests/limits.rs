//! Depth and size of XDR.

use super::references::{first, string, wallet};
use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use stellar_xdr::{
    BytesM, HostFunction, InvokeHostFunctionOp, Limits, Operation, OperationBody, ReadXdr,
    TransactionEnvelope, WriteXdr,
};

/// An authorization with lists in lists as its argument, written by hand: ours must not need to build what it refuses.
fn nested(levels: usize) -> String {
    let case = first("auth_entries", "test");
    let preimage = STANDARD.decode(string(&case, "auth_entry")).unwrap();
    let (head, _) = preimage.split_at(4 + 32 + 8 + 4);
    let mut bytes = head.to_vec();
    // A contract's function with one argument: address of kind 1, the name `f`.
    bytes.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 1]);
    bytes.extend_from_slice(&[7; 32]);
    bytes.extend_from_slice(&[0, 0, 0, 1, b'f', 0, 0, 0, 0, 0, 0, 1]);
    for _ in 0..levels {
        bytes.extend_from_slice(&[0, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 1]);
    }
    // The innermost value is void, and no further calls follow.
    bytes.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 0]);
    STANDARD.encode(bytes)
}

/// XLM-6.
#[test]
fn values_in_values_are_read_as_deep_as_the_network_reads_them_and_no_deeper() {
    let wallet = wallet(&first("auth_entries", "test"));
    let sign = |levels| wallet.rpc("xlm_signAuthEntry", json!({"auth_entry": nested(levels)}));
    let deepest = (0..500).rev().find(|levels| sign(*levels).is_ok()).unwrap();
    assert!((100..200).contains(&deepest), "{deepest}");
    for levels in [deepest + 1, 500, 5_000, 16_000] {
        assert_eq!(param(sign(levels)), "params.auth_entry", "{levels}");
    }
}

/// A contract of a size, to be put on the network.
fn upload(bytes: usize) -> Vec<u8> {
    let case = first("transactions", "test");
    let before = STANDARD.decode(string(&case, "before")).unwrap();
    let mut envelope = TransactionEnvelope::from_xdr(before, Limits::none()).unwrap();
    let wasm = BytesM::try_from(vec![7; bytes]).unwrap();
    let operations = vec![Operation {
        source_account: None,
        body: OperationBody::InvokeHostFunction(InvokeHostFunctionOp {
            host_function: HostFunction::UploadContractWasm(wasm),
            auth: Vec::new().try_into().unwrap(),
        }),
    }];
    match &mut envelope {
        TransactionEnvelope::TxV0(v0) => v0.tx.operations = operations.try_into().unwrap(),
        TransactionEnvelope::Tx(v1) => v1.tx.operations = operations.try_into().unwrap(),
        TransactionEnvelope::TxFeeBump(_) => panic!("no operations"),
    }
    envelope.to_xdr(Limits::none()).unwrap()
}

#[test]
fn sizes_are_limited_to_the_byte() {
    const MAX_SIZE: usize = 192 * 1024;
    let wallet = wallet(&first("transactions", "test"));
    let sign = |bytes: &[u8]| wallet.sign_transaction(json!({"xdr": STANDARD.encode(bytes)}));
    let room = MAX_SIZE - upload(0).len();
    let largest = upload(room);
    assert_eq!(largest.len(), MAX_SIZE);
    assert!(sign(&largest).is_ok());
    assert_eq!(param(sign(&upload(room + 4))), "xlm_transaction.xdr");
    assert_eq!(param(sign(&vec![0; 1 << 20])), "xlm_transaction.xdr");
}

/// A count of four thousand million is not trusted.
#[test]
fn counts_that_the_bytes_do_not_hold_are_refused() {
    let wallet = Wallet::abandon();
    for tag in [0, 2, 5, 9, 10] {
        let bytes = [vec![0, 0, 0, tag], vec![0xff; 4096]].concat();
        let in_base64 = STANDARD.encode(bytes);
        let refused = wallet.sign_transaction(json!({"xdr": in_base64}));
        assert_eq!(param(refused), "xlm_transaction.xdr");
        let refused = wallet.rpc("xlm_signAuthEntry", json!({"auth_entry": in_base64}));
        assert_eq!(param(refused), "params.auth_entry");
    }
}
