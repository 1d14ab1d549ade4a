//! The numbering plans of libphonenumber: the region and type of a number.
//!
//! The metadata is that of the `phonenumber` crate. Its rules are applied here, because the crate's own differ from libphonenumber's. The
//! crate accepts a number if a pattern matches only its beginning. It looks up types without the leading zeros of the national part, and
//! mistakes some of these zeros and other first digits for a prefix.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use phonenumber::Type;
use phonenumber::metadata::{DATABASE, Descriptor, Metadata};
use regex::{Regex, RegexBuilder};

/// Maximum number of digits in a calling code.
const MAX_CODE: usize = 3;
/// Number of compiled patterns in the cache. Most calls need those of a few regions.
const MAX_PATTERNS: usize = 512;

/// The place of a valid number in its plan.
pub(super) struct Planned {
    /// Number of digits in its calling code.
    pub(super) code_length: usize,
    pub(super) metadata: &'static Metadata,
    pub(super) kind: Type,
}

/// Looks up a number, given as digits including the calling code. `None` if it is not valid.
pub(super) fn find(digits: &str) -> Option<Planned> {
    (1..=MAX_CODE).find_map(|code_length| {
        let (code, national) = digits.split_at_checked(code_length)?;
        let code = code.parse().ok().filter(|_| !code.starts_with('0'))?;
        let (metadata, kind) = region(code, national)?;
        Some(Planned {
            code_length,
            metadata,
            kind,
        })
    })
}

/// The region that the number belongs to among those of its calling code, and its type there.
fn region(code: u16, national: &str) -> Option<(&'static Metadata, Type)> {
    let regions = DATABASE.region(&code)?;
    let is_shared = regions.len() > 1;
    for region in regions {
        let metadata = match region {
            "001" => DATABASE.by_code(&code)?.into_iter().next()?,
            region => DATABASE.by_id(region)?,
        };
        let kind = kind(metadata, national);
        let is_here = match metadata.leading_digits().filter(|_| is_shared) {
            Some(digits) => begins(digits.as_str(), national),
            None => kind != Type::Unknown,
        };
        if is_here {
            // If two regions match, the first one counts, even if the number is not valid there.
            return (kind != Type::Unknown).then_some((metadata, kind));
        }
    }
    None
}

/// The type of a number in a region, checked in the same order as libphonenumber.
fn kind(metadata: &Metadata, national: &str) -> Type {
    let all = metadata.descriptors();
    let is = |descriptor: Option<&Descriptor>| descriptor.is_some_and(|one| has(one, national));
    if !has(all.general(), national) {
        return Type::Unknown;
    }
    let special = [
        (all.premium_rate(), Type::PremiumRate),
        (all.toll_free(), Type::TollFree),
        (all.shared_cost(), Type::SharedCost),
        (all.voip(), Type::Voip),
        (all.personal_number(), Type::PersonalNumber),
        (all.pager(), Type::Pager),
        (all.uan(), Type::Uan),
        (all.voicemail(), Type::Voicemail),
    ];
    if let Some((_, kind)) = special.into_iter().find(|(one, _)| is(*one)) {
        return kind;
    }
    match (is(all.fixed_line()), is(all.mobile())) {
        (true, true) => Type::FixedLineOrMobile,
        (true, false) => Type::FixedLine,
        (false, true) => Type::Mobile,
        (false, false) => Type::Unknown,
    }
}

/// Whether the number is of this type: by its length, and by the whole pattern.
fn has(descriptor: &Descriptor, national: &str) -> bool {
    let lengths = descriptor.possible_length();
    let is_long = |length: &u16| usize::from(*length) == national.len();
    (lengths.is_empty() || lengths.iter().any(is_long))
        && fits(
            &format!("^(?:{})$", descriptor.national_number().as_str()),
            national,
        )
}

fn begins(pattern: &str, national: &str) -> bool {
    fits(&format!("^(?:{pattern})"), national)
}

fn fits(pattern: &str, national: &str) -> bool {
    static COMPILED: LazyLock<Mutex<HashMap<String, Regex>>> = LazyLock::new(Mutex::default);
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = compiled.get(pattern) {
        return known.is_match(national);
    }
    // Some patterns contain line breaks. All come from the library itself; an invalid one would match nothing.
    let mut builder = RegexBuilder::new(pattern);
    let Ok(regex) = builder.ignore_whitespace(true).unicode(false).build() else {
        return false;
    };
    if compiled.len() >= MAX_PATTERNS {
        compiled.clear();
    }
    let is_match = regex.is_match(national);
    compiled.insert(pattern.to_owned(), regex);
    is_match
}
