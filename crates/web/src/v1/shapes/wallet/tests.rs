use super::*;

/// Every described name is one that the domain accepts, and each chain has two.
#[test]
fn the_described_names_are_those_of_the_domain() {
    let names = wallet_type_names().enum_values.unwrap();
    let mut chains: Vec<WalletType> = names
        .iter()
        .map(|name| name.as_str().unwrap().parse().unwrap())
        .collect();
    chains.sort_unstable();
    let twice: Vec<WalletType> = WalletType::ALL
        .into_iter()
        .flat_map(|chain| [chain, chain])
        .collect();
    assert_eq!(chains, twice);
}
