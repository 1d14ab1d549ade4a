//! Properties of every chain in the build.

use super::*;

#[test]
fn every_chain_that_is_handed_out_serves_the_type_it_was_asked_for() {
    let chains = Chains::new(&Secret::new([7; 32]));
    for wallet_type in WalletType::ALL {
        assert_eq!(chains.get(wallet_type).wallet_type(), wallet_type);
    }
}

#[test]
fn a_source_that_yields_no_key_is_reported_and_not_asked_for_ever() {
    let chains = Chains::new(&Secret::new([7; 32]));
    let chain = chains.get(WalletType::Ethereum);
    let mut draws = 0;
    let mut zeros = |bytes: &mut [u8]| {
        draws += 1;
        bytes.fill(0);
    };
    assert_eq!(
        chain.generate(&mut zeros).err(),
        Some(ChainError::Randomness)
    );
    assert!((1..100).contains(&draws));
}

#[test]
fn a_draw_outside_the_range_is_thrown_away_and_the_next_one_taken() {
    let chains = Chains::new(&Secret::new([7; 32]));
    let chain = chains.get(WalletType::Ethereum);
    let mut next = [0xff_u8, 0x00, 0x11, 0x22].into_iter();
    let key = chain
        .generate(&mut |bytes: &mut [u8]| bytes.fill(next.next().unwrap()))
        .unwrap();
    assert_eq!(key.expose(), &[0x11; 32]);
}
