//! A wallet of each chain, and properties of everything that it signs.

use std::sync::LazyLock;

use serde_json::Value;
use vestry_chains::{Chains, PrivateKey, Signer};
use vestry_contract::rng::Rng;
use vestry_domain::signing::{Signed, SigningRequest};
use vestry_domain::wallet::WalletType;
use vestry_domain::{Environment, Secret};

/// All chains, shared because setting up their curves takes longer than most inputs.
pub static CHAINS: LazyLock<Chains> = LazyLock::new(|| Chains::new(&Secret::new([0x42; 32])));

/// The private key of every wallet here, valid on every chain: the first one of Polkadot's `vectors/python.json` in `vestry-chains`. Seeds
/// contain its addresses and public keys.
const KEY: [u8; 32] = [
    0xf9, 0x0f, 0x48, 0xf0, 0x3c, 0x28, 0xdc, 0x86, 0x6d, 0x91, 0xb6, 0x2c, 0x99, 0xa0, 0xea, 0x47,
    0xa4, 0x42, 0x39, 0x59, 0x83, 0x87, 0x11, 0xca, 0x31, 0x33, 0xf1, 0x9b, 0x0a, 0xbb, 0x09, 0x15,
];

/// A wallet with its key.
pub struct FuzzWallet {
    /// The chain.
    pub wallet_type: WalletType,
    /// The key.
    pub key: PrivateKey,
    /// The public key in the chain's own encoding.
    pub public_key: Vec<u8>,
    /// The canonical address in its environment.
    pub address: String,
    environment: Environment,
}

impl FuzzWallet {
    /// The wallet of a chain.
    ///
    /// # Panics
    /// If the chain rejects the key.
    pub fn new(wallet_type: WalletType, environment: Environment) -> Self {
        let chain = CHAINS.get(wallet_type);
        let key = chain.private_key(&KEY).expect("a key");
        let public_key = chain.public_key(&key).expect("a public key");
        let address = chain.address(&public_key, environment).expect("an address");
        Self {
            wallet_type,
            key,
            public_key,
            address,
            environment,
        }
    }

    /// Signs a request, unless the chain refuses it.
    ///
    /// # Panics
    /// If an accepted request cannot be signed (every signature is verified before it is returned) or, on chains with deterministic
    /// signatures, if a second signature differs.
    pub fn sign(&self, request: &SigningRequest) -> Option<Signed> {
        let signer = Signer {
            public_key: &self.public_key,
            address: &self.address,
            environment: self.environment,
        };
        let prepared = CHAINS.get(self.wallet_type).prepare(request, signer).ok()?;
        let signed = |seed| {
            let mut random = Rng::from_seed(seed);
            let mut source = |bytes: &mut [u8]| random.fill(bytes);
            prepared.sign(&self.key, &mut source)
        };
        let first = signed(1).expect("a prepared request can be signed");
        if self.wallet_type != WalletType::Polkadot {
            assert_eq!(signed(1).as_ref(), Ok(&first), "signing again");
        }
        Some(first)
    }

    /// `sign_transaction` with this value in the chain's field.
    pub fn sign_transaction(&self, transaction: Value) -> Option<Signed> {
        self.sign(&SigningRequest::Transaction(transaction))
    }
}

/// The wallets of one environment, in the order of [`WalletType::ALL`].
pub fn all(environment: Environment) -> [FuzzWallet; 5] {
    WalletType::ALL.map(|wallet_type| FuzzWallet::new(wallet_type, environment))
}

/// A text field of a response.
///
/// # Panics
/// If it does not exist.
pub fn text<'a>(signed: &'a Signed, name: &str) -> &'a str {
    signed.text(name).unwrap_or_else(|| panic!("no {name}"))
}
