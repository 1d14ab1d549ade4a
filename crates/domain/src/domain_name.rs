//! Domain names in the canonical form used for comparison.

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};
use url::Host;

/// The A-labels of a domain name, or `None` if the text is not a domain name.
///
/// UTS #46, non-transitional, with `CheckHyphens`, `UseSTD3ASCIIRules` and the length limits of the DNS: `faß.de` and `fass.de` are two
/// names, `faß.de` and `xn--fa-hia.de` are one. The last label of a name must contain a letter, so an IP address in any notation is not a
/// name.
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
    // `1.0x7f` ends in a letter, but browsers and resolvers treat it as an address.
    let is_name = matches!(Host::parse(&name), Ok(Host::Domain(_)));
    (has_letter && is_name).then_some(name)
}

/// The U-labels of a domain name that [`a_labels`] returned.
pub fn u_labels(name: &str) -> String {
    idna::domain_to_unicode(name).0
}

#[cfg(test)]
mod tests;
