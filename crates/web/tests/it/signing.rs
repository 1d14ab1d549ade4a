//! Wallets of all five chains: created, shown, and what they sign.
//!
//! The reference implementations of `cargo xtask interop` check that the signatures are valid on their chains.

use data_encoding::BASE64;
use serde_json::{Value, json};

use crate::flows::sent;
use crate::harness::{Api, on_both};

on_both! {
    every_chain_signs_messages_and_transactions
    a_message_is_signed_alike_however_it_comes
    every_chain_supports_its_methods
    a_transaction_of_another_chain_is_refused
    eth_12_numbers_of_typed_data_keep_their_digits
    ch_11_an_unknown_member_of_a_transaction_is_refused_by_name
    a_broken_transaction_is_refused_with_its_field
    an_unknown_method_is_refused_with_the_supported_ones
    a_call_names_what_it_refuses
    a_message_that_is_a_transaction_is_refused
    a_bitcoin_wallet_may_have_a_taproot_address
}

/// A chain with a transaction that any of its wallets can sign.
struct Chain {
    wallet_type: &'static str,
    field: &'static str,
    transaction: fn(address: &str) -> Value,
    /// The fields of a `sign_message` response besides the wallet.
    message: &'static [&'static str],
    /// The fields of a `sign_transaction` response besides the wallet.
    signed: &'static [&'static str],
    /// A method that signs a message.
    method: &'static str,
}

const CHAINS: [Chain; 5] = [
    Chain {
        wallet_type: "ethereum",
        field: "eth_transaction",
        transaction: ethereum,
        message: &["signature"],
        signed: &["signature", "signed_transaction"],
        method: "personal_sign",
    },
    Chain {
        wallet_type: "solana",
        field: "sol_transaction",
        transaction: solana,
        message: &["encoding", "signature"],
        signed: &[
            "encoding",
            "fully_signed",
            "signature",
            "signed_transaction",
        ],
        method: "sol_signMessage",
    },
    Chain {
        wallet_type: "bitcoin",
        field: "btc_transaction",
        transaction: bitcoin,
        message: &["encoding", "signature", "signature_unprefixed"],
        signed: &[
            "encoding",
            "finalized",
            "signature",
            "signatures",
            "signed_transaction",
        ],
        method: "btc_signMessage",
    },
    Chain {
        wallet_type: "DOT",
        field: "dot_transaction",
        transaction: polkadot,
        message: &["encoding", "signature"],
        signed: &["signature", "signed_transaction"],
        method: "polkadot_signMessage",
    },
    Chain {
        wallet_type: "XLM",
        field: "xlm_transaction",
        transaction: stellar,
        message: &["encoding", "signature"],
        signed: &["hash", "signature", "signed_transaction"],
        method: "xlm_signMessage",
    },
];

/// The example of the API documentation.
fn ethereum(_: &str) -> Value {
    json!({
        "to": "0xe9534c9faf3cdbc636c25e1981a80efae03f187a",
        "value": "0x38d7ea4c68000",
        "nonce": "0x8",
        "maxPriorityFeePerGas": "0x77359400",
        "maxFeePerGas": "0xdf8475800",
        "gas": "0x5208",
        "chainId": "0x5",
    })
}

/// A legacy message with one signer: nothing but a note to the system program.
fn solana_message(address: &str) -> Vec<u8> {
    let mut message = vec![1, 0, 1, 2];
    message.extend(bs58::decode(address).into_vec().unwrap());
    message.extend([0; 32]);
    message.extend([7; 32]);
    message.extend([1, 1, 1, 0, 4, 2, 0, 0, 0]);
    message
}

fn solana(address: &str) -> Value {
    let mut transaction = vec![1];
    transaction.extend([0; 64]);
    transaction.extend(solana_message(address));
    json!({ "transaction": BASE64.encode(&transaction), "encoding": "base64" })
}

/// The witness program of a bech32 address (BIP-173), without checking its checksum.
fn witness_program(address: &str) -> Vec<u8> {
    let (_, data) = address.rsplit_once('1').unwrap();
    let digits = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    let bits: String = data[1..data.len() - 6]
        .chars()
        .map(|digit| format!("{:05b}", digits.find(digit).unwrap()))
        .collect();
    let bytes = bits.as_bytes().chunks_exact(8);
    bytes
        .map(|byte| u8::from_str_radix(std::str::from_utf8(byte).unwrap(), 2).unwrap())
        .collect()
}

/// A PSBT (BIP-174) that spends one output of the wallet to itself.
fn bitcoin(address: &str) -> Value {
    let mut script = vec![22, 0x00, 0x14];
    script.extend(witness_program(address));
    let output = |value: u64| [value.to_le_bytes().as_slice(), &script].concat();
    let unsigned = [
        &[2, 0, 0, 0, 1][..],
        &[9; 32],
        &[0, 0, 0, 0, 0, 0xfd, 0xff, 0xff, 0xff, 1],
        &output(99_000),
        &[0; 4],
    ]
    .concat();
    let pair = |key: u8, value: &[u8]| {
        let length = u8::try_from(value.len()).unwrap();
        [&[1, key, length][..], value].concat()
    };
    let psbt = [
        &b"psbt\xff"[..],
        &pair(0x00, &unsigned),
        &[0],
        &pair(0x01, &output(100_000)),
        &[0, 0],
    ]
    .concat();
    json!({ "psbt": BASE64.encode(&psbt), "encoding": "base64" })
}

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

/// An envelope (v1) of a foreign account: the wallet may be one of several signers.
fn stellar(_: &str) -> Value {
    let mut envelope = vec![0, 0, 0, 2, 0, 0, 0, 0];
    envelope.extend([5; 32]);
    // Fee 100, sequence number 1, no conditions, no memo.
    envelope.extend([0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    // One operation, of the same account: bump its sequence number to 2. No extension, no signature.
    envelope.extend([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 11]);
    envelope.extend([0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
    json!({ "xdr": BASE64.encode(&envelope) })
}

/// A wallet of the chain: its id and its address.
async fn wallet(api: &Api, chain: &Chain) -> (String, String) {
    let email = format!("{}@example.com", chain.wallet_type.to_lowercase());
    let user_id = sent(api, &api.test(), &email).await.user_id;
    let request = json!({ "user_id": user_id, "wallet_type": chain.wallet_type });
    let created = api.test().post("/v1/wallets/create", request).await.ok();
    let id = created.text_at("/id");
    let read = api.test().get(&format!("/v1/wallets/{id}")).await.ok();
    assert_eq!(read.body, created.body);
    assert_eq!(read.body["wallet_type"], chain.wallet_type);
    (id, created.text_at("/public_address"))
}

/// The names of the response's fields, except those of the wallet, which are checked.
fn fields(response: &Value, id: &str, address: &str) -> Vec<String> {
    assert_eq!(response["wallet_id"], id);
    assert_eq!(response["wallet"]["id"], id);
    assert_eq!(response["wallet"]["public_address"], address);
    let names = response.as_object().unwrap().keys();
    let mut names: Vec<String> = names
        .filter(|name| *name != "wallet_id" && *name != "wallet")
        .cloned()
        .collect();
    names.sort_unstable();
    names
}

async fn every_chain_signs_messages_and_transactions(api: &Api) {
    for chain in &CHAINS {
        let (id, address) = wallet(api, chain).await;
        let path = format!("/v1/wallets/{id}/sign_message");
        let request = json!({ "message": "hello" });
        let response = api.test().post(&path, request).await.ok();
        let names = fields(&response.body, &id, &address);
        assert_eq!(names, chain.message, "{}", chain.wallet_type);
        let other = json!({ "message": "hello " });
        let other = api.test().post(&path, other).await.ok();
        assert_ne!(other.body["signature"], response.body["signature"]);

        let path = format!("/v1/wallets/{id}/sign_transaction");
        let mut request = json!({ "eth_transaction": null, "unknown": 1 });
        request[chain.field] = (chain.transaction)(&address);
        let response = api.test().post(&path, request).await.ok();
        let names = fields(&response.body, &id, &address);
        assert_eq!(names, chain.signed, "{}", chain.wallet_type);
        let texts = ["signature", "signed_transaction"];
        assert!(texts.iter().all(|name| response.body[name].is_string()));
    }
}

/// A short request whose wallet signed a moment ago is signed on the web worker, and any other request elsewhere.
async fn a_message_is_signed_alike_however_it_comes(api: &Api) {
    let (id, _) = wallet(api, &CHAINS[0]).await;
    let path = format!("/v1/wallets/{id}/sign_message");
    let (short, padding) = (r#"{"message":"hello"}"#, " ".repeat(4_000));
    let long = format!("{padding}{short}");
    let plain = || api.test().header("Content-Type", "application/json");
    let keyed = || plain().header("Idempotency-Key", "once");
    let requests = [
        ("first", plain(), short),
        ("again", plain(), short),
        ("long", plain(), &long),
        ("with a key", keyed(), short),
        ("after it", plain(), short),
    ];
    let mut signatures = Vec::new();
    for (which, client, body) in requests {
        let response = client.send_bytes("POST", &path, body.as_bytes()).await.ok();
        signatures.push((which, response.text_at("/signature")));
    }
    let (_, first) = &signatures[0];
    assert!(
        signatures.iter().all(|(_, other)| other == first),
        "{signatures:?}"
    );
    let log = format!("/v1/wallets/{id}/audit");
    let log = api.test().get(&log).await.ok();
    let entries = log.body["entries"].as_array().unwrap().iter();
    let signed = entries.filter(|entry| entry["action"] == "sign_message");
    assert_eq!(signed.count(), signatures.len());
    let refusals = [("hex", "message"), ("octal", "encoding")];
    for (encoding, param) in refusals {
        for padding in ["", &padding] {
            let request = json!({ "message": "0", "encoding": encoding, "padding": padding });
            let hello = json!({ "message": "hello" });
            api.test().post(&path, hello).await.ok();
            let refused = api.test().post(&path, request).await;
            refused.refuses(400, "invalid_field", Some(param));
        }
    }
}

async fn every_chain_supports_its_methods(api: &Api) {
    for chain in &CHAINS {
        let (id, _) = wallet(api, chain).await;
        let request = json!({ "method": chain.method, "params": { "message": "hello" } });
        let path = format!("/v1/wallets/{id}/rpc");
        let response = api.test().post(&path, request).await.ok().body;
        assert_eq!(response["method"], chain.method);
        assert_eq!(response.as_object().unwrap().len(), 2);
        assert!(
            response["data"]["signature"].is_string(),
            "{}",
            chain.method
        );
        assert!(response["data"]["encoding"].is_string(), "{}", chain.method);
    }
}

/// CH-3.
async fn a_transaction_of_another_chain_is_refused(api: &Api) {
    for chain in &CHAINS {
        let (id, address) = wallet(api, chain).await;
        let path = format!("/v1/wallets/{id}/sign_transaction");
        let own = (chain.transaction)(&address);
        for request in [json!({}), json!({ chain.field: null })] {
            let refused = api.test().post(&path, request).await;
            refused.refuses(400, "missing_field", Some(chain.field));
        }
        for other in CHAINS.iter().filter(|other| other.field != chain.field) {
            for request in [
                json!({ other.field: own }),
                json!({ other.field: {} }),
                json!({ chain.field: own, other.field: own }),
            ] {
                let refused = api.test().post(&path, request).await;
                refused.refuses(400, "invalid_field", Some(other.field));
                assert_eq!(refused.body.get("signature"), None);
            }
        }
    }
}

/// As an object, as a string, and with the numbers as strings: three encodings of one value, which has one signature.
async fn eth_12_numbers_of_typed_data_keep_their_digits(api: &Api) {
    let (id, _) = wallet(api, &CHAINS[0]).await;
    let path = format!("/v1/wallets/{id}/rpc");
    let typed_data = |number: &str| {
        format!(
            r#"{{"types": {{"T": [{{"name": "x", "type": "int256"}}]}}, "primaryType": "T", "domain": {{}}, "message": {{"x": {number}}}}}"#
        )
    };
    let sign = async |typed_data: String| {
        let body = format!(
            r#"{{"method": "eth_signTypedData_v4", "params": {{"typed_data": {typed_data}}}}}"#
        );
        let client = api.test().header("Content-Type", "application/json");
        client.send_bytes("POST", &path, body.as_bytes()).await
    };
    for number in [
        "5",
        "9007199254740993",
        "18446744073709551617",
        "-123456789012345678901234567890123456789",
        "57896044618658097711785492504343953926634992332820282019728792003956564819967",
    ] {
        let expected = sign(typed_data(&format!("\"{number}\""))).await.ok();
        let signature = expected.text_at("/data/signature");
        let object = sign(typed_data(number)).await.ok();
        assert_eq!(object.text_at("/data/signature"), signature, "{number}");
        let text = sign(json!(typed_data(number)).to_string()).await.ok();
        assert_eq!(text.text_at("/data/signature"), signature, "{number}");
    }
    for number in ["5.0", "1e18", "123456789012345678901234567890.5"] {
        let refused = sign(typed_data(number)).await;
        refused.refuses(400, "invalid_field", Some("params.typed_data.message.x"));
        assert!(
            refused
                .text_at("/error/message")
                .ends_with("send it as a string")
        );
    }
    // Duplicate members and NULs are refused here too, as in every body.
    let twice = typed_data("5").replace(
        "\"domain\": {}",
        "\"domain\": {\"name\": \"a\", \"name\": \"b\"}",
    );
    let refused = sign(twice).await;
    assert_eq!(
        refused.body["error"]["param"],
        "params.typed_data.domain.name"
    );
}

/// For each chain a name that is nearly one of its own. It is refused both with an otherwise valid transaction and in place of a required
/// member.
async fn ch_11_an_unknown_member_of_a_transaction_is_refused_by_name(api: &Api) {
    let misspelt = ["To", "Encoding", "signInputs", "Tip", "networkPassphrase"];
    for (chain, name) in CHAINS.iter().zip(misspelt) {
        let (id, address) = wallet(api, chain).await;
        let path = format!("/v1/wallets/{id}/sign_transaction");
        let mut more = (chain.transaction)(&address);
        more[name] = json!("0x00");
        let unknown = format!("{}.{name}", chain.field);
        for transaction in [more, json!({ name: "0x00" })] {
            let refused = api
                .test()
                .post(&path, json!({ chain.field: transaction }))
                .await;
            refused.refuses(400, "unknown_field", Some(&unknown));
            assert_eq!(refused.body.get("signature"), None);
        }
        let mut absent = (chain.transaction)(&address);
        absent[name] = json!(null);
        api.test()
            .post(&path, json!({ chain.field: absent }))
            .await
            .ok();
    }
    let (id, address) = wallet(api, &CHAINS[0]).await;
    let path = format!("/v1/wallets/{id}/sign_transaction");
    let mut no_recipient = ethereum(&address);
    no_recipient["to"] = json!(null);
    let refused = api
        .test()
        .post(&path, json!({ "eth_transaction": no_recipient }))
        .await;
    refused.refuses(400, "missing_field", Some("eth_transaction.to"));
}

/// Truncated, with trailing data, and of the wrong kind.
async fn a_broken_transaction_is_refused_with_its_field(api: &Api) {
    /// Chain, field, and a function that makes its value bad.
    type Case = (&'static str, &'static str, fn(&str) -> String);
    let cases: [Case; 5] = [
        ("ethereum", "to", |text| text[..text.len() - 2].to_owned()),
        ("solana", "transaction", |text| BASE64.encode(&longer(text))),
        ("bitcoin", "psbt", |text| BASE64.encode(&longer(text))),
        ("DOT", "method", |text| text[..text.len() - 1].to_owned()),
        ("XLM", "xdr", |text| BASE64.encode(&longer(text))),
    ];
    for (chain, (wallet_type, field, broken)) in CHAINS.iter().zip(cases) {
        assert_eq!(chain.wallet_type, wallet_type);
        let (id, address) = wallet(api, chain).await;
        let path = format!("/v1/wallets/{id}/sign_transaction");
        let good = (chain.transaction)(&address);
        for wrong in [
            Value::String(broken(good[field].as_str().unwrap())),
            json!("no such thing"),
            json!(""),
            json!(7),
            json!([]),
        ] {
            let mut transaction = good.clone();
            transaction[field] = wrong;
            let request = json!({ chain.field: transaction });
            let refused = api.test().post(&path, request).await;
            let param = format!("{}.{field}", chain.field);
            refused.refuses(400, "invalid_field", Some(&param));
        }
        for wrong in [json!("text"), json!(1), json!([]), json!(true)] {
            let request = json!({ chain.field: wrong });
            let refused = api.test().post(&path, request).await;
            refused.refuses(400, "invalid_field", Some(chain.field));
        }
    }
}

/// The bytes with one too many.
fn longer(text: &str) -> Vec<u8> {
    let mut bytes = BASE64.decode(text.as_bytes()).unwrap();
    bytes.push(0);
    bytes
}

/// CH-6.
async fn an_unknown_method_is_refused_with_the_supported_ones(api: &Api) {
    for chain in &CHAINS {
        let (id, _) = wallet(api, chain).await;
        let path = format!("/v1/wallets/{id}/rpc");
        let others = CHAINS.iter().map(|other| other.method);
        let others = others.filter(|method| *method != chain.method);
        for method in others.chain(["", "eth_getBalance"]) {
            let request = json!({ "method": method, "params": { "message": "hello" } });
            let refused = api.test().post(&path, request).await;
            refused.refuses(400, "unsupported_method", Some("method"));
            let message = refused.text_at("/error/message");
            assert!(message.contains(chain.method), "{message}");
        }
    }
}

async fn a_call_names_what_it_refuses(api: &Api) {
    let [_, solana, ..] = &CHAINS;
    let (id, _) = wallet(api, solana).await;
    let path = format!("/v1/wallets/{id}/rpc");
    let method = "sol_signMessage";
    for (request, code, param) in [
        (json!({ "params": {} }), "missing_field", "method"),
        (json!({ "method": method }), "missing_field", "params"),
        (
            json!({ "method": 7, "params": {} }),
            "invalid_field",
            "method",
        ),
        (
            json!({ "method": method, "params": [] }),
            "invalid_field",
            "params",
        ),
        (
            json!({ "method": method, "params": {} }),
            "missing_field",
            "params.message",
        ),
        (
            json!({ "method": method, "params": { "message": 7 } }),
            "invalid_field",
            "params.message",
        ),
        (
            json!({ "method": method, "params": { "message": "hello", "encoding": "hex" } }),
            "invalid_field",
            "params.encoding",
        ),
        (
            json!({ "method": method, "params": { "message": "0OIl", "encoding": "base58" } }),
            "invalid_field",
            "params.message",
        ),
    ] {
        let refused = api.test().post(&path, request).await;
        refused.refuses(400, code, Some(param));
    }
}

/// Solana signs raw bytes, so a transaction must not pass for a message (SOL-2).
async fn a_message_that_is_a_transaction_is_refused(api: &Api) {
    let [_, solana, ..] = &CHAINS;
    let (id, address) = wallet(api, solana).await;
    let message = BASE64.encode(&solana_message(&address));
    let signed = json!({ "message": message, "encoding": "base64" });
    let path = format!("/v1/wallets/{id}/sign_message");
    let refused = api.test().post(&path, signed.clone()).await;
    refused.refuses(400, "message_is_transaction", Some("message"));
    let call = json!({ "method": "sol_signMessage", "params": signed });
    let path = format!("/v1/wallets/{id}/rpc");
    let refused = api.test().post(&path, call).await;
    refused.refuses(400, "message_is_transaction", Some("params.message"));
    // For another user's wallet the bytes are like any other.
    let strangers = BASE64.encode(&solana_message(
        "4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM",
    ));
    let path = format!("/v1/wallets/{id}/sign_message");
    let request = json!({ "message": strangers, "encoding": "base64" });
    api.test().post(&path, request).await.ok();
}

/// The format of a new address can be chosen if the chain has several; an existing wallet is returned in its own format.
async fn a_bitcoin_wallet_may_have_a_taproot_address(api: &Api) {
    let user_id = sent(api, &api.test(), "ada@example.com").await.user_id;
    let request = |wallet_type: &str, form: &str| json!({"user_id": user_id, "wallet_type": wallet_type, "address_type": form});
    for (wallet_type, form) in [("bitcoin", "p2sh"), ("ethereum", "p2tr"), ("XLM", "p2wpkh")] {
        let wrong = request(wallet_type, form);
        let refused = api.test().post("/v1/wallets/create", wrong).await;
        refused.refuses(400, "invalid_field", Some("address_type"));
    }
    let taproot = request("bitcoin", "p2tr");
    let created = api.test().post("/v1/wallets/create", taproot).await.ok();
    let address = created.text_at("/public_address");
    assert!(address.starts_with("tb1p"), "{address}");
    let usual = request("bitcoin", "p2wpkh");
    let again = api.test().post("/v1/wallets/create", usual).await.ok();
    assert_eq!(again.body, created.body);
    let path = format!("/v1/wallets/{}/sign_message", created.text_at("/id"));
    let signed = api.test().post(&path, json!({"message": "hello"})).await;
    let signature = signed.ok().text_at("/signature");
    // A witness of one signature of 64 bytes (SIGHASH_DEFAULT), after the prefix of BIP-322.
    let witness = BASE64.decode(signature.strip_prefix("smp").unwrap().as_bytes());
    let witness = witness.unwrap();
    assert_eq!((witness.len(), &witness[..2]), (66, &[1, 64][..]));
    let old = json!({"message": "hello", "format": "bip137"});
    let refused = api.test().post(&path, old).await;
    refused.refuses(400, "invalid_field", Some("format"));
    let read = format!("/v1/wallets/{}", created.text_at("/id"));
    assert_eq!(api.test().get(&read).await.ok().body, created.body);
}
