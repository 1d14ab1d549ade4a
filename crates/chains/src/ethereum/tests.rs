//! Vectors, each with its source, and what must be refused.

use alloy_primitives::{hex, keccak256};
use bitcoin::hashes::{Hash, sha256};
use proptest::prelude::*;

use super::*;

/// n − 1 of secp256k1 (SEC 2 section 2.4.1), the largest private key.
const LARGEST: &str = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140";

fn ethereum() -> Ethereum {
    Ethereum::new(&Secret::new([0x42; 32]))
}

/// Messages without the reading of requests.
impl Ethereum {
    fn sign_message(&self, key: &PrivateKey, message: &[u8]) -> Result<Vec<u8>, ChainError> {
        self.sign_digest(key, eip191_hash_message(message).0)
    }

    fn verify_message(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), ChainError> {
        self.verify_digest(public_key, eip191_hash_message(message).0, signature)
    }
}

fn bytes(text: &str) -> Vec<u8> {
    hex::decode(text).unwrap()
}

fn key(text: &str) -> PrivateKey {
    ethereum().private_key(&bytes(text)).unwrap()
}

fn small(number: u8) -> PrivateKey {
    let mut bytes = [0; 32];
    bytes[31] = number;
    ethereum().private_key(&bytes).unwrap()
}

fn address_of(key: &PrivateKey) -> String {
    let chain = ethereum();
    Ethereum::address_of(&chain.public_key(key).unwrap()).unwrap()
}

fn signed(key: &PrivateKey, message: &[u8]) -> String {
    let chain = ethereum();
    let signature = chain.sign_message(key, message).unwrap();
    hex::encode_prefixed(signature)
}

/// Key of `m/44'/60'/0'/0/0` of the phrase `abandon … about`.
const ABANDON: &str = "0x1ab42cc412b618bdea3a599e3c9bae199ebf030895b039e9db1e30dafb12b727";

#[test]
fn the_first_key_of_the_abandon_phrase_has_the_address_that_ethers_and_eth_account_compute() {
    assert_eq!(
        address_of(&key(ABANDON)),
        "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"
    );
}

#[test]
fn hello_is_signed_as_eth_account_signs_it() {
    assert_eq!(
        signed(&key(ABANDON), b"hello"),
        "0x22f6b9cd7ff4f321e11181c4fe64adeea9469908fb514fbb6001fe022002dfda1f4ec9ea436bad14a7823806487d3aeb39b22e2556590922d6a8308971a17e991c"
    );
}

/// web3.js documentation, `eth.accounts.sign`.
#[test]
fn some_data_is_hashed_and_signed_as_in_the_web3_js_documentation() {
    let key = key("0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318");
    assert_eq!(
        address_of(&key),
        "0x2c7536E3605D9C16a7a3D7b1898e529396a65c23"
    );
    assert_eq!(
        eip191_hash_message("Some data").to_string(),
        "0x1da44b586eb0729ff70a73c326926f6ed5a25f5b056e7f47fbc6e58d86871655"
    );
    assert_eq!(
        signed(&key, b"Some data"),
        "0xb91467e570a6466aa9e9876cbcd013baba02900b8979d43fe208a4a4f339f5fd6007e74cd82e037b800186422fc2da167c747ef045e5d18a5f5d4300f8e1a0291c"
    );
}

/// The first development account of Hardhat and Anvil; keys 1 and 2 as on every block explorer.
#[test]
fn well_known_keys_have_their_well_known_addresses() {
    let hardhat = key("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");
    assert_eq!(
        address_of(&hardhat),
        "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
    );
    assert_eq!(
        address_of(&small(1)),
        "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf"
    );
    assert_eq!(
        address_of(&small(2)),
        "0x2B5AD5c4795c026514f8317c7a215E218DcCD6cF"
    );
}

/// SEC 2 section 2.4.1: key 1 is the base point, key n − 1 its mirror image.
#[test]
fn the_smallest_and_the_largest_key_have_the_base_point_and_its_negative() {
    let x = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
    let chain = ethereum();
    assert_eq!(
        chain.public_key(&small(1)).unwrap(),
        bytes(&format!("02{x}"))
    );
    assert_eq!(
        chain.public_key(&key(LARGEST)).unwrap(),
        bytes(&format!("03{x}"))
    );
}

/// EIP-55, section "Test Cases": all caps, all lower case, mixed (ETH-1).
#[test]
fn addresses_have_the_mixed_case_of_eip_55() {
    for address in [
        "0x52908400098527886E0F7030069857D2E4169EE7",
        "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
        "0xde709f2102306220921060314715629080e2fb77",
        "0x27b1fdb04752bbc536007a920d24acb045561c26",
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
        "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
    ] {
        let plain: Address = address.to_lowercase().parse().unwrap();
        assert_eq!(plain.to_checksum(None), address);
    }
}

/// RFC 6979 itself has no secp256k1; these pairs of SHA-256 messages and signatures go round among Bitcoin
/// libraries (bitcoinjs-lib, trezor-crypto, libsecp256k1-py) and agree everywhere (ETH-2, KEY-11).
#[test]
fn nonces_are_those_of_rfc_6979() {
    let tears = "All those moments will be lost in time, like tears in rain. Time to die...";
    let largest = key(LARGEST);
    let cases = [
        (
            small(1),
            "Satoshi Nakamoto",
            "934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d8",
            "2442ce9d2b916064108014783e923ec36b49743e2ffa1c4496f01a512aafd9e5",
        ),
        (
            small(1),
            tears,
            "8600dbd41e348fe5c9465ab92d23e3db8b98b873beecd930736488696438cb6b",
            "547fe64427496db33bf66019dacbf0039c04199abb0122918601db38a72cfc21",
        ),
        (
            largest,
            "Satoshi Nakamoto",
            "fd567d121db66e382991534ada77a6bd3106f0a1098c231e47993447cd6af2d0",
            "6b39cd0eb1bc8603e159ef5c20a5c8ad685a45b06ce9bebed3f153d10d93bed5",
        ),
        (
            key("f8b8af8ce3c7cca5e300d33939540c10d45ce001b8f252bfbc57ba0342904181"),
            "Alan Turing",
            "7063ae83e7f62bbb171798131b4a0564b956930092b33b07b395615d9ec7e15c",
            "58dfcc1e00a35e1572f366ffe34ba0fc47db1e7189759b9fb233c5b05ab388ea",
        ),
    ];
    for (key, message, r, s) in cases {
        let digest = sha256::Hash::hash(message.as_bytes()).to_byte_array();
        let signature = ethereum().sign_digest(&key, digest).unwrap();
        assert_eq!(signature[..64], bytes(&format!("{r}{s}")), "{message}");
    }
}

#[test]
fn the_digest_is_keccak_over_prefix_decimal_length_and_bytes_as_eip_191_says() {
    for length in [0_usize, 1, 9, 10, 99, 100, 1000, 65_536] {
        let message = vec![0xE4; length];
        let mut framed = b"\x19Ethereum Signed Message:\n".to_vec();
        framed.extend_from_slice(length.to_string().as_bytes());
        framed.extend_from_slice(&message);
        assert_eq!(eip191_hash_message(&message), keccak256(&framed));
    }
}

#[test]
fn numbers_outside_the_range_and_other_lengths_are_no_private_keys() {
    let chain = ethereum();
    let order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
    let refused = [
        vec![0; 32],
        bytes(order),
        vec![0xff; 32],
        vec![],
        vec![1; 31],
        vec![1; 33],
        vec![1; 64],
    ];
    for bytes in refused {
        assert_eq!(
            chain.private_key(&bytes).err(),
            Some(ChainError::PrivateKey)
        );
    }
    assert!(chain.private_key(&bytes(LARGEST)).is_ok());
}

#[test]
fn only_compressed_points_of_the_curve_are_public_keys() {
    let chain = ethereum();
    let good = chain.public_key(&small(1)).unwrap();
    let uncompressed = bitcoin::secp256k1::PublicKey::from_slice(&good)
        .unwrap()
        .serialize_uncompressed();
    let mut hybrid = uncompressed;
    hybrid[0] = 6;
    let mut other_prefix = good.clone();
    other_prefix[0] = 4;
    // x = 5 is on no point of secp256k1: 5³ + 7 = 132 is not a square.
    let mut off_curve = vec![0; 33];
    off_curve[0] = 2;
    off_curve[32] = 5;
    let too_long = [good.as_slice(), &[0]].concat();
    let refused = [
        uncompressed.to_vec(),
        hybrid.to_vec(),
        other_prefix,
        off_curve,
        too_long,
        good[..32].to_vec(),
        vec![],
    ];
    let signature = chain.sign_message(&small(1), b"m").unwrap();
    for bytes in refused {
        assert_eq!(
            Ethereum::address_of(&bytes).err(),
            Some(ChainError::PublicKey)
        );
        assert_eq!(
            chain.verify_message(&bytes, b"m", &signature),
            Err(ChainError::PublicKey)
        );
    }
    assert!(Ethereum::address_of(&good).is_ok());
    assert_eq!(chain.verify_message(&good, b"m", &signature), Ok(()));
}

/// The mirror image: n − s with the other parity recovers to the same key, and is refused all the same.
#[test]
fn a_high_s_is_refused() {
    let chain = ethereum();
    let public_key = chain.public_key(&small(3)).unwrap();
    let mut signature = chain.sign_message(&small(3), b"m").unwrap();
    let order: [u8; 32] = bytes("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141")
        .try_into()
        .unwrap();
    let mut borrow = 0_i16;
    for place in (0..32).rev() {
        let difference = i16::from(order[place]) - i16::from(signature[32 + place]) - borrow;
        borrow = i16::from(difference < 0);
        signature[32 + place] = u8::try_from(difference.rem_euclid(256)).unwrap();
    }
    signature[64] = 27 + 28 - signature[64];

    let recovery = RecoveryId::from_i32(i32::from(signature[64] - 27)).unwrap();
    let mirrored = RecoverableSignature::from_compact(&signature[..64], recovery).unwrap();
    let digest = Message::from_digest(eip191_hash_message(b"m").0);
    let recovered = chain.curve.recover_ecdsa(&digest, &mirrored).unwrap();
    assert_eq!(recovered.serialize().to_vec(), public_key);

    assert_eq!(
        chain.verify_message(&public_key, b"m", &signature),
        Err(ChainError::Signature)
    );
}

#[test]
fn every_flipped_bit_and_every_other_length_of_a_signature_is_refused() {
    let chain = ethereum();
    let public_key = chain.public_key(&small(3)).unwrap();
    let signature = chain.sign_message(&small(3), b"m").unwrap();
    assert_eq!(chain.verify_message(&public_key, b"m", &signature), Ok(()));
    for bit in 0..signature.len() * 8 {
        let mut altered = signature.clone();
        altered[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(
            chain.verify_message(&public_key, b"m", &altered),
            Err(ChainError::Signature),
            "bit {bit}"
        );
    }
    for length in 0..signature.len() {
        assert_eq!(
            chain.verify_message(&public_key, b"m", &signature[..length]),
            Err(ChainError::Signature)
        );
    }
    let longer = [signature.as_slice(), &[0]].concat();
    assert_eq!(
        chain.verify_message(&public_key, b"m", &longer),
        Err(ChainError::Signature)
    );
}

proptest! {
    /// Signatures verify under their own key and message, recover to their own address, repeat, and have the
    /// promised form; under another key or message they do not verify.
    #[test]
    fn what_is_signed_verifies_and_recovers(
        mut secret in proptest::array::uniform32(any::<u8>()),
        message in proptest::collection::vec(any::<u8>(), 0..200),
        other in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        secret[0] &= 0x7f;
        secret[31] |= 1;
        let chain = ethereum();
        let key = chain.private_key(&secret).unwrap();
        let public_key = chain.public_key(&key).unwrap();
        let signature = chain.sign_message(&key, &message).unwrap();

        prop_assert_eq!(signature.len(), 65);
        prop_assert!(signature[64] == 27 || signature[64] == 28);
        prop_assert!(signature[32] < 0x80);
        prop_assert_eq!(&chain.sign_message(&key, &message).unwrap(), &signature);
        prop_assert_eq!(chain.verify_message(&public_key, &message, &signature), Ok(()));

        // Recovery by hand, as a contract's ecrecover does it.
        let recovery = RecoveryId::from_i32(i32::from(signature[64]) - 27).unwrap();
        let parsed = RecoverableSignature::from_compact(&signature[..64], recovery).unwrap();
        let digest = Message::from_digest(eip191_hash_message(&message).0);
        let point = Secp256k1::new().recover_ecdsa(&digest, &parsed).unwrap().serialize_uncompressed();
        let address = Address::from_slice(&keccak256(&point[1..])[12..]);
        prop_assert_eq!(address.to_checksum(None), Ethereum::address_of(&public_key).unwrap());

        if other != message {
            prop_assert_eq!(
                chain.verify_message(&public_key, &other, &signature),
                Err(ChainError::Signature)
            );
        }
        let stranger = chain.public_key(&small(9)).unwrap();
        prop_assert_eq!(
            chain.verify_message(&stranger, &message, &signature),
            Err(ChainError::Signature)
        );
    }

    /// Blinding hides work from onlookers; it must not change a single byte of a result.
    #[test]
    fn blinding_changes_no_result(blinding in proptest::array::uniform32(any::<u8>())) {
        let blinded = Ethereum::new(&Secret::new(blinding));
        let key = small(5);
        prop_assert_eq!(blinded.public_key(&key), ethereum().public_key(&key));
        prop_assert_eq!(blinded.sign_message(&key, b"m"), ethereum().sign_message(&key, b"m"));
    }
}

mod arbitrary;
mod methods;
mod samples;
mod support;
mod transactions;
mod transactions_refused;
mod typed_data;
mod typed_data_refused;
mod user_operations;
mod vectors;
