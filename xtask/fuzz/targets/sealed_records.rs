//! Stored records, altered: a wallet row, its key, and a sealed secret (T1 to T6).
//!
//! Any alteration must be rejected as tampering and in no other way; unaltered records must sign.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use vestry_domain::envelope::{Place, Sealed, SecretKind, WalletKey};
use vestry_domain::signing::SigningRequest;
use vestry_domain::wallet::{AddressForm, StoredWallet, WalletType};
use vestry_fuzz::custody::{House, NOW, id};
use vestry_fuzz::input::{altered, choice};
use vestry_ports::custody::{Custodian, CustodyError, Sealer, WalletOrder};

struct Stored {
    house: House,
    wallets: Vec<(StoredWallet, WalletKey)>,
    secret: Sealed,
}

const SECRET: &[u8] = b"otpauth seed 1234567";
const OWNER: &str = "totp_000000000000000000000000000";

fn place(house: &House) -> Place<'static> {
    Place {
        world: house.world,
        kind: SecretKind::TotpSeed,
        owner: OWNER,
    }
}

static STORED: LazyLock<Stored> = LazyLock::new(|| {
    let house = House::new();
    let order = |wallet_type| WalletOrder {
        wallet_id: id(3),
        key_id: id(4),
        world: house.world,
        user_id: id(5),
        wallet_type,
        address_form: AddressForm::Usual,
        created_at: NOW,
    };
    let wallets = [WalletType::Ethereum, WalletType::Solana].map(|kind| {
        house
            .wait(house.custody.create_wallet(order(kind)))
            .expect("a wallet")
    });
    let secret = house
        .wait(house.custody.seal(place(&house), SECRET))
        .expect("a secret");
    Stored {
        wallets: wallets.into(),
        secret,
        house,
    }
});

fn number(original: u32, changes: &[u8]) -> u32 {
    let bytes = altered(&original.to_be_bytes(), changes);
    u32::from_be_bytes(bytes.try_into().unwrap_or_default())
}

fn text(original: &str, changes: &[u8]) -> String {
    String::from_utf8_lossy(&altered(original.as_bytes(), changes)).into_owned()
}

fuzz_target!(|data: &[u8]| {
    let Some((what, changes)) = choice(data) else {
        return;
    };
    let Stored {
        house,
        wallets,
        secret,
    } = &*STORED;
    if what & 15 == 15 {
        let changed = Sealed {
            key_version: number(secret.key_version, &changes[..changes.len().min(what >> 4)]),
            bytes: altered(&secret.bytes, changes),
        };
        match house.wait(house.custody.open(place(house), &changed)) {
            Ok(opened) => {
                assert!(changed == *secret, "an altered secret was opened");
                assert_eq!(opened.expose(), SECRET);
            }
            Err(CustodyError::Tampered { .. }) => assert!(changed != *secret),
            Err(error) => panic!("{error:?}"),
        }
        return;
    }
    let (right_row, right_key) = &wallets[what >> 4 & 1];
    let (mut row, mut key) = (right_row.clone(), right_key.clone());
    match what & 15 {
        0 => key.ciphertext = altered(&key.ciphertext, changes),
        1 => key.wrapped_data_key = altered(&key.wrapped_data_key, changes),
        2 => key.public_key = altered(&key.public_key, changes),
        3 => key.format = number(key.format, changes),
        4 => key.key_version = number(key.key_version, changes),
        5 => row.mac.tag = altered(&row.mac.tag, changes),
        6 => row.mac.key_version = number(row.mac.key_version, changes),
        7 => row.wallet.public_address = text(&row.wallet.public_address, changes),
        8 => row.wallet.account_index = Some(number(0, changes)),
        9 => row.wallet.is_imported ^= changes.first().is_some_and(|bit| bit & 1 != 0),
        10 => row.wallet.wallet_type = WalletType::ALL[changes.len() % 5],
        11 => key.wallet_id = id(changes.first().copied().unwrap_or(3)),
        12 => row.wallet.user_id = id(changes.first().copied().unwrap_or(5)),
        // Two records, each valid on its own.
        13 => key = wallets[changes.len() & 1].1.clone(),
        _ => {
            key.ciphertext = changes.to_vec();
            key.wrapped_data_key = changes.iter().rev().copied().collect();
        }
    }
    let is_right = row == *right_row && key == *right_key;
    let request = SigningRequest::message("message");
    match house.wait(house.custody.sign(row, key, &request)) {
        Ok(_) => assert!(is_right, "an altered record signs"),
        Err(CustodyError::Tampered { .. }) => assert!(!is_right, "the right record does not sign"),
        Err(error) => panic!("{error:?}"),
    }
});
