//! Imports: a sealed key becomes a wallet, once.

use std::sync::Arc;

use vestry_app::wallets::{BeginImport, ImportWallet, ImportWalletError, SignMessage};
use vestry_app::{Caller, Refusal};
use vestry_contract::race::race;
use vestry_contract::sealing::{self, Manner};
use vestry_domain::ids::{Id, UserId};
use vestry_domain::invalid::Reason;
use vestry_domain::key_transfer::{
    EntropyType, ImportKey, Kem, LIFETIME, MAX_CIPHERTEXT, MAX_LIVE, NEW_PER_ADDRESS,
};
use vestry_domain::signing::MessageRequest;
use vestry_domain::timestamp::Seconds;
use vestry_domain::wallet::{AddressForm, Wallet, WalletType};
use vestry_ports::custody::AddressOrder;
use vestry_ports::store::{Created, Store};

use crate::harness::{Harness, START};

/// Ethereum private keys and their addresses: from the documentation of web3.js, and the first two of anvil.
pub(crate) const KEYS: [(&str, &str); 3] = [
    (
        "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318",
        "0x2c7536E3605D9C16a7a3D7b1898e529396a65c23",
    ),
    (
        "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
        "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
    ),
    (
        "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
        "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    ),
];

pub(crate) fn begin(address: &str) -> BeginImport {
    BeginImport {
        wallet_type: WalletType::Ethereum,
        public_address: address.to_owned(),
        entropy_type: EntropyType::PrivateKey,
        account_index: None,
        kem: Kem::X25519,
        user_id: None,
    }
}

/// The text of a key, sealed to a key pair.
fn sealed(user_id: UserId, address: &str, key: &str, to: &ImportKey) -> ImportWallet {
    ImportWallet {
        user_id,
        wallet_type: WalletType::Ethereum,
        public_address: address.to_owned(),
        entropy_type: EntropyType::PrivateKey,
        account_index: None,
        message: sealing::seal(&to.public_key, key.as_bytes(), Manner::default()),
    }
}

impl Harness {
    async fn begin_import(&self, caller: &Caller, address: &str) -> ImportKey {
        let begun = self.service.begin_import(caller, begin(address)).await;
        begun.unwrap()
    }

    /// A key of [`KEYS`] as a wallet of the user.
    pub(crate) async fn import(
        &self,
        caller: &Caller,
        user_id: UserId,
        number: usize,
    ) -> Result<Wallet, ImportWalletError> {
        let (key, address) = KEYS[number];
        let to = self.begin_import(caller, address).await;
        let command = sealed(user_id, address, key, &to);
        self.service.import_wallet(caller, command).await
    }

    async fn open_imports(&self, caller: &Caller, address: &str) -> usize {
        let mut view = self.fake.read().await.unwrap();
        let living = view
            .wallet_imports()
            .living(&caller.world, WalletType::Ethereum, address, START, 100)
            .await;
        living.unwrap().len()
    }
}

#[tokio::test]
async fn a_sealed_key_becomes_a_wallet_that_signs() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.walletless(&test, "ada@example.com").await;
    let wallet = harness.import(&test, user, 0).await.unwrap();
    assert_eq!(wallet.public_address, KEYS[0].1);
    assert_eq!((wallet.user_id, wallet.world), (user, test.world));
    assert!(wallet.is_imported && wallet.verified && !wallet.is_read_only && wallet.is_default);
    assert!(wallet.key_id.is_some());
    assert_eq!(
        (wallet.account_index, wallet.created_at),
        (None, harness.now())
    );
    assert!(harness.service.get_wallet(&test, wallet.id).await.unwrap() == wallet);
    // EIP-191 signature of this text by this key, from the documentation of web3.js.
    let signed = harness
        .service
        .sign(
            &test,
            SignMessage {
                wallet_id: wallet.id,
                request: MessageRequest {
                    message: "Some data".to_owned(),
                    encoding: None,
                    format: None,
                },
            },
        )
        .await
        .unwrap();
    assert_eq!(
        signed.signed.text("signature"),
        Some(
            "0xb91467e570a6466aa9e9876cbcd013baba02900b8979d43fe208a4a4f339f5fd6007e74cd82e037b800186422fc2da167c747ef045e5d18a5f5d4300f8e1a0291c"
        )
    );
    assert_eq!(harness.open_imports(&test, KEYS[0].1).await, 0);
}

/// The first wallet of a type is the default one, whether created or imported; later ones are added next to it.
#[tokio::test]
async fn the_default_wallet_stays_the_default() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.walletless(&test, "ada@example.com").await;
    let first = harness.import(&test, user, 0).await.unwrap();
    let second = harness.import(&test, user, 1).await.unwrap();
    assert!(first.is_default && !second.is_default);
    let create = harness
        .service
        .create_wallet(&test, user, WalletType::Ethereum, AddressForm::Usual)
        .await;
    assert!(create.unwrap() == first);
    let other = harness.walletless(&test, "eve@example.com").await;
    let made = harness
        .service
        .create_wallet(&test, other, WalletType::Ethereum, AddressForm::Usual)
        .await
        .unwrap();
    let third = harness.import(&test, other, 2).await.unwrap();
    assert!(made.is_default && !third.is_default);
    for wallet in [first, second, made, third] {
        assert!(harness.service.get_wallet(&test, wallet.id).await.unwrap() == wallet);
    }
}

/// IMP-5.
#[tokio::test]
async fn a_message_is_single_use() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.walletless(&test, "ada@example.com").await;
    let (key, address) = KEYS[0];
    let to = harness.begin_import(&test, address).await;
    let command = sealed(user, address, key, &to);
    let imported = harness.service.import_wallet(&test, command.clone()).await;
    imported.unwrap();
    let again = harness.service.import_wallet(&test, command).await;
    assert!(matches!(again, Err(ImportWalletError::Undecipherable)));
    let anew = harness.import(&test, user, 0).await;
    assert!(matches!(
        anew,
        Err(ImportWalletError::Common(Refusal::Taken(_)))
    ));
    let other = harness.walletless(&test, "eve@example.com").await;
    let anew = harness.import(&test, other, 0).await;
    assert!(matches!(
        anew,
        Err(ImportWalletError::Common(Refusal::Taken(_)))
    ));
    assert_eq!(harness.wallets().await, 1);
}

/// A refusal uses nothing up.
#[tokio::test]
async fn a_refused_import_can_be_retried() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.walletless(&test, "ada@example.com").await;
    let (key, address) = KEYS[0];
    let to = harness.begin_import(&test, address).await;
    let refused = harness
        .service
        .import_wallet(&test, sealed(user, address, KEYS[1].0, &to))
        .await;
    assert!(matches!(refused, Err(ImportWalletError::AddressMismatch)));
    let nobody = UserId::new(START, [7; 16]);
    let refused = harness
        .service
        .import_wallet(&test, sealed(nobody, address, key, &to))
        .await;
    assert!(matches!(
        refused,
        Err(ImportWalletError::Common(Refusal::NotFound("user")))
    ));
    let mut altered = sealed(user, address, key, &to);
    altered.message.ciphertext[0] ^= 1;
    let refused = harness.service.import_wallet(&test, altered).await;
    assert!(matches!(refused, Err(ImportWalletError::Undecipherable)));
    assert_eq!(harness.wallets().await, 0);
    harness.fake.lose_commits(3);
    let imported = harness
        .service
        .import_wallet(&test, sealed(user, address, key, &to))
        .await;
    assert!(imported.unwrap().is_default);
}

/// Fifty concurrent imports of one message: one wallet, one response (R2, R10).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r10_parallel_imports_of_one_message_make_one_wallet() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.walletless(&test, "ada@example.com").await;
    let (key, address) = KEYS[0];
    let to = harness.begin_import(&test, address).await;
    let command = sealed(user, address, key, &to);
    let outcomes = race((0..50).map(|_| {
        let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
        let command = command.clone();
        async move { service.import_wallet(&test, command).await }
    }))
    .await;
    let (made, refused): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
    assert_eq!((made.len(), refused.len()), (1, 49));
    for refusal in refused {
        assert!(matches!(refusal, Err(ImportWalletError::Undecipherable)));
    }
    assert_eq!(harness.wallets().await, 1);
}

/// Fifty imports of one key, each with its own key pair, in any order: one wallet, and the others are told that it exists (R10).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r10_parallel_imports_of_one_key_make_one_wallet() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.walletless(&test, "ada@example.com").await;
    let (key, address) = KEYS[0];
    let mut commands = Vec::new();
    for _ in 0..NEW_PER_ADDRESS.most {
        let to = harness.begin_import(&test, address).await;
        commands.push(sealed(user, address, key, &to));
    }
    let outcomes = race(commands.into_iter().map(|command| {
        let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
        async move { service.import_wallet(&test, command).await }
    }))
    .await;
    let made = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    let refused = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, Err(ImportWalletError::Common(Refusal::Taken(_)))));
    assert_eq!((made, refused.count()), (1, outcomes.len() - 1));
    assert_eq!(harness.wallets().await, 1);
}

/// Concurrent imports and creates for one user: all succeed, one wallet is the default, and every create returns it (R2, R10).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r10_imports_race_creates() {
    for _ in 0..10 {
        let harness = Harness::new().await;
        let test = harness.test().await;
        let user = harness.walletless(&test, "ada@example.com").await;
        let mut commands = Vec::new();
        for (key, address) in KEYS {
            let to = harness.begin_import(&test, address).await;
            commands.push(Some(sealed(user, address, key, &to)));
        }
        commands.extend([None, None, None]);
        let wallets = race(commands.into_iter().map(|command| {
            let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
            async move {
                match command {
                    Some(command) => service.import_wallet(&test, command).await.unwrap(),
                    None => {
                        let ethereum = WalletType::Ethereum;
                        service
                            .create_wallet(&test, user, ethereum, AddressForm::Usual)
                            .await
                            .unwrap()
                    }
                }
            }
        }))
        .await;
        let (imported, created) = wallets.split_at(3);
        let default = &created[0];
        assert!(default.is_default && created.iter().all(|wallet| wallet == default));
        let defaults = imported.iter().filter(|wallet| wallet.is_default);
        assert_eq!(defaults.count(), usize::from(default.is_imported));
        let expected = if default.is_imported { 3 } else { 4 };
        assert_eq!(harness.wallets().await, expected);
        for wallet in &wallets {
            assert!(harness.service.get_wallet(&test, wallet.id).await.unwrap() == *wallet);
        }
    }
}

/// IMP-5.
#[tokio::test]
async fn a_key_pair_expires_and_is_swept() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.walletless(&test, "ada@example.com").await;
    let (key, address) = KEYS[0];
    let (early, late) = (
        harness.begin_import(&test, address).await,
        harness.begin_import(&test, KEYS[1].1).await,
    );
    harness.pass(LIFETIME.0 - 1);
    let last = harness
        .service
        .import_wallet(&test, sealed(user, KEYS[1].1, KEYS[1].0, &late))
        .await;
    last.unwrap();
    harness.sweep().await;
    assert_eq!(harness.open_imports(&test, address).await, 1);
    harness.pass(1);
    let expired = harness
        .service
        .import_wallet(&test, sealed(user, address, key, &early))
        .await;
    assert!(matches!(expired, Err(ImportWalletError::Undecipherable)));
    harness.sweep().await;
    assert_eq!(harness.open_imports(&test, address).await, 0);
}

/// An import begun in one environment works in no other.
#[tokio::test]
async fn key_pairs_stay_in_their_environment() {
    let harness = Harness::new().await;
    let (test, live, stranger) = (
        harness.test().await,
        harness.live().await,
        harness.stranger().await,
    );
    let (key, address) = KEYS[0];
    let to = harness.begin_import(&test, address).await;
    for other in [&live, &stranger] {
        let user = harness.walletless(other, "eve@example.com").await;
        let moved = sealed(user, address, key, &to);
        let refused = harness.service.import_wallet(other, moved).await;
        assert!(matches!(refused, Err(ImportWalletError::Undecipherable)));
        // The other environment's own key pair does not open it either.
        harness.begin_import(other, address).await;
        let moved = sealed(user, address, key, &to);
        let refused = harness.service.import_wallet(other, moved).await;
        assert!(matches!(refused, Err(ImportWalletError::Undecipherable)));
        harness.import(other, user, 0).await.unwrap();
    }
    let user = harness.walletless(&test, "ada@example.com").await;
    harness.import(&test, user, 0).await.unwrap();
}

#[tokio::test]
async fn a_key_pair_may_be_for_one_user_alone() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (ada, eve) = (
        harness.walletless(&test, "ada@example.com").await,
        harness.walletless(&test, "eve@example.com").await,
    );
    let (key, address) = KEYS[0];
    let bound = BeginImport {
        user_id: Some(ada),
        ..begin(address)
    };
    let to = harness
        .service
        .begin_import(&test, bound.clone())
        .await
        .unwrap();
    let swapped = sealed(eve, address, key, &to);
    let refused = harness.service.import_wallet(&test, swapped).await;
    assert!(matches!(refused, Err(ImportWalletError::Undecipherable)));
    let right = sealed(ada, address, key, &to);
    let imported = harness.service.import_wallet(&test, right).await.unwrap();
    assert_eq!(imported.user_id, ada);
    harness.service.delete_user(&test, eve).await.unwrap();
    let gone = BeginImport {
        user_id: Some(eve),
        ..bound
    };
    let refused = harness.service.begin_import(&test, gone).await;
    assert!(matches!(refused, Err(Refusal::NotFound("user"))));
}

/// An address that a user signs in with is taken, whichever user it belongs to.
#[tokio::test]
async fn an_address_of_a_read_only_wallet_is_taken() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.walletless(&test, "ada@example.com").await;
    let order = harness.order(&test);
    let adopted = harness
        .ports
        .custodian
        .adopt_address(AddressOrder {
            wallet_id: order.wallet_id,
            world: test.world,
            user_id: user,
            wallet_type: WalletType::Ethereum,
            public_address: KEYS[0].1.to_owned(),
            created_at: harness.now(),
        })
        .await
        .unwrap();
    let mut tx = harness.fake.begin().await.unwrap();
    let created = tx.wallets().insert_keyless(&adopted).await.unwrap();
    assert_eq!(created, Created::Yes);
    tx.commit().await.unwrap();
    let refused = harness.import(&test, user, 0).await;
    assert!(matches!(
        refused,
        Err(ImportWalletError::Common(Refusal::Taken(_)))
    ));
}

/// Sixteen for an address in a quarter of an hour, in its environment; those already issued stay valid.
#[tokio::test]
async fn too_many_key_pairs_of_one_address_are_refused() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.walletless(&test, "ada@example.com").await;
    let (key, address) = KEYS[0];
    let first = harness.begin_import(&test, address).await;
    for _ in 1..NEW_PER_ADDRESS.most {
        harness.begin_import(&test, address).await;
    }
    let spelled = address.to_lowercase();
    for address in [address, &spelled] {
        let refused = harness.service.begin_import(&test, begin(address)).await;
        match refused {
            Err(Refusal::TooMany { retry_after }) => {
                assert_eq!(retry_after, Seconds(LIFETIME.0));
            }
            other => panic!("{other:?}"),
        }
    }
    harness.begin_import(&test, KEYS[1].1).await;
    let live = harness.live().await;
    harness.begin_import(&live, address).await;
    harness.pass(LIFETIME.0 - 1);
    let oldest = sealed(user, address, key, &first);
    harness.service.import_wallet(&test, oldest).await.unwrap();
    harness.pass(1);
    for _ in 0..NEW_PER_ADDRESS.most {
        harness.begin_import(&test, address).await;
    }
    assert!(harness.open_imports(&test, address).await < usize::try_from(MAX_LIVE).unwrap());
}

#[tokio::test]
async fn fields_are_refused_by_name() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.walletless(&test, "ada@example.com").await;
    let (key, address) = KEYS[0];
    let to = harness.begin_import(&test, address).await;
    let refused_begin =
        async |command: BeginImport| match harness.service.begin_import(&test, command).await {
            Err(Refusal::Invalid(invalid)) => invalid,
            other => panic!("{other:?}"),
        };
    let bitcoin = "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu";
    for bad in ["", "0x", "hello", bitcoin, &address.replace('E', "e")] {
        let invalid = refused_begin(begin(bad)).await;
        assert_eq!(
            (&*invalid.param, invalid.reason),
            ("public_address", Reason::Value)
        );
    }
    // A live address is not valid for a test wallet.
    let live = BeginImport {
        wallet_type: WalletType::Bitcoin,
        ..begin(bitcoin)
    };
    assert_eq!(refused_begin(live.clone()).await.param, "public_address");
    let caller = harness.live().await;
    let begun = harness.service.begin_import(&caller, live).await;
    begun.unwrap();
    let indexed = BeginImport {
        account_index: Some(0),
        ..begin(address)
    };
    assert_eq!(refused_begin(indexed).await.param, "account_index");
    let right = sealed(user, address, key, &to);
    let mut wrong = Vec::new();
    let mut change = |param: &'static str, edit: &dyn Fn(&mut ImportWallet)| {
        let mut command = right.clone();
        edit(&mut command);
        wrong.push((command, param));
    };
    change("wallet.public_address", &|command| {
        command.public_address.clear()
    });
    change("wallet.account_index", &|command| {
        command.account_index = Some(0)
    });
    change("wallet.account_index", &|command| {
        command.entropy_type = EntropyType::Hd;
        command.account_index = Some(-1);
    });
    change("wallet.ciphertext", &|command| {
        command.message.ciphertext = vec![0; MAX_CIPHERTEXT + 1];
    });
    for (command, param) in wrong {
        match harness.service.import_wallet(&test, command).await {
            Err(ImportWalletError::Common(Refusal::Invalid(invalid))) => {
                assert_eq!(invalid.param, param)
            }
            other => panic!("{other:?}"),
        }
    }
    harness.service.import_wallet(&test, right).await.unwrap();
}
