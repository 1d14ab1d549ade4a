//! RFC 8032 vectors through our own functions, and inputs that must not verify.

use super::*;

/// RFC 8032 section 7.1: seed, public key, message, signature of TEST 1, 2, 3 and TEST SHA(abc).
const RFC_8032: [[&str; 4]; 4] = [
    [
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ],
    [
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ],
    [
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ],
    [
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
    ],
];

fn bytes(text: &str) -> Vec<u8> {
    hex::decode(text).unwrap()
}

#[test]
fn the_vectors_of_rfc_8032_are_signed_and_verified() {
    for [seed, public, message, signature] in RFC_8032 {
        let key = private_key(&bytes(seed)).unwrap();
        assert_eq!(public_key(&key).unwrap().to_vec(), bytes(public));
        let signed = sign(&key, &bytes(public), &bytes(message)).unwrap();
        assert_eq!(signed.to_vec(), bytes(signature));
    }
}

#[test]
fn a_signature_of_another_key_is_never_handed_out() {
    let [[seed, ..], [_, other, ..], ..] = RFC_8032;
    let key = private_key(&bytes(seed)).unwrap();
    for expected in [&bytes(other)[..], &[], &[0; 31], &[0; 32]] {
        assert_eq!(sign(&key, expected, b"m"), Err(ChainError::Signature));
    }
}

#[test]
fn every_flipped_bit_and_every_other_length_is_refused() {
    let [_, [_, public, message, signature], ..] = RFC_8032;
    let (public, message, signature) = (bytes(public), bytes(message), bytes(signature));
    assert_eq!(verify(&public, &message, &signature), Ok(()));
    for bit in 0..signature.len() * 8 {
        let mut altered = signature.clone();
        altered[bit / 8] ^= 1 << (bit % 8);
        assert!(verify(&public, &message, &altered).is_err(), "bit {bit}");
    }
    for length in 0..signature.len() {
        assert!(verify(&public, &message, &signature[..length]).is_err());
    }
    assert!(verify(&public, &message, &[&signature[..], &[0]].concat()).is_err());
}

/// Keys of small order ("Taming the many EdDSAs", Chalkias and others, table 6), for which some signatures verify over any message.
#[test]
fn keys_of_small_order_are_no_public_keys() {
    for key in [
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    ] {
        assert_eq!(
            parse_public_key(&bytes(key)).err(),
            Some(ChainError::PublicKey),
            "{key}"
        );
    }
    let mut everything = [0; 64];
    everything[0] = 1;
    let neutral = bytes(RFC_8032[0][1]);
    assert!(verify(&neutral, b"m", &everything).is_err());
}

#[test]
fn only_32_bytes_are_a_seed() {
    for length in [0, 1, 31, 33, 64] {
        let refused = private_key(&vec![1; length]).err();
        assert_eq!(refused, Some(ChainError::PrivateKey));
    }
}

/// C2SP/wycheproof, `testvectors_v1/ed25519_test.json`, with the labelled result of each vector.
#[test]
fn wycheproof_is_decided_as_labelled() {
    let file: serde_json::Value =
        serde_json::from_str(include_str!("vectors/wycheproof.json")).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 151);
    for case in cases {
        let [public_key, message, signature] =
            [1, 2, 3].map(|at| bytes(case[at].as_str().unwrap()));
        let is_valid = case[4] == "valid";
        let verified = verify(&public_key, &message, &signature);
        assert_eq!(verified.is_ok(), is_valid, "tcId {}", case[0]);
    }
}
