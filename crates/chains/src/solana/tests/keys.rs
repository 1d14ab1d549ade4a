use super::*;

/// CH-1, SOL-1: bip-utils and solders agree.
#[test]
fn the_first_key_of_the_abandon_phrase_has_its_address() {
    let wallet = Wallet::of_seed(ABANDON);
    assert_eq!(
        wallet.address,
        "HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk"
    );
    let live = Solana.address(&wallet.public_key, Environment::Live);
    assert_eq!(live.as_ref(), Ok(&wallet.address));
}

/// The file of `solana-keygen` holds 64 numbers: seed and public key.
#[test]
fn a_pair_is_taken_when_its_halves_fit() {
    let wallet = Wallet::of_seed(ABANDON);
    let pair = [wallet.key.expose(), &wallet.public_key].concat();
    let key = Solana.private_key(&pair).unwrap();
    assert_eq!(key.expose(), wallet.key.expose());
    for bit in 0..512 {
        let mut altered = pair.clone();
        altered[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(
            Solana.private_key(&altered).err(),
            Some(ChainError::PrivateKey),
            "bit {bit}"
        );
    }
    for length in (0..64).filter(|length| *length != 32) {
        assert!(Solana.private_key(&pair[..length]).is_err(), "{length}");
    }
    assert!(Solana.private_key(&[&pair[..], &[0]].concat()).is_err());
}

#[test]
fn what_is_no_point_has_no_address() {
    for bytes in [&[][..], &[1; 31], &[1; 33], &[0; 32], &[2; 32], &[255; 32]] {
        assert_eq!(
            Solana.address(bytes, Environment::Live),
            Err(ChainError::PublicKey)
        );
    }
}

#[test]
fn a_drawn_key_is_the_bytes_of_the_source() {
    let key = Solana.generate(&mut |bytes: &mut [u8]| bytes.fill(9));
    assert_eq!(key.unwrap().expose(), &[9; 32]);
}
