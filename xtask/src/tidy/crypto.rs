//! One version of each cryptographic crate: two are twice the code to trust and to update.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use crate::failure::Failure;
use crate::{process, project};

/// Crates that do cryptography or draw chance; a name that ends with `*` stands for all that begin so.
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

/// Crates of which more than one version is built, and why that stands.
const SEVERAL: &[(&str, &str)] = &[
    (
        "signature",
        "traits only: jsonwebtoken is at 2, the curves of the chains and of the tests' authenticator are at 3",
    ),
    (
        "curve25519-dalek",
        "schnorrkel, the one implementation of sr25519, is at 4; ed25519-dalek is at 5",
    ),
    ("keccak", "merlin, the transcripts of schnorrkel, is at 0.1"),
    (
        "rand",
        "oauth2 is at 0.8 and draws nothing from it here: states, nonces and verifiers come from the core",
    ),
    ("getrandom", "what rand of 0.8 is made of"),
    (
        "rand_core",
        "schnorrkel and rand of 0.8 are made of the traits of 0.6",
    ),
    (
        "sha2",
        "schnorrkel, alloy-eips, stellar-xdr and oauth2 are at 0.10, everything else is at 0.11",
    ),
    ("digest", "what sha2 of 0.10 is made of"),
    ("block-buffer", "what sha2 of 0.10 is made of"),
    ("crypto-common", "what sha2 of 0.10 is made of"),
];

/// Crates that may not be built at all, and what does their work.
const NEVER: &[(&str, &str)] = &[
    ("ring", "aws-lc-rs is the one provider"),
    ("openssl-sys", "rustls is the one TLS"),
    ("native-tls", "rustls is the one TLS"),
];

pub(super) fn check() -> Result<Vec<Finding>, Failure> {
    let versions = built()?;
    let mut findings = Vec::new();
    for (name, versions) in &versions {
        if versions.len() > 1
            && is_crypto(name)
            && !SEVERAL.iter().any(|(allowed, _)| allowed == name)
        {
            let list = versions
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ");
            let message = format!(
                "{name} is built in {} versions ({list}); say in xtask/src/tidy/crypto.rs why",
                versions.len()
            );
            findings.push(Finding::new("Cargo.lock", message));
        }
        if let Some((_, instead)) = NEVER.iter().find(|(never, _)| never == name) {
            findings.push(Finding::new(
                "Cargo.lock",
                format!("{name} is built: {instead}"),
            ));
        }
    }
    for (name, _) in SEVERAL {
        if versions
            .get(*name)
            .is_none_or(|versions| versions.len() < 2)
        {
            let message = format!("`{name}` is built in one version now; take it off the table");
            findings.push(Finding::new("xtask/src/tidy/crypto.rs", message));
        }
    }
    Ok(findings)
}

fn is_crypto(name: &str) -> bool {
    CRYPTO
        .iter()
        .any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => *pattern == name,
        })
}

/// What the product is built from on this platform: names and versions. The lock file has more, for features
/// that are off.
fn built() -> Result<BTreeMap<String, BTreeSet<String>>, Failure> {
    let arguments = [
        "tree",
        "--package",
        "vestry-server",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
        "--format",
        "{p}",
        "--locked",
    ];
    let listing = process::output(project::cargo().args(arguments))?;
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in listing.lines() {
        if let Some((name, rest)) = line.split_once(" v") {
            let version = rest.split(' ').next().unwrap_or(rest);
            versions
                .entry(name.to_owned())
                .or_default()
                .insert(version.to_owned());
        }
    }
    Ok(versions)
}
