use crate::Environment;
use crate::ids::{AppId, Id};

use super::*;

const NOW: Timestamp = Timestamp::from_unix(1_800_000_000);

fn import_key() -> ImportKey {
    ImportKey {
        id: WalletImportId::new(NOW, [1; 16]),
        world: World::new(AppId::new(NOW, [2; 16]), Environment::Test),
        origin: Origin {
            wallet_type: WalletType::Ethereum,
            public_address: "0x00".to_owned(),
            entropy_type: EntropyType::PrivateKey,
        },
        account_index: None,
        user_id: None,
        kem: Kem::X25519,
        public_key: vec![3; 32],
        private_key: Sealed {
            key_version: 1,
            bytes: vec![4; 32],
        },
        created_at: NOW,
        expires_at: NOW + LIFETIME,
    }
}

fn user(byte: u8) -> UserId {
    UserId::new(NOW, [byte; 16])
}

#[test]
fn names_round_trip() {
    for kem in Kem::ALL {
        assert_eq!(kem.as_str().parse::<Kem>().unwrap(), kem);
    }
    for aead in AeadAlgorithm::ALL {
        assert_eq!(aead.as_str().parse::<AeadAlgorithm>().unwrap(), aead);
    }
    for kind in EntropyType::ALL {
        assert_eq!(kind.as_str().parse::<EntropyType>().unwrap(), kind);
    }
    for name in ["", "X25519", "x25519 ", "AES_GCM128", "seed"] {
        assert_eq!(name.parse::<Kem>().unwrap_err().param, "kem");
        let refused = name.parse::<AeadAlgorithm>().unwrap_err();
        assert_eq!(refused.param, "aead_algorithm");
        let refused = name.parse::<EntropyType>().unwrap_err();
        assert_eq!(refused.param, "entropy_type");
    }
}

#[test]
fn every_relevant_field_is_sealed() {
    let key = import_key();
    let mut changed: Vec<ImportKey> = Vec::new();
    let mut change = |edit: &dyn Fn(&mut ImportKey)| {
        let mut other = key.clone();
        edit(&mut other);
        changed.push(other);
    };
    change(&|key| key.id = WalletImportId::new(NOW, [9; 16]));
    change(&|key| key.world.app_id = AppId::new(NOW, [9; 16]));
    change(&|key| key.world.environment = Environment::Live);
    change(&|key| key.origin.wallet_type = WalletType::Solana);
    change(&|key| key.origin.public_address = "0x01".to_owned());
    change(&|key| key.origin.entropy_type = EntropyType::Hd);
    change(&|key| key.account_index = Some(0));
    change(&|key| key.user_id = Some(user(1)));
    change(&|key| key.kem = Kem::P256);
    change(&|key| key.public_key = vec![9; 32]);
    change(&|key| key.expires_at = NOW);
    for other in changed {
        assert_ne!(other.sealed_fields(), key.sealed_fields(), "{other:?}");
    }
}

#[test]
fn a_key_pair_serves_only_its_own_import() {
    let open = import_key();
    let origin = open.origin.clone();
    assert!(open.serves(&origin, None, user(1)));
    assert!(open.serves(&origin, Some(7), user(1)));
    let other = Origin {
        public_address: "0x01".to_owned(),
        ..origin.clone()
    };
    assert!(!open.serves(&other, None, user(1)));
    let bound = ImportKey {
        user_id: Some(user(1)),
        account_index: Some(7),
        ..open
    };
    assert!(bound.serves(&origin, Some(7), user(1)));
    assert!(!bound.serves(&origin, Some(7), user(2)));
    assert!(bound.serves(&origin, None, user(1)));
    assert!(!bound.serves(&origin, Some(8), user(1)));
}

#[test]
fn an_index_can_be_given_early_late_or_not_at_all() {
    let mut key = import_key();
    assert_eq!(key.index(None), None);
    key.origin.entropy_type = EntropyType::Hd;
    assert_eq!(key.index(None), Some(0));
    assert_eq!(key.index(Some(7)), Some(7));
    key.account_index = Some(3);
    assert_eq!(key.index(None), Some(3));
}

#[test]
fn an_index_requires_a_phrase() {
    for (kind, asked, read) in [
        (EntropyType::PrivateKey, None, Ok(None)),
        (EntropyType::PrivateKey, Some(0), Err(())),
        (EntropyType::Hd, None, Ok(None)),
        (EntropyType::Hd, Some(0), Ok(Some(0))),
        (EntropyType::Hd, Some(0x7fff_ffff), Ok(Some(0x7fff_ffff))),
        (EntropyType::Hd, Some(0x8000_0000), Err(())),
        (EntropyType::Hd, Some(-1), Err(())),
        (EntropyType::Hd, Some(1 << 32), Err(())),
    ] {
        let index = account_index(kind, asked).map_err(drop);
        assert_eq!(index, read, "{kind} {asked:?}");
    }
}

#[test]
fn messages_have_bounds() {
    let message = |ciphertext, info, aad| SealedMessage {
        encapsulated_key: vec![0; 32],
        ciphertext: vec![0; ciphertext],
        aead: None,
        info: vec![0; info],
        aad: vec![0; aad],
    };
    message(MAX_CIPHERTEXT, MAX_CONTEXT, MAX_CONTEXT)
        .check()
        .unwrap();
    for (long, param) in [
        (message(MAX_CIPHERTEXT + 1, 0, 0), "ciphertext"),
        (message(0, MAX_CONTEXT + 1, 0), "hpke_config.info"),
        (message(0, 0, MAX_CONTEXT + 1), "hpke_config.aad"),
    ] {
        assert_eq!(long.check().unwrap_err().param, param);
    }
}
