//! The types of typed data.

use std::collections::{BTreeMap, BTreeSet};

use vestry_domain::Invalid;

use super::atom::Atom;
use crate::ethereum::fields::{Field, Object};

/// Most types, and most members of one. The largest in use have a dozen.
const TYPES_MAX: usize = 100;
const MEMBERS_MAX: usize = 200;
/// Most dimensions of an array; trees of orders have 24.
const DIMENSIONS_MAX: usize = 32;

/// The structures that `types` defines.
pub(super) struct Types<'a>(BTreeMap<&'a str, Vec<Member<'a>>>);

/// A member of a structure.
pub(super) struct Member<'a> {
    pub(super) name: &'a str,
    /// As written, which is what is hashed.
    pub(super) written: &'a str,
    pub(super) kind: Kind<'a>,
}

/// What the value of a member is.
pub(super) enum Kind<'a> {
    /// Not made of others.
    Atom(Atom),
    /// Another structure.
    Structure(&'a str),
    /// A list, of a fixed length or of any.
    Array(Box<Self>, Option<usize>),
}

impl<'a> Types<'a> {
    pub(super) fn read(object: &Object<'a>) -> Result<Self, Invalid> {
        let mut types = Self(BTreeMap::new());
        for name in object.names() {
            let field = object.need(name)?;
            if !is_identifier(name) || Atom::parse(name).is_some() {
                return Err(field.refuse("defines a type whose name is not free"));
            }
            if types.0.len() == TYPES_MAX {
                return Err(field.refuse(&format!("is more than {TYPES_MAX} types")));
            }
            types.0.insert(name, members(&field)?);
        }
        types.check_references(object)?;
        Ok(types)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// None for a name that is not defined.
    pub(super) fn members(&self, name: &str) -> Option<&[Member<'a>]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// EIP-712, "Definition of encodeType": the structure, then those that it refers to, by name. They may refer to themselves
    /// and to each other.
    pub(super) fn encoded(&self, name: &str) -> String {
        let mut found = BTreeSet::from([name]);
        let mut open = vec![name];
        while let Some(next) = open.pop() {
            let members = self.members(next).unwrap_or_default();
            for referred in members.iter().filter_map(|member| member.kind.structure()) {
                if found.insert(referred) {
                    open.push(referred);
                }
            }
        }
        found.remove(name);
        std::iter::once(name)
            .chain(found)
            .map(|name| self.encoded_alone(name))
            .collect()
    }

    fn encoded_alone(&self, name: &str) -> String {
        let members = self.members(name).unwrap_or_default();
        let members: Vec<_> = members
            .iter()
            .map(|member| format!("{} {}", member.written, member.name))
            .collect();
        format!("{name}({})", members.join(","))
    }

    fn check_references(&self, object: &Object<'a>) -> Result<(), Invalid> {
        for (name, members) in &self.0 {
            for (place, member) in members.iter().enumerate() {
                if member.kind.structure().is_some_and(|name| !self.has(name)) {
                    let path = object.path(&format!("{name}[{place}].type"));
                    let message = format!(
                        "{path} is a type of EIP-712, without the aliases uint and int, or one that types defines"
                    );
                    return Err(Invalid::value(path, message));
                }
            }
        }
        Ok(())
    }
}

impl<'a> Kind<'a> {
    /// None when the brackets are wrong.
    fn parse(written: &'a str) -> Option<Self> {
        let mut stem = written;
        let mut lengths = Vec::new();
        while let Some(opened) = stem.strip_suffix(']') {
            let (before, length) = opened.rsplit_once('[')?;
            lengths.push(parse_length(length)?);
            stem = before;
        }
        if lengths.len() > DIMENSIONS_MAX {
            return None;
        }
        let kind = match Atom::parse(stem) {
            Some(atom) => Self::Atom(atom),
            None if is_identifier(stem) => Self::Structure(stem),
            None => return None,
        };
        // The innermost array stands first.
        let outwards = lengths.into_iter().rev();
        Some(outwards.fold(kind, |inner, length| Self::Array(Box::new(inner), length)))
    }

    /// The structure at the bottom, if there is one.
    fn structure(&self) -> Option<&'a str> {
        match self {
            Self::Atom(_) => None,
            Self::Structure(name) => Some(name),
            Self::Array(inner, _) => inner.structure(),
        }
    }
}

/// Nothing for any length. One that is written otherwise than it is printed would have a hash of its own.
fn parse_length(text: &str) -> Option<Option<usize>> {
    if text.is_empty() {
        return Some(None);
    }
    let length: usize = text.parse().ok()?;
    (length.to_string() == text).then_some(Some(length))
}

fn members<'a>(field: &Field<'a>) -> Result<Vec<Member<'a>>, Invalid> {
    let mut names = BTreeSet::new();
    let mut members = Vec::new();
    for item in field.list(MEMBERS_MAX)? {
        let item = item.object()?;
        let (name, written) = (item.need("name")?, item.need("type")?);
        let member = Member {
            name: name.text()?,
            written: written.text()?,
            kind: Kind::parse(written.text()?)
                .ok_or_else(|| written.refuse("must be a type of EIP-712"))?,
        };
        if !is_identifier(member.name) {
            return Err(name.refuse("must be a name of letters, digits and _"));
        }
        if !names.insert(member.name) {
            return Err(name.refuse("names another member too"));
        }
        members.push(member);
    }
    Ok(members)
}

/// Brackets, commas and spaces in a name could make two types look the same once encoded. Colons stand in names that are in
/// use (`HyperliquidTransaction:UsdSend`).
fn is_identifier(name: &str) -> bool {
    let permitted = |byte: u8| byte.is_ascii_alphanumeric() || b"_$:".contains(&byte);
    name.bytes().all(permitted)
        && name
            .bytes()
            .next()
            .is_some_and(|byte| !byte.is_ascii_digit())
}
