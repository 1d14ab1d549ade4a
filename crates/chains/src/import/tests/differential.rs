//! What other libraries derive and write; which they are stands in the scripts beside the files.

use super::*;
use serde_json::Value;

/// Where each address stands in a row, behind its index.
const COLUMNS: [(WalletType, Environment); 8] = [
    (WalletType::Ethereum, LIVE),
    (WalletType::Solana, LIVE),
    (WalletType::Polkadot, LIVE),
    (WalletType::Stellar, LIVE),
    (WalletType::Bitcoin, LIVE),
    (WalletType::Bitcoin, TEST),
    (WalletType::Bitcoin, LIVE),
    (WalletType::Bitcoin, TEST),
];

/// Checks a column of the rows that `picks` takes, by the numbers of phrase and row, and says how many there were.
fn check(phrases: &Value, column: usize, picks: impl Fn(usize, usize) -> bool) -> usize {
    let (wallet_type, environment) = COLUMNS[column];
    let mut rows = 0;
    for (number, entry) in phrases.as_array().unwrap().iter().enumerate() {
        let phrase = entry[0].as_str().unwrap();
        let all = entry[1].as_array().unwrap().iter().enumerate();
        for (_, row) in all.filter(|(place, _)| picks(number, *place)) {
            let index = u32::try_from(row[0].as_u64().unwrap()).unwrap();
            let address = row[column + 1].as_str().unwrap();
            let key = derived(wallet_type, phrase, index, address, environment);
            assert!(key.is_ok(), "{phrase} {index} {address}");
            rows += 1;
        }
    }
    rows
}

/// All rows of one file, and of the other those that make every phrase and every index be met: a phrase costs 2048 hashes, and
/// tests are not optimised.
fn check_in_both_languages(column: usize) {
    let some = |number: usize, place: usize| (number + number / 5 + column) % 5 == place;
    let python: Value =
        serde_json::from_str(include_str!("../vectors/python_phrases.json")).unwrap();
    let javascript: Value =
        serde_json::from_str(include_str!("../vectors/javascript.json")).unwrap();
    assert_eq!(check(&python, column, |_, _| true), 200);
    assert_eq!(check(&javascript["phrases"], column, some), 40);
}

#[test]
fn ethereum_accounts_are_those_of_others() {
    check_in_both_languages(0);
}

#[test]
fn solana_accounts_are_those_of_others() {
    check_in_both_languages(1);
}

#[test]
fn polkadot_accounts_are_those_of_others() {
    check_in_both_languages(2);
}

#[test]
fn stellar_accounts_are_those_of_others() {
    check_in_both_languages(3);
}

#[test]
fn bitcoin_accounts_are_those_of_others() {
    check_in_both_languages(4);
}

#[test]
fn bitcoin_test_accounts_are_those_of_others() {
    check_in_both_languages(5);
}

#[test]
fn taproot_accounts_are_those_of_others() {
    check_in_both_languages(6);
}

#[test]
fn taproot_test_accounts_are_those_of_others() {
    check_in_both_languages(7);
}

fn wallet(name: &str) -> (WalletType, Environment) {
    match name {
        "ethereum" => (WalletType::Ethereum, LIVE),
        "solana" => (WalletType::Solana, LIVE),
        "polkadot" => (WalletType::Polkadot, LIVE),
        "stellar" => (WalletType::Stellar, LIVE),
        "bitcoin live" => (WalletType::Bitcoin, LIVE),
        "bitcoin test" => (WalletType::Bitcoin, TEST),
        other => panic!("{other}"),
    }
}

/// Every form of a key is the same key, and no other wallet's of its chain.
#[test]
fn keys_are_read_in_the_forms_of_others() {
    let rows: Vec<(String, String, Vec<String>)> =
        serde_json::from_str(include_str!("../vectors/python_keys.json")).unwrap();
    let mut forms = 0;
    for (number, (name, address, texts)) in rows.iter().enumerate() {
        let (wallet_type, environment) = wallet(name);
        let mut keys = Vec::new();
        for text in texts {
            let key = imported(wallet_type, text, address, environment);
            keys.push(key.unwrap_or_else(|error| panic!("{name} {text}: {error}")));
            forms += 1;
        }
        let first = keys[0].clone();
        keys.sort();
        keys.dedup();
        // Polkadot's seeds are kept as seeds, and expanded secrets as such.
        let kinds = if texts.len() == 9 { 2 } else { 1 };
        assert_eq!(keys.len(), kinds, "{name} {address}");
        let stranger = rows[..number]
            .iter()
            .rev()
            .find(|(other, ..)| other == name);
        if let Some((_, stranger, _)) = stranger.filter(|(_, stranger, _)| stranger != address) {
            let key = imported(wallet_type, &texts[0], stranger, environment);
            // Two forms of a Bitcoin address may be of one key.
            let same = chain(wallet_type).private_key(&first).unwrap();
            let public_key = chain(wallet_type).public_key(&same).unwrap();
            let owned = chain(wallet_type).owns(&public_key, stranger, environment);
            assert_eq!(key.is_ok(), owned, "{name} {text}", text = texts[0]);
        }
    }
    assert_eq!((rows.len(), forms), (180, 960));
}

/// polkadot.js multiplies the number by 8; what it wrote goes out again as it came in.
#[test]
fn the_secrets_of_polkadot_js_come_in_and_go_out() {
    let file: Value = serde_json::from_str(include_str!("../vectors/javascript.json")).unwrap();
    let rows = file["keys"].as_array().unwrap();
    let chain = chain(WalletType::Polkadot);
    for row in rows {
        let (address, secret) = (row[0].as_str().unwrap(), row[1].as_str().unwrap());
        let bytes = hex::decode(secret).unwrap();
        for plaintext in [secret.as_bytes(), &bytes] {
            let key = chain.import_key(plaintext, address, LIVE).unwrap();
            assert_eq!(key.expose().len(), 64);
            assert_eq!(
                chain.private_key(key.expose()).unwrap().expose(),
                key.expose()
            );
            assert_eq!(*chain.export_key(&key).unwrap(), bytes);
        }
    }
    assert_eq!(rows.len(), 40);
}
