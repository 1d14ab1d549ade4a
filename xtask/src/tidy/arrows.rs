//! The architecture: which crate may depend on which.
//!
//! These two tables are the architecture; `ARCHITECTURE.md` explains them. A new dependency is a change to a table, to be justified in
//! review.

use super::Finding;
use super::workspace::{Dependency, Workspace};

/// `crate: allowed dependencies | further ones of its tests`, without the `vestry-` prefix of our names; `*` means every crate. Lines
/// starting with `#` are comments.
const OURS: &str = "
    domain      :                     |
    chains      : domain              |
    port-macro  :                     |
    ports       : domain port-macro   |
    contract    : domain ports        |
    # What tests share; product code never names it.
    testkit     : store-sql           |
    # Use cases meet fakes of the world but real cryptography: a fake of that would prove nothing.
    app         : domain ports        | contract checkpoint-sinks chains vault-local custody token-jwt password-argon2 passkeys
    # One store in three crates, so that its parts compile at the same time, and one that chooses between the two.
    store-rows     : domain ports                |
    store-sqlite   : domain ports store-rows     |
    store-postgres : domain ports store-rows     |
    store-sql      : domain ports store-rows store-sqlite store-postgres | contract testkit
    mail-smtp   : domain ports        | contract
    # The one HTTP client, used by adapters that speak HTTP.
    outbound    : domain              |
    sms-http    : domain ports outbound |
    webhook-http: ports outbound | domain testkit
    checkpoint-sinks : domain ports outbound | testkit
    vault-local : domain ports        | contract
    telemetry   : domain ports        |
    limiter     : domain ports        | contract
    password-argon2 : domain ports    | contract
    breached-passwords : domain ports |
    # Its signing keys are sealed; the tests seal them for real.
    token-jwt   : domain ports        | contract vault-local custody
    # The checks of a relying party; they keep nothing.
    passkeys    : domain ports        |
    # Identity providers over the one client; the contract has the providers of its tests.
    idp-oauth   : domain ports outbound | contract
    # The only crate besides chains that sees a private key.
    custody     : domain ports chains | contract vault-local
    # What all HTTP crates share.
    edge        : domain app          |
    # Tested with the API, in `web`.
    console     : domain app edge     |
    manage      : domain app edge     |
    # The API is tested over HTTP with the real adapters behind it.
    web         : domain app edge     | console manage ports contract testkit store-sql mail-smtp vault-local custody limiter token-jwt password-argon2 passkeys idp-oauth
    # Puts everything together.
    server      : *                   | *
    # Commands of this project, and what they share. The bench and the lab run the service and its tests as other programs.
    xtask-harness :                   |
    xtask       : xtask-harness       |
    xtask-bench : xtask-harness       |
    xtask-lab   : xtask-harness       |
    # Not part of the product: the baselines of the bench use the libraries without our crates around them.
    bench-baseline :                  |
    # Nor is the load generator, which acts as wallets, apps and browsers. It also times store operations that the service runs outside
    # requests.
    bench-load  : domain ports chains contract store-sql |
";

/// `third-party crates: our crates that may name them | further ones whose tests may: reason`. A name ending in `*` is a prefix. A crate in
/// several lines must be allowed by all of them.
const OTHERS: &str = "
    # The tests of the server break rows behind its back, those of the API make databases.
    diesel* deadpool* tokio-postgres* libsqlite3-sys: store-rows store-sqlite store-postgres testkit bench-baseline | store-sql server web: SQL is spoken by the store alone
    actix-* utoipa*: edge web manage console server bench-baseline |: HTTP is spoken at the edge
    lettre: mail-smtp |: SMTP is spoken by the mailer alone
    # The contract has a provider that checks the tokens it gets.
    jsonwebtoken: token-jwt idp-oauth contract | web server: tokens of ours are signed and verified in one place, those of others in another
    oauth2: idp-oauth |: identity providers are spoken to in one place
    alloy* secp256k1* k256: chains bench-baseline |: heavy chain crates stay behind `chains`
    # The load asks for signatures on transactions, which it has to make.
    bitcoin*: chains bench-baseline bench-load |: heavy chain crates stay behind `chains`
    # The contract is for tests only; it holds the browser that answers in them.
    passkey-*: contract |: a second implementation of passkeys is for tests only
    # Tests sign as the wallet of a person would.
    ed25519-dalek: chains bench-baseline | app web: heavy chain crates stay behind `chains`
    bs58: chains bench-load | app web: heavy chain crates stay behind `chains`
    redis: limiter |: a shared limit is the limiter's business
    aws-lc-rs: custody vault-local token-jwt passkeys idp-oauth contract server bench-baseline | *: keys are handled by adapters, behind a port
    # The contract has a client that seals.
    hpke: custody contract |: private keys are opened and sealed in custody alone
    qrcode: web console |: pictures are made at the edge
    png: web |: pictures are made at the edge
    hmac: domain chains |: the codes of authenticator apps are a rule of the domain, derived keys one of the chains
    clap clap_complete: server |: the process belongs to the server
    # Hashing threads lower their own priority, and nothing else of the process.
    rustix: server password-argon2 bench-load |: the process belongs to the server
    argon2: password-argon2 bench-baseline |: passwords are hashed in one place
    bcrypt scrypt aes ctr: password-argon2 |: passwords are hashed in one place
    pbkdf2: password-argon2 chains |: passwords are hashed in one place, and phrases are not passwords
    bip39: chains |: phrases are read where keys are
    # Used by codes of authenticator apps, the breached-password list and old imported hashes.
    sha1: domain password-argon2 breached-passwords |: it is broken, and for nothing else
    zxcvbn: app |: a password is judged by one use case
    # Servers of tests need certificates.
    rcgen: server | *: certificates are made by the server alone
    minijinja: xtask |: the operation layer of client libraries is generated by `cargo xtask sdk` alone
    semver: xtask |: versions of crates are compared by `cargo xtask tidy` alone
    toml: server xtask |: settings are read by the server alone
    reqwest: outbound bench-load | *: HTTP is spoken by the one client alone
    insta jsonschema proptest tempfile: testkit | *: it is for tests only
    # A trait of the browser in the tests is made by it; see PR-111 for why ours are not.
    async-trait: contract |: ports stand under `#[port]`, which compiles several times as fast
    quote: port-macro |: one macro is enough
    syn proc-macro2: port-macro xtask |: sources are read by one macro and by `cargo xtask tidy`
    futures*: contract app store-sqlite store-postgres mail-smtp sms-http vault-local custody limiter token-jwt idp-oauth password-argon2 breached-passwords edge server | port-macro store-sql checkpoint-sinks web: domain and chains are pure, without async
    tokio*: contract testkit app store-rows store-sqlite store-postgres mail-smtp outbound sms-http checkpoint-sinks vault-local custody limiter token-jwt idp-oauth password-argon2 breached-passwords edge web server bench-baseline bench-load | store-sql webhook-http: domain, chains and ports know no runtime
";

/// A line of [`OURS`].
struct Arrows {
    from: &'static str,
    to: Names,
    in_tests: Names,
}

/// A line of [`OTHERS`].
struct Kept {
    crates: Names,
    by: Names,
    by_tests: Names,
    reason: &'static str,
}

/// Names separated by spaces.
#[derive(Clone, Copy)]
struct Names(&'static str);

impl Names {
    fn contain(self, name: &str) -> bool {
        let mut patterns = self.0.split_whitespace();
        patterns.any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => pattern == name,
        })
    }
}

/// Every dependency that the tables do not allow.
pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let ours: Vec<&str> = workspace
        .members
        .iter()
        .map(|member| short(&member.name))
        .collect();
    let mut findings = Vec::new();
    for member in &workspace.members {
        let mut say = |message: String| findings.push(Finding::new(&member.path, message));
        let name = short(&member.name);
        let Some(arrows) = arrows().find(|arrows| arrows.from == name) else {
            say(format!(
                "{name} is not in the table of xtask/src/tidy/arrows.rs"
            ));
            continue;
        };
        for dependency in &member.dependencies {
            let used = short(&dependency.name);
            if ours.contains(&used) {
                if !allows(arrows.to, arrows.in_tests, used, dependency) {
                    say(format!(
                        "{name} may not use {used}: the table is in xtask/src/tidy/arrows.rs"
                    ));
                }
            } else if let Some(kept) = refusal(name, dependency) {
                say(format!("{name} may not name {used}: {}", kept.reason));
            }
        }
    }
    findings
}

/// The first line of [`OTHERS`] that forbids this dependency.
fn refusal(name: &str, dependency: &Dependency) -> Option<Kept> {
    kept().find(|kept| {
        kept.crates.contain(&dependency.name) && !allows(kept.by, kept.by_tests, name, dependency)
    })
}

fn allows(always: Names, in_tests: Names, name: &str, dependency: &Dependency) -> bool {
    always.contain(name) || dependency.for_tests && in_tests.contain(name)
}

/// The name of our crate in the tables.
fn short(name: &str) -> &str {
    name.strip_prefix("vestry-").unwrap_or(name)
}

fn arrows() -> impl Iterator<Item = Arrows> {
    lines(OURS).filter_map(|line| {
        let (from, rest) = line.split_once(':')?;
        let (to, in_tests) = rest.split_once('|')?;
        Some(Arrows {
            from: from.trim(),
            to: Names(to),
            in_tests: Names(in_tests),
        })
    })
}

fn kept() -> impl Iterator<Item = Kept> {
    lines(OTHERS).filter_map(|line| {
        let (crates, rest) = line.split_once(':')?;
        let (by, rest) = rest.split_once('|')?;
        let (by_tests, reason) = rest.split_once(':')?;
        Some(Kept {
            crates: Names(crates),
            by: Names(by),
            by_tests: Names(by_tests),
            reason: reason.trim(),
        })
    })
}

fn lines(table: &'static str) -> impl Iterator<Item = &'static str> {
    table
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests;
