use super::{Change, JournalEntry, JournaledApp, SignedChange};
use crate::envelope::{AppKey, KeyPurpose, Mac, WalletKey, WrappedKey};
use crate::ids::Id;
use crate::wallet::{StoredWallet, Wallet, WalletType};
use crate::{Environment, Timestamp, World};

const AT: Timestamp = Timestamp::from_unix(1_800_000_000);

fn id<I: Id>(byte: u8) -> I {
    I::new(AT, [byte; 16])
}

fn app_key(purpose: KeyPurpose) -> AppKey {
    AppKey {
        world: World::new(id(1), Environment::Live),
        purpose,
        version: 2,
        wrapped: WrappedKey {
            root_version: 3,
            bytes: vec![0, 255, 7],
        },
        created_at: AT,
    }
}

fn wallet() -> (StoredWallet, WalletKey) {
    let wallet = Wallet {
        id: id(2),
        world: World::new(id(1), Environment::Live),
        user_id: id(3),
        key_id: Some(id(4)),
        wallet_type: WalletType::Polkadot,
        public_address: "5F3sa2TJAWMqDhXG6jhV4N8ko9SxwGy8TpaNS1repo5EYjQX".to_owned(),
        verified: true,
        is_default: true,
        is_read_only: false,
        is_imported: true,
        account_index: Some(7),
        disabled: None,
        created_at: AT,
        updated_at: AT,
    };
    let mac = Mac {
        key_version: 2,
        tag: vec![9; 32],
    };
    let key = WalletKey {
        id: id(4),
        wallet_id: id(2),
        public_key: vec![1; 32],
        format: 1,
        key_version: 2,
        wrapped_data_key: vec![2; 60],
        ciphertext: vec![3; 61],
    };
    (StoredWallet { wallet, mac }, key)
}

#[test]
fn every_entry_is_read_back_from_its_line() {
    let (row, key) = wallet();
    let entries = [
        JournalEntry::App(JournaledApp {
            id: id(1),
            name: "Shop \"π\"\n".to_owned(),
            created_at: AT,
            keys: vec![app_key(KeyPurpose::Wallets), app_key(KeyPurpose::Secrets)],
        }),
        JournalEntry::wallet(row, key, app_key(KeyPurpose::Wallets)).unwrap(),
        JournalEntry::Change(SignedChange {
            body: change().body().unwrap(),
            mac: Mac {
                key_version: 1,
                tag: vec![5; 32],
            },
        }),
    ];
    for entry in entries {
        let line = entry.line().unwrap();
        assert!(!line.contains('\n'), "{line}");
        assert_eq!(JournalEntry::parse(&line), Some(entry));
    }
}

fn change() -> Change {
    Change {
        event: id(6),
        world: World::new(id(1), Environment::Test),
        what: "user.disabled".to_owned(),
        data: "{\"user_id\":\"x\"}".to_owned(),
        at: AT,
    }
}

#[test]
fn a_change_is_read_back_from_its_body() {
    let body = change().body().unwrap();
    assert_eq!(Change::parse(&body), Some(change()));
    assert_eq!(Change::parse("{}"), None);
}

#[test]
fn only_a_new_wallet_with_its_key_becomes_an_entry() {
    let (row, key) = wallet();
    let app_key = app_key(KeyPurpose::Wallets);
    let entry = |change: fn(&mut Wallet)| {
        let mut row = row.clone();
        change(&mut row.wallet);
        JournalEntry::wallet(row, key.clone(), app_key.clone())
    };
    assert!(entry(|_| {}).is_some());
    assert!(entry(|wallet| wallet.key_id = None).is_none());
    assert!(entry(|wallet| wallet.key_id = Some(id(9))).is_none());
    assert!(entry(|wallet| wallet.is_read_only = true).is_none());
}

#[test]
fn other_lines_are_no_entries() {
    let (row, key) = wallet();
    let entry = JournalEntry::wallet(row, key, app_key(KeyPurpose::Wallets)).unwrap();
    let line = entry.line().unwrap();
    let half = line.get(..line.len() / 2).unwrap();
    for bad in [
        "",
        "{}",
        "{\"kind\":\"later\"}",
        half,
        &line.replace("DOT", "DOGE"),
    ] {
        assert_eq!(JournalEntry::parse(bad), None, "{bad}");
    }
}
