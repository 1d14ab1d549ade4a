//! Addresses of all chains: the canonical form of an address is itself canonical, and the longest texts end quickly.

#![no_main]

use libfuzzer_sys::fuzz_target;
use vestry_domain::Environment;
use vestry_domain::wallet::WalletType;
use vestry_fuzz::wallets::CHAINS;

fuzz_target!(|text: &str| {
    for wallet_type in WalletType::ALL {
        let chain = CHAINS.get(wallet_type);
        for environment in [Environment::Test, Environment::Live] {
            if let Ok(canonical) = chain.canonical_address(text, environment) {
                let again = chain.canonical_address(&canonical, environment);
                assert_eq!(
                    again.as_ref(),
                    Ok(&canonical),
                    "{wallet_type} {environment}"
                );
            }
        }
        if let Ok(own) = CHAINS.own_address(wallet_type, text) {
            let again = CHAINS.own_address(wallet_type, &own);
            assert_eq!(again.as_ref(), Ok(&own), "{wallet_type}");
        }
    }
});
