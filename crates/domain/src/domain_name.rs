//! Domain names: the one form in which they are compared.

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};
use url::Host;

/// The A-labels of a domain name, or `None` if the text is no domain name.
///
/// UTS #46, non-transitional, with `CheckHyphens`, `UseSTD3ASCIIRules` and the length limits of the DNS: `faß.de` and `fass.de` are two
/// names, `faß.de` and `xn--fa-hia.de` are one. A name has a letter in its last label, so an IP address in any notation is none.
pub fn a_labels(text: &str) -> Option<String> {
    let read = Uts46::new().to_ascii(
        text.as_bytes(),
        AsciiDenyList::STD3,
        Hyphens::Check,
        DnsLength::Verify,
    );
    let name = read.ok()?.into_owned();
    let last = name.rsplit('.').next()?;
    // The letters of `xn--` do not count.
    let has_letter = u_labels(last).chars().any(char::is_alphabetic);
    // `1.0x7f` ends in a letter, and is an address to browsers and resolvers.
    let is_name = matches!(Host::parse(&name), Ok(Host::Domain(_)));
    (has_letter && is_name).then_some(name)
}

/// The U-labels of a domain name that [`a_labels`] returned.
pub fn u_labels(name: &str) -> String {
    idna::domain_to_unicode(name).0
}

#[cfg(test)]
mod tests;
