//! Addresses: P2WPKH (BIP-84) and P2TR (BIP-86), in bech32 and bech32m of the environment's network.

use ::bitcoin::address::NetworkUnchecked;
use ::bitcoin::key::TapTweak;
use ::bitcoin::secp256k1::{PublicKey, XOnlyPublicKey};
use ::bitcoin::{Address, CompressedPublicKey, KnownHrp, Network};
use vestry_domain::Environment;

/// Testnet and signet share their addresses.
const fn hrp(environment: Environment) -> KnownHrp {
    match environment {
        Environment::Test => KnownHrp::Testnets,
        Environment::Live => KnownHrp::Mainnet,
    }
}

pub(super) fn p2wpkh(public_key: PublicKey, environment: Environment) -> Address {
    Address::p2wpkh(&CompressedPublicKey(public_key), hrp(environment))
}

/// The address of an output key, which is already tweaked.
pub(super) fn p2tr(output_key: XOnlyPublicKey, environment: Environment) -> Address {
    Address::p2tr_tweaked(output_key.dangerous_assume_tweaked(), hrp(environment))
}

/// Whether a canonical address is P2TR: version 1, which bech32 writes as `p`.
pub(super) fn is_taproot(address: &str) -> bool {
    address.starts_with("bc1p") || address.starts_with("tb1p")
}

/// An address of one of the two kinds, in lower case or in capitals (which BIP-173 allows for QR codes).
pub(super) fn parse(text: &str, environment: Environment) -> Option<Address> {
    let network = match environment {
        Environment::Test => Network::Testnet,
        Environment::Live => Network::Bitcoin,
    };
    let address: Address<NetworkUnchecked> = text.parse().ok()?;
    let address = address.require_network(network).ok()?;
    let script = address.script_pubkey();
    let is_of_a_key = match script.as_bytes() {
        [0x51, 32, output_key @ ..] => XOnlyPublicKey::from_slice(output_key).is_ok(),
        _ => script.is_p2wpkh(),
    };
    is_of_a_key.then_some(address)
}
