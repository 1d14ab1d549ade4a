//! The vectors of BIP-174, BIP-370, BIP-341 and BIP-340.

use ::bitcoin::absolute::LockTime;
use ::bitcoin::consensus::encode;
use ::bitcoin::hashes::Hash;
use ::bitcoin::transaction::Version;
use ::bitcoin::{
    Address, Amount, Network, Psbt, ScriptBuf, Sequence, TapNodeHash, Transaction, TxOut,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::support::{signed_bytes, with};
use crate::bitcoin::bip322;
use crate::bitcoin::psbt::unsigned::Unsigned;
use crate::bitcoin::schnorr::Tweaked;
use crate::bitcoin::tests::support::{bytes, chain, key, sign, text, wif};

fn vectors(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn both_signers_of_bip_174_make_its_psbts() {
    let file = vectors(include_str!("../../vectors/bip174.json"));
    for signer in file["signers"].as_array().unwrap() {
        let mut psbt = bytes(file["psbt"].as_str().unwrap());
        for wallet in signer["keys"].as_array().unwrap() {
            let answer = sign(&wif(wallet.as_str().unwrap()), &with(&psbt, json!({}))).unwrap();
            assert_eq!(answer["signatures"].as_array().unwrap().len(), 1);
            psbt = signed_bytes(&answer);
        }
        assert_eq!(psbt, bytes(signer["signed"].as_str().unwrap()));
    }
}

#[test]
fn the_invalid_psbts_of_bip_370_are_refused() {
    let file = vectors(include_str!("../../vectors/bip370.json"));
    let invalid = file["invalid"].as_array().unwrap();
    assert_eq!(invalid.len(), 21);
    for case in invalid {
        let psbt = bytes(case[1].as_str().unwrap());
        assert!(Unsigned::read(&psbt).is_err(), "{}", case[0]);
    }
}

#[test]
fn the_valid_psbts_of_bip_370_are_read_and_written_as_they_were() {
    let file = vectors(include_str!("../../vectors/bip370.json"));
    let valid = file["valid"].as_array().unwrap();
    assert_eq!(valid.len(), 14);
    for case in valid {
        let psbt = bytes(case[1].as_str().unwrap());
        let unsigned = Unsigned::read(&psbt).unwrap();
        assert!(unsigned.is_v2);
        assert_eq!(unsigned.view.inputs.len(), 1, "{}", case[0]);
        assert_eq!(unsigned.view.outputs.len(), 2, "{}", case[0]);
        assert_eq!(unsigned.container.to_bytes(), psbt, "{}", case[0]);
    }
}

#[test]
fn lock_times_are_those_of_bip_370() {
    let file = vectors(include_str!("../../vectors/bip370.json"));
    for case in file["lock_times"].as_array().unwrap() {
        let unsigned = Unsigned::read(&bytes(case[1].as_str().unwrap()));
        let found = unsigned
            .ok()
            .map(|read| read.view.unsigned_tx.lock_time.to_consensus_u32());
        let expected = case[0].as_u64().map(|time| u32::try_from(time).unwrap());
        assert_eq!(found, expected, "{}", case[1]);
    }
}

/// All inputs of the transaction of BIP-341, one wallet after the other, and at the end the transaction itself. Its P2PKH
/// input is final from the start: the transaction whose output it spends is not given.
#[test]
fn the_transaction_of_bip_341_is_signed_byte_by_byte() {
    let file = vectors(include_str!("../../vectors/bip341.json"));
    let signed: Transaction =
        encode::deserialize(&bytes(file["signed"].as_str().unwrap())).unwrap();
    let mut bare = signed.clone();
    for input in &mut bare.input {
        input.script_sig = ScriptBuf::new();
        input.witness.clear();
    }
    let mut psbt = Psbt::from_unsigned_tx(bare).unwrap();
    for (input, spent) in psbt
        .inputs
        .iter_mut()
        .zip(file["spent"].as_array().unwrap())
    {
        input.witness_utxo = Some(TxOut {
            value: Amount::from_sat(spent[1].as_u64().unwrap()),
            script_pubkey: ScriptBuf::from_bytes(bytes(spent[0].as_str().unwrap())),
        });
    }
    psbt.inputs[2].final_script_sig = Some(signed.input[2].script_sig.clone());
    let keys = file["keys"].as_array().unwrap();
    for entry in keys {
        let index = usize::try_from(entry[0].as_u64().unwrap()).unwrap();
        psbt.inputs[index].tap_merkle_root = entry[2]
            .as_str()
            .map(|root| TapNodeHash::from_slice(&bytes(root)).unwrap());
    }

    let mut current = psbt.serialize();
    for entry in keys {
        let listed = json!({"sign_inputs": [{"index": entry[0], "sighash": entry[3]}]});
        let wallet = key(entry[1].as_str().unwrap());
        let answer = sign(&wallet, &with(&current, listed)).unwrap();
        let index = usize::try_from(entry[0].as_u64().unwrap()).unwrap();
        assert_eq!(
            bytes(text(&answer, "signature")),
            signed.input[index].witness.to_vec()[0],
            "{index}"
        );
        current = signed_bytes(&answer);
    }
    let mut three = [0; 32];
    three[31] = 3;
    let last = key(&alloy_primitives::hex::encode(three));
    let answer = sign(&last, &with(&current, json!({"finalize": true}))).unwrap();
    assert_eq!(answer["finalized"], json!(true));
    assert_eq!(answer["encoding"], json!("hex"));
    assert_eq!(text(&answer, "signed_transaction"), file["signed"]);
}

/// BIP-322, `bip-0322/generated-test-vectors.json`, "full": those with one key. A full signature is `to_sign` as a signed
/// transaction, which makes it a vector for PSBTs of every kind of output that pays to one key.
#[test]
fn full_signatures_of_bip_322_are_made_as_transactions() {
    for (secret, address, message, expected) in [
        (
            "L2m4Wo96ZaFFd7cGFiv6SnCr1ntYEa6PVbfg6Z6gFCMW76ysZ6AT",
            "164P4mbDkPcyvRnFGAZd1ThjxSj7Fbsywz",
            "GI2SVNWVCWTEEIMFZFFZYAQNSA",
            "AgAAAAGEmHuloQANVIqnpMegGLNFKwAGE0Urv0a/uMiHnJ+FQwAAAABrSDBFAiEAr8VdqPCZU/oVqKKj2WwHfeCX/lzp+Rfk8d59cS9xdGECIAar0nievDdeVstmIgjfM7kzMepL6HrecBuJtgEitFxBASECzgU8WF30ffzpbdClcw/0NBkTCkuRbiEzr+CTXePjiPfgBwAAAQAAAAAAAAAAAWrgBwAA",
        ),
        (
            "KyAbLfXdznrXRfeaCQTXPzqT5k12FHwKBLKE8fk8KZ9ye7nQf1TA",
            "bc1qkwzsslep5elkuat4608v7tpntpr3d9n7w5cwwq",
            "YGIAANMREUXLFRI4HIEOCE4T23",
            "AgAAAAABAaVatLF3wpACTG5XowFYPJPv65lgTlZypjUV9d1DNduCAAAAAADgBwAAAQAAAAAAAAAAAWoCRzBEAiB+SJdR6bVLpv5+kK8pOXSUDS24rU53YkTQEvelQJ22uwIgEfqM8eYTupu4LtA0Tz7z1LIbhpP2PrUxWEt9osnrxFEBIQMasC7JaIHbbAUt1kU81yx7S4QHScnEDBs4GsdHDPMPSuAHAAA=",
        ),
        (
            "KyS1o2pNNmd5bfw4cnhVZLJus7CFLgbYBKB3GY2KQKuWKT8remsc",
            "37HVPoc7ZsU5C9Z2VKcCkSLzEknYXCzm3s",
            "OQXDXSR5SN5N7WRXSPTI462HKH",
            "AgAAAAABAbtjBsUTHnoyuNG4NGbx6cI1Z01QLlfGHJX/WIRCAU6/AAAAABcWABTGXFmsgRqCkic6D+eE4AKm1iyVhuAHAAABAAAAAAAAAAABagJHMEQCIBp/IMJTnnhI6YrHJwIQbfucoizq0esZ35QRxtpXuk7fAiAGx6kSd9BuPDY+R0sHTJU0ZFtScJI8ASojEHwrClKxDQEhAl3boe/68fHvtuYzRkaS3GOSxnUTJwejjrubm+czK+Yi4AcAAA==",
        ),
    ] {
        let script = script_of(address);
        let to_spend = bip322::to_spend(&script, message.as_bytes());
        let mut to_sign = bip322::to_sign(&to_spend);
        to_sign.version = Version::TWO;
        to_sign.lock_time = LockTime::from_consensus(2016);
        to_sign.input[0].sequence = Sequence(2016);
        let mut psbt = Psbt::from_unsigned_tx(to_sign).unwrap();
        psbt.inputs[0].non_witness_utxo = Some(to_spend);
        let finalize = with(&psbt.serialize(), json!({"finalize": true}));
        let answer = sign(&wif(secret), &finalize).unwrap();
        assert_eq!(
            bytes(text(&answer, "signed_transaction")),
            STANDARD.decode(expected).unwrap(),
            "{address}"
        );
    }
}

fn script_of(address: &str) -> ScriptBuf {
    let unchecked: Address<_> = address.parse().unwrap();
    unchecked
        .require_network(Network::Bitcoin)
        .unwrap()
        .script_pubkey()
}

/// BIP-340, `bip-0340/test-vectors.csv`, numbers 0 to 3: those with a secret key.
#[test]
fn keys_that_are_not_tweaked_sign_as_in_bip_340() {
    for (secret, public, auxiliary, digest, signature) in [
        (
            "0000000000000000000000000000000000000000000000000000000000000003",
            "f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9",
            "0000000000000000000000000000000000000000000000000000000000000000",
            "0000000000000000000000000000000000000000000000000000000000000000",
            "e907831f80848d1069a5371b402410364bdf1c5f8307b0084c55f1ce2dca821525f66a4a85ea8b71e482a74f382d2ce5ebeee8fdb2172f477df4900d310536c0",
        ),
        (
            "b7e151628aed2a6abf7158809cf4f3c762e7160f38b4da56a784d9045190cfef",
            "dff1d77f2a671c5f36183726db2341be58feae1da2deced843240f7b502ba659",
            "0000000000000000000000000000000000000000000000000000000000000001",
            "243f6a8885a308d313198a2e03707344a4093822299f31d0082efa98ec4e6c89",
            "6896bd60eeae296db48a229ff71dfe071bde413e6d43f917dc8dcf8c78de33418906d11ac976abccb20b091292bff4ea897efcb639ea871cfa95f6de339e4b0a",
        ),
        (
            "c90fdaa22168c234c4c6628b80dc1cd129024e088a67cc74020bbea63b14e5c9",
            "dd308afec5777e13121fa72b9cc1b7cc0139715309b086c960e18fd969774eb8",
            "c87aa53824b4d7ae2eb035a2b5bbbccc080e76cdc6d1692c4b0b62d798e6d906",
            "7e2d58d8b3bcdf1abadec7829054f90dda9805aab56c77333024b9d0a508b75c",
            "5831aaeed7b44bb74e5eab94ba9d4294c49bcf2a60728d8b4c200f50dd313c1bab745879a5ad954a72c45a91c3a51d3c7adea98d82f8481e0e1e03674a6f3fb7",
        ),
        (
            "0b432b2677937381aef05bb02a66ecd012773062cf3fa2549e44f58ed2401710",
            "25d1dff95105f5253c4022f628a996ad3a0d95fbf21d468a1b33f8c160d8f517",
            "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
            "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
            "7eb0509757e246f19449885651611cb965ecc1a187dd51b64fda1edc9637d5ec97582b9cb13db3933705b32ba982af5af25fd78881ebb32771fc5922efc66ea3",
        ),
    ] {
        let public = ::bitcoin::XOnlyPublicKey::from_slice(&bytes(public)).unwrap();
        let digest: [u8; 32] = bytes(digest).try_into().unwrap();
        let made = chain()
            .sign_schnorr(
                &key(secret),
                Tweaked::Not,
                digest,
                &public,
                &mut |buffer: &mut [u8]| buffer.copy_from_slice(&bytes(auxiliary)),
            )
            .unwrap();
        assert_eq!(made.serialize().to_vec(), bytes(signature));
    }
}
