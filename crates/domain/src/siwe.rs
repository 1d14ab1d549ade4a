//! Wallet sign-in messages: EIP-4361 ("Sign-In with Ethereum"), and the equivalent for Solana ("Sign In With Solana").
//!
//! Messages are parsed and checked completely. One that deviates from the format in any character is rejected, and so is one for another
//! site, account or time.

use url::Url;

use crate::timestamp::Seconds;
use crate::wallet::WalletType;
use crate::{Invalid, Timestamp, rfc3339};

/// The request field that contains a message.
const PARAM: &str = "siwe_challenge";
/// Maximum length of a message in bytes.
const MAX_LENGTH: usize = 8 * 1024;
/// Maximum clock skew between the end user's device and this service.
const SKEW: Seconds = Seconds(300);

/// A parsed sign-in message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInMessage {
    /// The scheme before the domain.
    pub scheme: Option<String>,
    /// The requesting site: host, and port unless it is the scheme's default.
    pub domain: String,
    /// The account.
    pub address: String,
    /// A sentence for the signing user.
    pub statement: Option<String>,
    /// The URI to sign in to. Always present in the Ethereum format.
    pub uri: Option<String>,
    /// The version of the format. Always present in the Ethereum format.
    pub version: Option<String>,
    /// The chain. Always present in the Ethereum format.
    pub chain_id: Option<String>,
    /// The nonce, which limits the message to one sign-in.
    pub nonce: String,
    /// When it was created. Always present in the Ethereum format.
    pub issued_at: Option<Timestamp>,
    /// When it expires.
    pub expiration_time: Option<Timestamp>,
    /// When it becomes valid.
    pub not_before: Option<Timestamp>,
    /// The site's own name for the request.
    pub request_id: Option<String>,
    /// The resources that the site wants to access.
    pub resources: Vec<String>,
}

fn refuse(message: &'static str) -> Invalid {
    Invalid::value(PARAM, message)
}

/// The remaining lines.
struct Lines<'a> {
    rest: std::iter::Peekable<std::str::Split<'a, char>>,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Result<&'a str, Invalid> {
        self.rest
            .next()
            .ok_or_else(|| refuse("the message is incomplete"))
    }

    fn empty(&mut self) -> Result<(), Invalid> {
        match self.next()? {
            "" => Ok(()),
            _ => Err(refuse("the message lacks an empty line")),
        }
    }

    /// The value of a field, if it is the next one.
    fn field(&mut self, name: &str) -> Option<&'a str> {
        let line = self.rest.peek()?;
        let value = line.strip_prefix(name)?.strip_prefix(": ")?;
        self.rest.next();
        Some(value)
    }

    fn moment(&mut self, name: &str) -> Result<Option<Timestamp>, Invalid> {
        self.field(name)
            .map(|text| {
                rfc3339::parse(text)
                    .ok_or_else(|| refuse("times in the message must be in RFC 3339 format"))
            })
            .transpose()
    }
}

impl SignInMessage {
    /// Parses a message of the chain. Ethereum: the format of EIP-4361, with URI, version, chain and time of issue required. Solana: the
    /// same lines, of which only the nonce is required.
    ///
    /// # Errors
    /// The problem with `siwe_challenge`, without repeating any part of it.
    pub fn parse(text: &str, wallet_type: WalletType) -> Result<Self, Invalid> {
        if !matches!(wallet_type, WalletType::Ethereum | WalletType::Solana) {
            return Err(refuse(
                "wallets of this type do not support sign-in messages",
            ));
        }
        let chain = account_name(wallet_type);
        if text.len() > MAX_LENGTH {
            return Err(refuse("the message must have at most 8192 bytes"));
        }
        if text.chars().any(|c| c.is_control() && c != '\n') {
            return Err(refuse("the message must not contain control characters"));
        }
        let mut lines = Lines {
            rest: text.split('\n').peekable(),
        };
        let asking = format!(" wants you to sign in with your {chain} account:");
        let origin = lines
            .next()?
            .strip_suffix(&asking)
            .ok_or_else(|| refuse("the first line must be that of a sign-in message"))?;
        let (scheme, domain) = match origin.split_once("://") {
            Some((scheme, domain)) => (Some(scheme.to_owned()), domain.to_owned()),
            None => (None, origin.to_owned()),
        };
        let address = lines.next()?.to_owned();
        lines.empty()?;
        let statement = statement(&mut lines, wallet_type)?;
        let message = Self {
            scheme,
            domain,
            address,
            statement,
            uri: lines.field("URI").map(str::to_owned),
            version: lines.field("Version").map(str::to_owned),
            chain_id: lines.field("Chain ID").map(str::to_owned),
            nonce: lines
                .field("Nonce")
                .ok_or_else(|| refuse("the message has no Nonce at the expected position"))?
                .to_owned(),
            issued_at: lines.moment("Issued At")?,
            expiration_time: lines.moment("Expiration Time")?,
            not_before: lines.moment("Not Before")?,
            request_id: lines.field("Request ID").map(str::to_owned),
            resources: resources(&mut lines)?,
        };
        if lines.rest.next().is_some() {
            return Err(refuse("the message has an unexpected line"));
        }
        message.has_its_parts(wallet_type)?;
        Ok(message)
    }

    fn has_its_parts(&self, wallet_type: WalletType) -> Result<(), Invalid> {
        let is_ethereum = wallet_type == WalletType::Ethereum;
        let complete = self.uri.is_some()
            && self.version.is_some()
            && self.chain_id.is_some()
            && self.issued_at.is_some();
        if is_ethereum && !complete {
            return Err(refuse(
                "URI, Version, Chain ID and Issued At are required, in this order",
            ));
        }
        if self.version.as_ref().is_some_and(|version| version != "1") {
            return Err(refuse("the Version must be 1"));
        }
        let is_number = |id: &String| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit());
        if is_ethereum && !self.chain_id.as_ref().is_some_and(is_number) {
            return Err(refuse("the Chain ID must be a number"));
        }
        let is_nonce =
            self.nonce.len() >= 8 && self.nonce.bytes().all(|b| b.is_ascii_alphanumeric());
        if !is_nonce {
            return Err(refuse(
                "the Nonce must have at least 8 characters, only letters and digits",
            ));
        }
        Ok(())
    }

    /// Checks the message: its site against the App's `domains`, its chain against `chains`, its account and its times. `nonce_made_at` is
    /// when its nonce was created; the message must not be older than that, apart from clock skew.
    ///
    /// # Errors
    /// The check that failed.
    pub fn check(
        &self,
        domains: &[String],
        chains: &[String],
        address: &str,
        nonce_made_at: Timestamp,
        now: Timestamp,
    ) -> Result<(), Invalid> {
        let is_ours = |domain: &str| domains.iter().any(|ours| ours.eq_ignore_ascii_case(domain));
        if !is_ours(&self.domain) {
            return Err(refuse("the domain is not in the App's siwe_domains"));
        }
        if let Some(scheme) = &self.scheme
            && scheme != "https"
            && !(scheme == "http" && is_local(&self.domain))
        {
            return Err(refuse("the scheme must be https"));
        }
        if let Some(uri) = &self.uri
            && !authority(uri).is_some_and(|authority| is_ours(&authority))
        {
            return Err(refuse(
                "the URI is not at a domain in the App's siwe_domains",
            ));
        }
        if let Some(chain) = &self.chain_id {
            // Solana messages can have a redundant `solana:` prefix.
            let chain = chain.strip_prefix("solana:").unwrap_or(chain);
            if !chains.iter().any(|ours| ours == chain) {
                return Err(refuse(
                    "the Chain ID is not in the App's siwe_chain_ids (Ethereum) or siws_clusters (Solana)",
                ));
            }
        }
        if self.address != address {
            return Err(refuse(
                "the address must be public_address in its canonical form",
            ));
        }
        let is_early = self.not_before.is_some_and(|start| now < start);
        let is_late = self.expiration_time.is_some_and(|end| now >= end);
        let is_odd = self
            .issued_at
            .is_some_and(|issued| issued > now + SKEW || issued < nonce_made_at - SKEW);
        if is_early || is_late || is_odd {
            return Err(refuse("the message is not valid at this time"));
        }
        Ok(())
    }
}

/// The name of a chain's accounts in sign-in messages.
pub(crate) const fn account_name(wallet_type: WalletType) -> &'static str {
    match wallet_type {
        WalletType::Ethereum => "Ethereum",
        WalletType::Solana => "Solana",
        WalletType::Bitcoin => "Bitcoin",
        WalletType::Polkadot => "Polkadot",
        WalletType::Stellar => "Stellar",
    }
}

/// The URL of a site: `https`, except on the local machine.
pub fn site_url(domain: &str) -> String {
    let scheme = if is_local(domain) { "http" } else { "https" };
    format!("{scheme}://{domain}")
}

/// The sentence between the account and the fields, and the empty line that follows.
fn statement(lines: &mut Lines<'_>, wallet_type: WalletType) -> Result<Option<String>, Invalid> {
    let statement = match lines.rest.peek() {
        Some(&"") | None => None,
        // In the Solana format without a statement, the fields follow the account after one empty line.
        Some(line) if wallet_type == WalletType::Solana && is_field(line) => return Ok(None),
        Some(_) => Some(lines.next()?.to_owned()),
    };
    lines.empty()?;
    Ok(statement)
}

fn is_field(line: &str) -> bool {
    ["URI: ", "Version: ", "Chain ID: ", "Nonce: "]
        .iter()
        .any(|name| line.starts_with(name))
}

fn resources(lines: &mut Lines<'_>) -> Result<Vec<String>, Invalid> {
    let mut resources = Vec::new();
    if lines.rest.next_if_eq(&"Resources:").is_some() {
        for line in lines.rest.by_ref() {
            let resource = line
                .strip_prefix("- ")
                .filter(|uri| Url::parse(uri).is_ok())
                .ok_or_else(|| refuse("each resource must be a URI"))?;
            resources.push(resource.to_owned());
        }
    }
    Ok(resources)
}

/// Host and port of a web URL, as a message writes its domain.
fn authority(uri: &str) -> Option<String> {
    let url = Url::parse(uri).ok()?;
    let host = url.host_str()?;
    let is_web = url.scheme() == "https" || url.scheme() == "http" && is_local(host);
    let plain = url.username().is_empty() && url.password().is_none();
    (is_web && plain).then(|| match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

/// Whether it is the local machine, where developers use plain HTTP.
fn is_local(domain: &str) -> bool {
    let host = domain.rsplit_once(':').map_or(domain, |(host, _port)| host);
    host == "localhost" || host == "127.0.0.1"
}

/// Checks an App's list of domains: at most 20, each a host in ASCII form with an optional port.
///
/// # Errors
/// Names `siwe_domains`.
pub fn check_domains(domains: &[String]) -> Result<(), Invalid> {
    let is_domain = |domain: &String| {
        let read = Url::parse(&format!("https://{domain}"));
        let whole = read.is_ok_and(|url| {
            let port = url
                .port()
                .map(|port| format!(":{port}"))
                .unwrap_or_default();
            url.host_str()
                .is_some_and(|host| format!("{host}{port}").eq_ignore_ascii_case(domain))
        });
        whole && domain.len() <= 255
    };
    if domains.len() <= 20 && domains.iter().all(is_domain) {
        return Ok(());
    }
    Err(Invalid::value(
        "siwe_domains",
        "siwe_domains must be a list of at most 20 hosts with optional ports, such as [\"example.com\", \"localhost:3000\"]",
    ))
}

/// The clusters of Solana, as named in its sign-in messages.
const CLUSTERS: [&str; 4] = ["mainnet", "testnet", "devnet", "localnet"];

/// Checks an App's chains: 1 to 20 EIP-155 chain ids, and 1 to 4 Solana clusters.
///
/// # Errors
/// Names `siwe_chain_ids` or `siws_clusters`.
pub fn check_chains(ids: &[u64], clusters: &[String]) -> Result<(), Invalid> {
    if ids.is_empty() || ids.len() > 20 || ids.contains(&0) {
        return Err(Invalid::value(
            "siwe_chain_ids",
            "siwe_chain_ids must be a list of 1 to 20 EIP-155 chain ids, such as [1, 8453]; challenges use the first",
        ));
    }
    let known = clusters.iter().all(|name| CLUSTERS.contains(&&**name));
    if clusters.is_empty() || clusters.len() > CLUSTERS.len() || !known {
        return Err(Invalid::value(
            "siws_clusters",
            format!(
                "siws_clusters must be a list of 1 to 4 of {}",
                CLUSTERS.join(", ")
            ),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
