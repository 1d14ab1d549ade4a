//! Sealed messages of imports (HPKE), through custody.
//!
//! The first byte selects chain, kind of key pair and content. The rest is a made-up message, changes to a valid one, or a plaintext that
//! is properly sealed. No made-up message opens. One that opens gives a wallet of the address, or is refused because of its address.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use vestry_chains::Chains;
use vestry_contract::sealing::{Manner, seal};
use vestry_domain::Secret;
use vestry_domain::key_transfer::{
    AeadAlgorithm, EntropyType, ImportKey, Kem, Origin, SealedMessage,
};
use vestry_domain::wallet::{AddressForm, WalletType};
use vestry_fuzz::custody::{House, NOW, id};
use vestry_fuzz::input::{altered, choice, pick};
use vestry_ports::custody::{Custodian, ImportError, ImportKeyOrder, ImportOrder, WalletOrder};

/// The address whose key is expected, for each chain: that of a key of sevens.
struct Awaited {
    house: House,
    /// By chain, kind of key pair and kind of secret.
    keys: Vec<ImportKey>,
}

const KEY: [u8; 32] = [7; 32];
const KEMS: [Kem; 2] = [Kem::X25519, Kem::P256];

static AWAITED: LazyLock<Awaited> = LazyLock::new(|| {
    let house = House::new();
    let chains = Chains::new(&Secret::new([1; 32]));
    let mut keys = Vec::new();
    for wallet_type in WalletType::ALL {
        let chain = chains.get(wallet_type);
        let key = chain.private_key(&KEY).expect("a key");
        let public_key = chain.public_key(&key).expect("a public key");
        let address = chain.address(&public_key, house.world.environment);
        let public_address = address.expect("an address");
        for kem in KEMS {
            for entropy_type in EntropyType::ALL {
                let order = ImportKeyOrder {
                    id: id(2),
                    world: house.world,
                    origin: Origin {
                        wallet_type,
                        public_address: public_address.clone(),
                        entropy_type,
                    },
                    account_index: None,
                    user_id: None,
                    kem,
                    created_at: NOW,
                };
                keys.push(
                    house
                        .wait(house.custody.begin_import(order))
                        .expect("a key pair"),
                );
            }
        }
    }
    Awaited { house, keys }
});

/// The encapsulated key, `info`, `aad` and ciphertext, each preceded by a length byte except the last.
fn from_nowhere(rest: &[u8], length: usize) -> Option<SealedMessage> {
    let (encapsulated_key, rest) = rest.split_at_checked(length)?;
    let (first, rest) = choice(rest)?;
    let (info, rest) = rest.split_at_checked(first)?;
    let (first, rest) = choice(rest)?;
    let (aad, ciphertext) = rest.split_at_checked(first)?;
    Some(SealedMessage {
        encapsulated_key: encapsulated_key.to_vec(),
        ciphertext: ciphertext.to_vec(),
        aead: None,
        info: info.to_vec(),
        aad: aad.to_vec(),
    })
}

fuzz_target!(|data: &[u8]| {
    let Some((number, rest)) = choice(data) else {
        return;
    };
    let Some((manner, rest)) = choice(rest) else {
        return;
    };
    let key = pick(&AWAITED.keys, number);
    let (message, may_open) = match manner & 3 {
        0 => {
            let length = if manner & 4 == 0 {
                key.public_key.len()
            } else {
                manner >> 3
            };
            let Some(message) = from_nowhere(rest, length) else {
                return;
            };
            (message, false)
        }
        // The right key, sealed and then altered.
        1 => {
            let sealed = seal(&key.public_key, &KEY, Manner::default());
            let ciphertext = altered(&sealed.ciphertext, rest);
            let may_open = ciphertext == sealed.ciphertext;
            (
                SealedMessage {
                    ciphertext,
                    ..sealed
                },
                may_open,
            )
        }
        _ => {
            let manner = Manner {
                aead: AeadAlgorithm::ALL[manner >> 2 & 1],
                is_named: manner & 8 != 0,
                ..Manner::default()
            };
            (seal(&key.public_key, rest, manner), true)
        }
    };
    let order = ImportOrder {
        wallet: WalletOrder {
            wallet_id: id(3),
            key_id: id(4),
            world: AWAITED.house.world,
            user_id: id(5),
            wallet_type: key.origin.wallet_type,
            address_form: AddressForm::Usual,
            created_at: NOW,
        },
        public_address: key.origin.public_address.clone(),
        entropy_type: key.origin.entropy_type,
        account_index: None,
        message,
    };
    let custody = &AWAITED.house.custody;
    match AWAITED.house.wait(custody.import(order, vec![key.clone()])) {
        Ok(imported) => {
            assert!(may_open, "an unsealed message was opened");
            assert_eq!(
                imported.as_default.wallet.public_address,
                key.origin.public_address
            );
        }
        Err(ImportError::AddressMismatch) => assert!(may_open, "an unsealed message was opened"),
        Err(ImportError::Undecipherable) => assert!(!may_open, "a sealed message does not open"),
        Err(ImportError::Custody(error)) => panic!("{error:?}"),
    }
});
