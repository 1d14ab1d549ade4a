//! Sign-in messages of wallets: EIP-4361 ("Sign-In with Ethereum"), and the same for Solana ("Sign In With Solana").
//!
//! A message is read whole and checked whole: what does not follow the form to its last character is refused, and so is
//! whatever names another site, another account or another time.

use url::Url;

use crate::timestamp::Seconds;
use crate::wallet::WalletType;
use crate::{Invalid, Timestamp, rfc3339};

/// Name of the field that carries a message.
const PARAM: &str = "siwe_challenge";
/// Longest message, in bytes.
const LENGTH_MAX: usize = 8 * 1024;
/// How far the clock of the end user's device may be from ours.
const SKEW: Seconds = Seconds(300);

/// A sign-in message, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInMessage {
    /// Scheme in front of the domain.
    pub scheme: Option<String>,
    /// The site that asks: host, and port where it is not the scheme's own.
    pub domain: String,
    /// The account.
    pub address: String,
    /// A sentence for the person who signs.
    pub statement: Option<String>,
    /// What is signed in to. Always there in the Ethereum form.
    pub uri: Option<String>,
    /// Version of the form. Always there in the Ethereum form.
    pub version: Option<String>,
    /// The chain. Always there in the Ethereum form.
    pub chain_id: Option<String>,
    /// The nonce that makes the message good for one sign-in.
    pub nonce: String,
    /// When it was made. Always there in the Ethereum form.
    pub issued_at: Option<Timestamp>,
    /// From when on it is worthless.
    pub expiration_time: Option<Timestamp>,
    /// From when on it counts.
    pub not_before: Option<Timestamp>,
    /// The site's own name for the request.
    pub request_id: Option<String>,
    /// What the site wants to reach.
    pub resources: Vec<String>,
}

fn refuse(message: &'static str) -> Invalid {
    Invalid::value(PARAM, message)
}

/// The lines that have not been read.
struct Lines<'a> {
    rest: std::iter::Peekable<std::str::Split<'a, char>>,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Result<&'a str, Invalid> {
        self.rest
            .next()
            .ok_or_else(|| refuse("the message ends early"))
    }

    fn empty(&mut self) -> Result<(), Invalid> {
        match self.next()? {
            "" => Ok(()),
            _ => Err(refuse("an empty line is missing")),
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
                rfc3339::parse(text).ok_or_else(|| refuse("a time is not in the form of RFC 3339"))
            })
            .transpose()
    }
}

impl SignInMessage {
    /// Reads a message of the chain. Ethereum: the form of EIP-4361, in which URI, version, chain and time of issue are
    /// required. Solana: the same lines, of which only the nonce is required.
    ///
    /// # Errors
    /// What is wrong with `siwe_challenge`; never a part of it.
    pub fn parse(text: &str, wallet_type: WalletType) -> Result<Self, Invalid> {
        if !matches!(wallet_type, WalletType::Ethereum | WalletType::Solana) {
            return Err(refuse("wallets of this type have no sign-in message"));
        }
        let chain = account_name(wallet_type);
        if text.len() > LENGTH_MAX {
            return Err(refuse("the message has more than 8192 bytes"));
        }
        if text.chars().any(|c| c.is_control() && c != '\n') {
            return Err(refuse("the message has a control character"));
        }
        let mut lines = Lines {
            rest: text.split('\n').peekable(),
        };
        let asking = format!(" wants you to sign in with your {chain} account:");
        let origin = lines
            .next()?
            .strip_suffix(&asking)
            .ok_or_else(|| refuse("the first line is not that of a sign-in message"))?;
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
                .ok_or_else(|| refuse("the message has no nonce in its place"))?
                .to_owned(),
            issued_at: lines.moment("Issued At")?,
            expiration_time: lines.moment("Expiration Time")?,
            not_before: lines.moment("Not Before")?,
            request_id: lines.field("Request ID").map(str::to_owned),
            resources: resources(&mut lines)?,
        };
        if lines.rest.next().is_some() {
            return Err(refuse("the message has a line that is out of place"));
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
            return Err(refuse("the version is not 1"));
        }
        let is_number = |id: &String| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit());
        if is_ethereum && !self.chain_id.as_ref().is_some_and(is_number) {
            return Err(refuse("the chain id is not a number"));
        }
        let is_nonce =
            self.nonce.len() >= 8 && self.nonce.bytes().all(|b| b.is_ascii_alphanumeric());
        if !is_nonce {
            return Err(refuse("the nonce is not 8 or more letters and digits"));
        }
        Ok(())
    }

    /// Checks what the message names: the site against the `domains` of the App, its chain against the `chains`, the account,
    /// and the time. `nonce_made_at` is when its nonce was made: no message is older than that, but for the skew of clocks.
    ///
    /// # Errors
    /// What does not fit.
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
            return Err(refuse("the domain is not on the App's list siwe_domains"));
        }
        if let Some(scheme) = &self.scheme
            && scheme != "https"
            && !(scheme == "http" && is_local(&self.domain))
        {
            return Err(refuse("the scheme is not https"));
        }
        if let Some(uri) = &self.uri
            && !authority(uri).is_some_and(|authority| is_ours(&authority))
        {
            return Err(refuse("the URI is not one of a domain on the App's list"));
        }
        if let Some(chain) = &self.chain_id {
            // Solana's may say twice of what chain they are.
            let chain = chain.strip_prefix("solana:").unwrap_or(chain);
            if !chains.iter().any(|ours| ours == chain) {
                return Err(refuse(
                    "the Chain ID is not on the App's list siwe_chain_ids, or siws_clusters for Solana",
                ));
            }
        }
        if self.address != address {
            return Err(refuse(
                "the address is not public_address, in its checked form",
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

/// What sign-in messages call the accounts of a chain.
pub(crate) const fn account_name(wallet_type: WalletType) -> &'static str {
    match wallet_type {
        WalletType::Ethereum => "Ethereum",
        WalletType::Solana => "Solana",
        WalletType::Bitcoin => "Bitcoin",
        WalletType::Polkadot => "Polkadot",
        WalletType::Stellar => "Stellar",
    }
}

/// The address of a site: `https`, but for this machine.
pub fn site_url(domain: &str) -> String {
    let scheme = if is_local(domain) { "http" } else { "https" };
    format!("{scheme}://{domain}")
}

/// The sentence between the account and the fields, and the empty line after it.
fn statement(lines: &mut Lines<'_>, wallet_type: WalletType) -> Result<Option<String>, Invalid> {
    let statement = match lines.rest.peek() {
        Some(&"") | None => None,
        // In the Solana form the fields follow the account after one empty line when there is no statement.
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
                .ok_or_else(|| refuse("a resource is not a URI"))?;
            resources.push(resource.to_owned());
        }
    }
    Ok(resources)
}

/// Host and port of a web address, as a message writes its domain.
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

/// Whether it is this machine: there, plain HTTP is what developers have.
fn is_local(domain: &str) -> bool {
    let host = domain.rsplit_once(':').map_or(domain, |(host, _port)| host);
    host == "localhost" || host == "127.0.0.1"
}

/// Checks the list of domains of an App: at most 20, each a host in its ASCII form and perhaps a port.
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
        "siwe_domains must be a list of at most 20 hosts, each with a port or without, such as [\"example.com\", \"localhost:3000\"]",
    ))
}

/// The clusters of Solana, as its sign-in messages name them.
const CLUSTERS: [&str; 4] = ["mainnet", "testnet", "devnet", "localnet"];

/// Checks the chains of an App: 1 to 20 of Ethereum's kind, and 1 to 4 clusters of Solana.
///
/// # Errors
/// Names `siwe_chain_ids` or `siws_clusters`.
pub fn check_chains(ids: &[u64], clusters: &[String]) -> Result<(), Invalid> {
    if ids.is_empty() || ids.len() > 20 || ids.contains(&0) {
        return Err(Invalid::value(
            "siwe_chain_ids",
            "siwe_chain_ids must be a list of 1 to 20 chain ids of EIP-155, the one of our own challenges first, such as [1, 8453]",
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
