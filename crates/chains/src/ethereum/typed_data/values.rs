//! Hashes of values.

use std::collections::BTreeMap;

use alloy_primitives::{B256, keccak256};
use vestry_domain::Invalid;

use super::types::{Kind, Types};
use crate::ethereum::fields::{Field, Object};

/// The maximum nesting depth of structures and arrays.
const MAX_DEPTH: usize = 64;
/// The maximum number of elements in one array.
const MAX_ELEMENTS: usize = 20_000;

/// Hashes values of given types. The hash of each type is computed once, because there can be many values.
pub(super) struct Hasher<'a> {
    types: &'a Types<'a>,
    type_hashes: BTreeMap<String, B256>,
}

impl<'a> Hasher<'a> {
    pub(super) const fn new(types: &'a Types<'a>) -> Self {
        Self {
            types,
            type_hashes: BTreeMap::new(),
        }
    }

    /// The hash from EIP-712, "Definition of hashStruct". Members that the type does not have are ignored.
    pub(super) fn structure(&mut self, object: &Object<'_>, name: &str) -> Result<B256, Invalid> {
        self.structure_at(object, name, 0)
    }

    fn structure_at(
        &mut self,
        object: &Object<'_>,
        name: &str,
        depth: usize,
    ) -> Result<B256, Invalid> {
        let mut data = self.type_hash(name).to_vec();
        for member in self.types.members(name).unwrap_or_default() {
            let value = object.need(member.name)?;
            data.extend(self.word(&value, &member.kind, depth)?);
        }
        Ok(keccak256(data))
    }

    /// The word from EIP-712, "Definition of encodeData": one for each value.
    fn word(&mut self, field: &Field<'_>, kind: &Kind<'_>, depth: usize) -> Result<B256, Invalid> {
        if depth > MAX_DEPTH {
            return Err(field.refuse(&format!("is nested deeper than {MAX_DEPTH} levels")));
        }
        match kind {
            Kind::Atom(atom) => atom.word(field),
            Kind::Structure(name) => self.structure_at(&field.object()?, name, depth + 1),
            Kind::Array(inner, length) => self.array(field, inner, *length, depth + 1),
        }
    }

    fn array(
        &mut self,
        field: &Field<'_>,
        inner: &Kind<'_>,
        length: Option<usize>,
        depth: usize,
    ) -> Result<B256, Invalid> {
        let elements = field.list(MAX_ELEMENTS)?;
        if let Some(length) = length.filter(|length| *length != elements.len()) {
            return Err(field.refuse(&format!("must have {length} elements")));
        }
        let mut words = Vec::with_capacity(elements.len() * 32);
        for element in &elements {
            words.extend(self.word(element, inner, depth)?);
        }
        Ok(keccak256(words))
    }

    fn type_hash(&mut self, name: &str) -> B256 {
        if let Some(known) = self.type_hashes.get(name) {
            return *known;
        }
        let hash = keccak256(self.types.encoded(name));
        self.type_hashes.insert(name.to_owned(), hash);
        hash
    }
}
