//! The types of typed data.

use std::collections::{BTreeMap, BTreeSet};

use vestry_domain::Invalid;

use super::atom::Atom;
use crate::ethereum::fields::{Field, Object};

/// The maximum number of types, and of members of one. The largest in use have a dozen.
const MAX_TYPES: usize = 100;
const MAX_MEMBERS: usize = 200;
/// The maximum number of array dimensions. Order trees have 24.
const MAX_DIMENSIONS: usize = 32;

/// The structures that `types` defines.
pub(super) struct Types<'a>(BTreeMap<&'a str, Vec<Member<'a>>>);

/// A member of a structure.
pub(super) struct Member<'a> {
    pub(super) name: &'a str,
    /// The type as written, which is what is hashed.
    pub(super) written: &'a str,
    pub(super) kind: Kind<'a>,
}

/// The kind of a member's value.
pub(super) enum Kind<'a> {
    /// An atomic type.
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
                return Err(field.refuse("defines a type with a reserved name"));
            }
            if types.0.len() == MAX_TYPES {
                return Err(field.refuse(&format!("must have at most {MAX_TYPES} types")));
            }
            types.0.insert(name, members(&field)?);
        }
        types.check_references(object)?;
        Ok(types)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The members of a structure; `None` if it is not defined.
    pub(super) fn members(&self, name: &str) -> Option<&[Member<'a>]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// The type as in EIP-712, "Definition of encodeType": the structure, then the structures that it refers to, by name.
    ///
    /// Structures may refer to themselves and to each other.
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
                        "{path} must be an EIP-712 type (not the aliases uint and int) or a type defined in types"
                    );
                    return Err(Invalid::value(path, message));
                }
            }
        }
        Ok(())
    }
}

impl<'a> Kind<'a> {
    /// Returns `None` if the brackets are malformed.
    fn parse(written: &'a str) -> Option<Self> {
        let mut stem = written;
        let mut lengths = Vec::new();
        while let Some(opened) = stem.strip_suffix(']') {
            let (before, length) = opened.rsplit_once('[')?;
            lengths.push(parse_length(length)?);
            stem = before;
        }
        if lengths.len() > MAX_DIMENSIONS {
            return None;
        }
        let kind = match Atom::parse(stem) {
            Some(atom) => Self::Atom(atom),
            None if is_identifier(stem) => Self::Structure(stem),
            None => return None,
        };
        // The innermost array comes first.
        let outwards = lengths.into_iter().rev();
        Some(outwards.fold(kind, |inner, length| Self::Array(Box::new(inner), length)))
    }

    /// The element structure at the bottom, if there is one.
    fn structure(&self) -> Option<&'a str> {
        match self {
            Self::Atom(_) => None,
            Self::Structure(name) => Some(name),
            Self::Array(inner, _) => inner.structure(),
        }
    }
}

/// The length in the brackets; empty means any. A length that is not in canonical form would change the hash, so it is rejected.
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
    for item in field.list(MAX_MEMBERS)? {
        let item = item.object()?;
        let (name, written) = (item.need("name")?, item.need("type")?);
        let member = Member {
            name: name.text()?,
            written: written.text()?,
            kind: Kind::parse(written.text()?)
                .ok_or_else(|| written.refuse("must be an EIP-712 type"))?,
        };
        if !is_identifier(member.name) {
            return Err(name.refuse("must be a name of letters, digits and _"));
        }
        if !names.insert(member.name) {
            return Err(name.refuse("is the name of another member too"));
        }
        members.push(member);
    }
    Ok(members)
}

/// Brackets, commas and spaces in a name could make two types look the same once encoded. Colons occur in names in use
/// (`HyperliquidTransaction:UsdSend`).
fn is_identifier(name: &str) -> bool {
    let permitted = |byte: u8| byte.is_ascii_alphanumeric() || b"_$:".contains(&byte);
    name.bytes().all(permitted)
        && name
            .bytes()
            .next()
            .is_some_and(|byte| !byte.is_ascii_digit())
}
