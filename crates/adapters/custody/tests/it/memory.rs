//! Checks what remains in memory after wallet keys were created and used (S3 in small, KEY-5): the process reads its own memory.
//!
//! Root keys and App keys are not searched for. The keys derived from them are deliberately kept during their lease, and are just as useful
//! to anyone who can read the memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use vestry_chains::Chains;
use vestry_contract::fakes::{FakeStore, SeededEntropy};
use vestry_contract::memory;
use vestry_contract::samples::Samples;
use vestry_contract::sealing::{self, Manner, Recipient};
use vestry_custody::Custody;
use vestry_domain::key_transfer::{EntropyType, Kem, Origin};
use vestry_domain::signing::SigningRequest;
use vestry_domain::wallet::{AddressForm, WalletType};
use vestry_domain::{Environment, Secret, World};
use vestry_ports::custody::{Custodian, ImportKeyOrder, ImportOrder, WalletOrder};
use vestry_ports::entropy::Entropy;
use vestry_ports::store::Store;
use vestry_ports::vault::Vaults;
use vestry_vault_local::LocalVault;
use zeroize::Zeroizing;

const WALLETS: usize = 100;
const SIGNATURES_EACH: usize = 5;

/// Search patterns are stored masked; otherwise the search would find its own list.
const MASK: u8 = 0x5a;
type Masked = [u8; 32];
/// The search is for half keys: freed memory keeps a key except for its first bytes, which the allocator overwrites.
const HALF: usize = 16;
type Half = [u8; HALF];

/// Records, masked, every draw of 32 bytes: private keys and data keys are such draws.
struct Recording {
    source: SeededEntropy,
    drawn: Mutex<Vec<Masked>>,
}

impl Recording {
    fn drawn(&self) -> Vec<Masked> {
        self.drawn.lock().unwrap().clone()
    }
}

impl Entropy for Recording {
    fn fill(&self, buffer: &mut [u8]) {
        self.source.fill(buffer);
        if buffer.len() == 32 {
            let mut masked = [0; 32];
            for (masked, byte) in masked.iter_mut().zip(buffer) {
                *masked = *byte ^ MASK;
            }
            self.drawn.lock().unwrap().push(masked);
        }
    }
}

/// Half keys by their first two bytes, in both byte orders: the curve library's numbers are little-endian.
struct Search(BTreeMap<[u8; 2], Vec<Half>>);

impl Search {
    fn new(keys: &[Masked]) -> Self {
        let mut by_start: BTreeMap<[u8; 2], Vec<Half>> = BTreeMap::new();
        for key in keys {
            let mut turned = *key;
            turned.reverse();
            for half in key.chunks_exact(HALF).chain(turned.chunks_exact(HALF)) {
                let half: Half = half.try_into().unwrap();
                let start = [half[0], half[1]];
                by_start.entry(start).or_default().push(half);
            }
        }
        Self(by_start)
    }

    fn count_in(&self, bytes: &[u8]) -> usize {
        let mut starts = vec![false; 1 << 16];
        for start in self.0.keys() {
            starts[usize::from(u16::from_be_bytes(*start))] = true;
        }
        let count_at = |window: &[u8]| {
            let start = [window[0] ^ MASK, window[1] ^ MASK];
            if !starts[usize::from(u16::from_be_bytes(start))] {
                return 0;
            }
            let fits = |half: &&Half| {
                let mut pairs = window.iter().zip(half.iter());
                pairs.all(|(byte, masked)| *byte ^ MASK == *masked)
            };
            self.0[&start].iter().filter(fits).count()
        };
        bytes.windows(HALF).map(count_at).sum()
    }

    /// Counts the places in this process's writable memory that contain a half key.
    fn count_in_this_process(&self) -> usize {
        memory::count("self", HALF, |piece| self.count_in(piece)).unwrap()
    }
}

/// Returns custody over an App with its keys.
async fn custody(entropy: &Arc<Recording>, samples: &mut Samples) -> (Arc<Custody>, World) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("root.key");
    LocalVault::create(&path, entropy.as_ref()).unwrap();
    let vault = Arc::new(LocalVault::open(&path, entropy.clone()).unwrap());
    let store = FakeStore::default();
    let vaults = Vaults {
        wallets: vault.clone(),
        secrets: vault,
    };
    let custody = Custody::new(vaults, Arc::new(store.clone()), entropy.clone()).unwrap();
    let now = samples.tick();
    let app = samples.id(now);
    let keys = custody.mint_app_keys(app, now).await.unwrap();
    let mut tx = store.begin().await.unwrap();
    for key in &keys {
        tx.app_keys().insert(key).await.unwrap();
    }
    tx.commit().await.unwrap();
    (Arc::new(custody), World::new(app, Environment::Live))
}

fn order(samples: &mut Samples, world: World) -> WalletOrder {
    let created_at = samples.tick();
    WalletOrder {
        wallet_id: samples.id(created_at),
        key_id: samples.id(created_at),
        world,
        user_id: samples.id(created_at),
        wallet_type: WalletType::Ethereum,
        address_form: AddressForm::Usual,
        created_at,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s3_no_wallet_key_and_no_data_key_is_left_in_memory() {
    let mut samples = Samples::fresh();
    let entropy = Arc::new(Recording {
        source: SeededEntropy::fresh(),
        drawn: Mutex::default(),
    });
    let (custody, world) = custody(&entropy, &mut samples).await;
    let before = entropy.drawn().len();
    for _ in 0..WALLETS {
        let order = order(&mut samples, world);
        let custody = Arc::clone(&custody);
        let used = tokio::spawn(async move {
            let (stored, key) = custody.create_wallet(order).await.unwrap();
            for _ in 0..SIGNATURES_EACH {
                let request = SigningRequest::message("m");
                let signed = custody.sign(stored.clone(), key.clone(), &request);
                signed.await.unwrap();
            }
        });
        used.await.unwrap();
    }
    let drawn = entropy.drawn().split_off(before);
    assert_eq!(
        drawn.len(),
        2 * WALLETS,
        "a private key and a data key for each wallet"
    );

    let search = Search::new(&drawn);
    let left = search.count_in_this_process();
    assert_eq!(left, 0, "S3: half keys in memory");

    // Checks the search itself: a key in memory is found in either byte order.
    let mut planted: Vec<u8> = drawn[0].iter().map(|masked| masked ^ MASK).collect();
    assert!(search.count_in_this_process() > 0);
    planted.reverse();
    assert!(search.count_in_this_process() > 0);
    drop(planted);
}

/// Draws an Ethereum private key, records it masked as bytes and as text, imports one of the two, and exports it again.
async fn comes_and_goes(
    custody: Arc<Custody>,
    entropy: Arc<Recording>,
    world: World,
    orders: (ImportKeyOrder, WalletOrder),
    is_text: bool,
) -> Vec<Masked> {
    let (begin, wallet) = orders;
    let mut key = Zeroizing::new([0; 32]);
    entropy.source.fill(key.as_mut_slice());
    let digits = Zeroizing::new(hex::encode(key.as_slice()));
    let chains = Chains::new(&Secret::new([7; 32]));
    let chain = chains.get(WalletType::Ethereum);
    let public_key = chain.public_key(&chain.private_key(key.as_slice()).unwrap());
    let public_key = public_key.unwrap();
    let address = chain.address(&public_key, world.environment).unwrap();
    let origin = Origin {
        public_address: address.clone(),
        ..begin.origin
    };
    let import_key = custody.begin_import(ImportKeyOrder { origin, ..begin });
    let import_key = import_key.await.unwrap();
    let plaintext = if is_text {
        digits.as_bytes()
    } else {
        key.as_slice()
    };
    let message = sealing::seal(&import_key.public_key, plaintext, Manner::default());
    let order = ImportOrder {
        wallet,
        public_address: address,
        entropy_type: EntropyType::PrivateKey,
        account_index: None,
        message,
    };
    let imported = custody.import(order, vec![import_key]).await.unwrap();
    let recipient = Recipient::fresh().public_key;
    let exported = custody.export(imported.as_default, imported.key, &recipient);
    exported.await.unwrap();
    let masked = |bytes: &[u8]| {
        let mut masked = [0; 32];
        for (masked, byte) in masked.iter_mut().zip(bytes) {
            *masked = *byte ^ MASK;
        }
        masked
    };
    let (head, tail) = digits.as_bytes().split_at(32);
    vec![masked(key.as_slice()), masked(head), masked(tail)]
}

/// The same for imported and exported keys: neither the key nor its text remains, nor the random bytes of key pairs and data keys.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s3_no_imported_or_exported_key_is_left_in_memory() {
    let mut samples = Samples::fresh();
    let entropy = Arc::new(Recording {
        source: SeededEntropy::fresh(),
        drawn: Mutex::default(),
    });
    let (custody, world) = custody(&entropy, &mut samples).await;
    let before = entropy.drawn().len();
    let mut looked_for = Vec::new();
    for number in 0..WALLETS {
        let begin = ImportKeyOrder {
            id: samples.id(samples.now()),
            world,
            origin: Origin {
                wallet_type: WalletType::Ethereum,
                public_address: String::new(),
                entropy_type: EntropyType::PrivateKey,
            },
            account_index: None,
            user_id: None,
            kem: Kem::ALL[number / 2 % 2],
            created_at: samples.now(),
        };
        let orders = (begin, order(&mut samples, world));
        let moved = comes_and_goes(
            Arc::clone(&custody),
            Arc::clone(&entropy),
            world,
            orders,
            number % 2 == 0,
        );
        looked_for.extend(tokio::spawn(moved).await.unwrap());
    }
    let drawn = entropy.drawn().split_off(before);
    assert!(
        drawn.len() >= 3 * WALLETS,
        "a key pair, a data key and a sender for each wallet"
    );
    looked_for.extend(drawn);
    let left = Search::new(&looked_for).count_in_this_process();
    assert_eq!(left, 0, "S3: half keys in memory");
}
