//! One version of each cryptographic crate: two mean twice the code to trust and to update.

use super::Finding;
use super::built::Built;

/// Crates that do cryptography or generate randomness; a name ending in `*` is a prefix.
const CRYPTO: &[&str] = &[
    "aead",
    "aes*",
    "argon2",
    "aws-lc-*",
    "bitcoin*",
    "blake*",
    "block-buffer",
    "chacha20*",
    "cipher",
    "crypto-*",
    "curve25519*",
    "digest",
    "ecdsa",
    "ed25519*",
    "elliptic-curve",
    "getrandom",
    "hkdf",
    "hmac",
    "hpke*",
    "k256",
    "keccak*",
    "md-5",
    "openssl*",
    "p256",
    "pbkdf2",
    "poly1305",
    "rand",
    "rand_c*",
    "ring",
    "ripemd",
    "rsa",
    "rustls*",
    "schnorrkel",
    "secp256k1*",
    "sha*",
    "signature",
    "subtle",
    "tiny-keccak",
    "x25519*",
    "zeroize",
];

/// Crates of which more than one version is built, and the reason.
const SEVERAL: &[(&str, &str)] = &[
    (
        "signature",
        "traits only: jsonwebtoken uses 2, the curves of the chains and of the tests' authenticator use 3",
    ),
    (
        "curve25519-dalek",
        "schnorrkel, the only implementation of sr25519, uses 4; ed25519-dalek uses 5",
    ),
    ("keccak", "merlin, the transcripts of schnorrkel, uses 0.1"),
    (
        "rand",
        "oauth2 uses 0.8 and draws nothing from it here: states, nonces and verifiers come from the core",
    ),
    ("getrandom", "used by rand 0.8"),
    ("rand_core", "schnorrkel and rand 0.8 use the traits of 0.6"),
    (
        "sha2",
        "schnorrkel, alloy-eips, stellar-xdr and oauth2 use 0.10, everything else uses 0.11",
    ),
    ("digest", "used by sha2 0.10"),
    ("block-buffer", "used by sha2 0.10"),
    ("crypto-common", "used by sha2 0.10"),
];

/// The path of this file, for findings.
const TABLE: &str = "xtask/src/tidy/crypto.rs";

pub(super) fn check(built: &Built) -> Vec<Finding> {
    let mut findings = several(SEVERAL, built);
    findings.extend(stale(SEVERAL, built));
    findings
}

/// Cryptographic crates in several versions that are not in the table.
fn several(table: &[(&str, &str)], built: &Built) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, versions) in &built.versions {
        let is_known = table.iter().any(|(allowed, _)| allowed == name);
        if versions.len() > 1 && is_crypto(name) && !is_known {
            let list = versions
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ");
            let message = format!(
                "{name} is built in {} versions ({list}); say in {TABLE} why",
                versions.len()
            );
            findings.push(Finding::new("Cargo.lock", message));
        }
    }
    findings
}

/// Table entries that are no longer needed.
fn stale(table: &[(&str, &str)], built: &Built) -> Vec<Finding> {
    let alone = table.iter().filter(|(name, _)| {
        let versions = built.versions.get(*name);
        versions.is_none_or(|versions| versions.len() < 2)
    });
    alone
        .map(|(name, _)| {
            let message = format!("`{name}` is built in one version now; take it off the table");
            Finding::new(TABLE, message)
        })
        .collect()
}

fn is_crypto(name: &str) -> bool {
    CRYPTO
        .iter()
        .any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => *pattern == name,
        })
}

#[cfg(test)]
mod tests;
