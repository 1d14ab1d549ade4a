//! Import and export of private keys.

use vestry_domain::World;
use vestry_domain::ids::UserId;
use vestry_domain::key_transfer::{
    AeadAlgorithm, EntropyType, ImportKey, Kem, LIFETIME, Origin, SealedMessage,
};
use vestry_domain::wallet::{Wallet, WalletType};
use vestry_ports::custody::{
    CustodyError, ExportError, ImportError, ImportKeyOrder, ImportOrder, ImportedWallet,
};

use super::{House, changed_bits, is_tampered, order, other_lengths, works};
use crate::samples::{Samples, other_environment};
use crate::sealing::{self, Manner, Recipient};

/// An Ethereum private key with its address, from the web3.js documentation.
const KEY: &str = "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318";
const ADDRESS: &str = "0x2c7536E3605D9C16a7a3D7b1898e529396a65c23";
/// Another address.
const OTHER: &str = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

fn key() -> Vec<u8> {
    let digits = KEY.as_bytes().chunks_exact(2);
    let bytes = digits.filter_map(|pair| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    });
    bytes.collect()
}

fn key_order(samples: &mut Samples, world: World, kem: Kem) -> ImportKeyOrder {
    let created_at = samples.tick();
    ImportKeyOrder {
        id: samples.id(created_at),
        world,
        origin: Origin {
            wallet_type: WalletType::Ethereum,
            public_address: ADDRESS.to_owned(),
            entropy_type: EntropyType::PrivateKey,
        },
        account_index: None,
        user_id: None,
        kem,
        created_at,
    }
}

fn import_order(
    samples: &mut Samples,
    world: World,
    user_id: UserId,
    message: SealedMessage,
) -> ImportOrder {
    ImportOrder {
        wallet: order(samples, world, user_id),
        public_address: ADDRESS.to_owned(),
        entropy_type: EntropyType::PrivateKey,
        account_index: None,
        message,
    }
}

impl House {
    async fn import_key(&self, samples: &mut Samples, world: World, kem: Kem) -> ImportKey {
        let order = key_order(samples, world, kem);
        works(self.custodian.begin_import(order).await)
    }

    async fn imported(&self, samples: &mut Samples, world: World) -> ImportedWallet {
        let import_key = self.import_key(samples, world, Kem::X25519).await;
        let message = sealing::seal(&import_key.public_key, &key(), Manner::default());
        let user_id = samples.id(samples.now());
        let order = import_order(samples, world, user_id, message);
        match self.custodian.import(order, vec![import_key]).await {
            Ok(imported) => imported,
            Err(error) => panic!("custody failed: {error:?}"),
        }
    }
}

#[track_caller]
fn does_not_open(outcome: &Result<ImportedWallet, ImportError>, what: &str) {
    assert!(
        matches!(outcome, Err(ImportError::Undecipherable)),
        "{what}: {outcome:?}"
    );
}

/// A new key pair is of the requested kind, different each time, and reveals nothing of its private half (IMP-5).
pub async fn a_key_pair_is_as_ordered(house: House) {
    let mut samples = Samples::fresh();
    let mut public_keys = Vec::new();
    for world in house.worlds(&mut samples).await {
        for (kem, length) in [(Kem::X25519, 32), (Kem::P256, 65), (Kem::X25519, 32)] {
            let order = ImportKeyOrder {
                account_index: Some(7),
                user_id: Some(samples.id(samples.now())),
                ..key_order(&mut samples, world, kem)
            };
            let made = works(house.custodian.begin_import(order.clone()).await);
            let expected = ImportKey {
                id: order.id,
                world,
                origin: order.origin,
                account_index: Some(7),
                user_id: order.user_id,
                kem,
                public_key: made.public_key.clone(),
                private_key: made.private_key.clone(),
                created_at: order.created_at,
                expires_at: order.created_at + LIFETIME,
            };
            assert_eq!(made, expected);
            assert_eq!(
                (made.public_key.len(), made.private_key.key_version),
                (length, 1)
            );
            public_keys.push(made.public_key);
        }
    }
    public_keys.sort_unstable();
    public_keys.dedup();
    assert_eq!(public_keys.len(), 6);
}

/// In every suite, a key sealed to one of several key pairs becomes the wallet of that key (IMP-1, IMP-2).
///
/// The wallet is imported, authentic as a default and as a further wallet, and signs.
pub async fn a_sealed_key_becomes_a_wallet(house: House) {
    let mut samples = Samples::fresh();
    for world in house.worlds(&mut samples).await {
        for kem in Kem::ALL {
            for aead in AeadAlgorithm::ALL {
                for (is_named, context) in [(false, &b""[..]), (true, &b"agreed"[..])] {
                    let meant = house.import_key(&mut samples, world, kem).await;
                    let others = [
                        house.import_key(&mut samples, world, Kem::X25519).await,
                        house.import_key(&mut samples, world, Kem::P256).await,
                    ];
                    let manner = Manner {
                        aead,
                        is_named,
                        info: context,
                        aad: context,
                    };
                    let message = sealing::seal(&meant.public_key, &key(), manner);
                    let user_id = samples.id(samples.now());
                    let order = import_order(&mut samples, world, user_id, message);
                    let id = meant.id;
                    let [one, two] = others;
                    let imported = house
                        .custodian
                        .import(order.clone(), vec![one, meant, two])
                        .await;
                    let imported = match imported {
                        Ok(imported) => imported,
                        Err(error) => panic!("{kem} {aead:?}: {error:?}"),
                    };
                    assert_eq!(imported.import_key, id);
                    for (stored, is_default) in
                        [(&imported.as_default, true), (&imported.as_further, false)]
                    {
                        let expected = Wallet {
                            id: order.wallet.wallet_id,
                            world,
                            user_id,
                            key_id: Some(order.wallet.key_id),
                            wallet_type: WalletType::Ethereum,
                            public_address: ADDRESS.to_owned(),
                            verified: true,
                            is_default,
                            is_read_only: false,
                            is_imported: true,
                            account_index: None,
                            disabled: None,
                            created_at: order.wallet.created_at,
                            updated_at: order.wallet.created_at,
                        };
                        assert!(
                            stored.wallet == expected,
                            "the wallet differs from the order"
                        );
                        house.accepts(stored, &imported.key).await;
                    }
                }
            }
        }
    }
}

/// The record of a further wallet does not verify with the keyed hash of a default one, nor the other way round.
pub async fn the_two_readings_are_not_interchangeable(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let imported = house.imported(&mut samples, world).await;
    let (mut one, mut two) = (imported.as_default, imported.as_further);
    std::mem::swap(&mut one.mac, &mut two.mac);
    for stored in [one, two] {
        house.refuses(&stored, &imported.key, "another hash").await;
    }
}

/// Nothing opens without its key pair, after expiry, for another user, index, type or address, or when altered.
///
/// The error does not reveal which of these it was (IMP-5, IMP-6).
pub async fn messages_sealed_for_something_else_do_not_open(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let user_id: UserId = samples.id(samples.now());
    let stranger: UserId = samples.id(samples.now());
    let bound = ImportKeyOrder {
        user_id: Some(user_id),
        ..key_order(&mut samples, world, Kem::X25519)
    };
    let meant = works(house.custodian.begin_import(bound).await);
    let other = house.import_key(&mut samples, world, Kem::X25519).await;
    let message = sealing::seal(&meant.public_key, &key(), Manner::default());
    let right = import_order(&mut samples, world, user_id, message);
    let mut wrong = vec![
        (right.clone(), Vec::new(), "no key pair"),
        (right.clone(), vec![other], "another key pair"),
    ];
    let mut change = |what: &'static str, edit: &dyn Fn(&mut ImportOrder)| {
        let mut order = right.clone();
        edit(&mut order);
        wrong.push((order, vec![meant.clone()], what));
    };
    change("expired", &|order| {
        order.wallet.created_at = meant.expires_at;
    });
    change("another user", &|order| order.wallet.user_id = stranger);
    change("another address", &|order| {
        order.public_address = OTHER.to_owned();
    });
    change("a phrase", &|order| order.entropy_type = EntropyType::Hd);
    change("another algorithm", &|order| {
        order.message.aead = Some(AeadAlgorithm::Aes256Gcm);
    });
    change("another info", &|order| order.message.info.push(0));
    change("other data", &|order| order.message.aad.push(0));
    change("an all-zero sender key", &|order| {
        order.message.encapsulated_key = vec![0; 32];
    });
    change("a sender key of order 1", &|order| {
        order.message.encapsulated_key = [&[1][..], &[0; 31]].concat();
    });
    change("a truncated sender key", &|order| {
        order.message.encapsulated_key.pop();
    });
    for ciphertext in
        changed_bits(&right.message.ciphertext).chain(other_lengths(&right.message.ciphertext))
    {
        change("an altered message", &|order| {
            order.message.ciphertext.clone_from(&ciphertext);
        });
    }
    for (order, keys, what) in wrong {
        does_not_open(&house.custodian.import(order, keys).await, what);
    }
    let imported = house.custodian.import(right, vec![meant]).await;
    assert!(imported.is_ok(), "{imported:?}");
}

/// A message that opens but holds the key of another address has its own error, distinct from a message that does not open.
pub async fn another_key_than_that_of_the_address_is_refused(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let user_id = samples.id(samples.now());
    let (mut other, mut short) = (key(), key());
    other.iter_mut().take(1).for_each(|byte| *byte ^= 1);
    short.pop();
    let phrase = b"abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";
    for plaintext in [
        &other[..],
        &[],
        &[0; 32],
        &[0xff; 32],
        &[0xff; 64],
        &short,
        b"hello",
        phrase,
        &[0; 900],
    ] {
        let import_key = house.import_key(&mut samples, world, Kem::X25519).await;
        let message = sealing::seal(&import_key.public_key, plaintext, Manner::default());
        let order = import_order(&mut samples, world, user_id, message);
        let refused = house.custodian.import(order, vec![import_key]).await;
        assert!(
            matches!(refused, Err(ImportError::AddressMismatch)),
            "{refused:?}"
        );
    }
}

/// A key pair whose row was edited or moved to another world is rejected as tampering (T1, T3), not as a message that does not open.
pub async fn an_edited_key_pair_is_refused(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let other_app = house.world(&mut samples).await;
    let right = house.import_key(&mut samples, world, Kem::X25519).await;
    let other = house.import_key(&mut samples, world, Kem::X25519).await;
    let message = sealing::seal(&right.public_key, &key(), Manner::default());
    let user_id = samples.id(samples.now());
    let mut edited = Vec::new();
    let mut edit = |change: &dyn Fn(&mut ImportKey)| {
        let mut key = right.clone();
        change(&mut key);
        edited.push(key);
    };
    edit(&|key| key.id = other.id);
    edit(&|key| key.world = other_environment(world));
    edit(&|key| key.world = other_app);
    edit(&|key| key.origin.public_address = OTHER.to_owned());
    edit(&|key| key.origin.wallet_type = WalletType::Bitcoin);
    edit(&|key| key.origin.entropy_type = EntropyType::Hd);
    edit(&|key| key.account_index = Some(0));
    edit(&|key| key.user_id = Some(user_id));
    edit(&|key| key.kem = Kem::P256);
    edit(&|key| key.public_key.clone_from(&other.public_key));
    edit(&|key| key.private_key.clone_from(&other.private_key));
    edit(&|key| key.expires_at = key.expires_at + LIFETIME);
    for bytes in changed_bits(&right.private_key.bytes).step_by(7) {
        edit(&|key| key.private_key.bytes.clone_from(&bytes));
    }
    let order = import_order(&mut samples, world, user_id, message);
    for key in edited {
        let refused = house.custodian.import(order.clone(), vec![key]).await;
        let refused = refused.map_err(|error| match error {
            ImportError::Custody(error) => error,
            other => panic!("{other:?}"),
        });
        is_tampered(refused, "an edited key pair");
    }
}

/// An exported key opens for its recipient alone and is the wallet's key; the wallet stays as it is (IMP-7).
pub async fn an_exported_key_opens_for_its_recipient(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let imported = house.imported(&mut samples, world).await;
    let (recipient, stranger) = (Recipient::fresh(), Recipient::fresh());
    let (stored, wallet_key) = (imported.as_default, imported.key);
    let mut sealed = Vec::new();
    for _ in 0..2 {
        let exported = house
            .custodian
            .export(stored.clone(), wallet_key.clone(), &recipient.public_key)
            .await;
        let Ok((wallet, exported)) = exported else {
            panic!("{exported:?}");
        };
        assert!(wallet == stored.wallet, "another record");
        assert!(recipient.open(&exported) == Some(key()), "another key");
        assert_eq!(stranger.open(&exported), None);
        sealed.push(exported.ciphertext);
    }
    sealed.dedup();
    assert_eq!(sealed.len(), 2, "sealing is deterministic");
    house.accepts(&stored, &wallet_key).await;
}

/// Export rejects invalid recipient keys, and rows or keys that were edited or swapped.
pub async fn export_rejects_invalid_recipients_and_edited_rows(house: House) {
    let mut samples = Samples::fresh();
    let world = house.world(&mut samples).await;
    let (stored, key) = house.wallet(&mut samples, world).await;
    let (other, other_key) = house.wallet(&mut samples, world).await;
    let recipient = Recipient::fresh().public_key;
    for bad in [
        Vec::new(),
        vec![9; 31],
        vec![9; 33],
        vec![0; 32],
        [&[1][..], &[0; 31]].concat(),
    ] {
        let refused = house.custodian.export(stored.clone(), key.clone(), &bad);
        let refused = refused.await;
        assert!(
            matches!(refused, Err(ExportError::Recipient)),
            "{refused:?}"
        );
    }
    let mut edited = stored.clone();
    edited.wallet.user_id = other.wallet.user_id;
    for (stored, key) in [
        (stored.clone(), other_key),
        (other, key.clone()),
        (edited, key),
    ] {
        let refused = house.custodian.export(stored, key, &recipient).await;
        let refused = refused.map_err(|error| match error {
            ExportError::Custody(error) => error,
            ExportError::Recipient => CustodyError::Failed("the recipient is valid"),
        });
        is_tampered(refused, "another key or row");
    }
}
