//! The domain of typed data: the application, contract and chain that a signature is valid for.

use alloy_primitives::B256;
use serde_json::{Value, json};
use vestry_domain::Invalid;

use super::DOMAIN;
use super::types::Types;
use super::values::Hasher;
use crate::ethereum::fields::{Field, Object};

/// The members that a domain can have, in order (EIP-712, "Definition of domainSeparator").
const MEMBERS: &[(&str, &str)] = &[
    ("name", "string"),
    ("version", "string"),
    ("chainId", "uint256"),
    ("verifyingContract", "address"),
    ("salt", "bytes32"),
];

/// The hash of the domain under its type in `types` or, if that is missing, under the type of the members that are present.
///
/// Members outside the type are rejected: the signature would be valid in more places than the domain says.
pub(super) fn separator(domain: &Object<'_>, types: &Types<'_>) -> Result<B256, Invalid> {
    if types.has(DOMAIN) {
        return hash(domain, types);
    }
    let written = standard_type(domain);
    let fields = Field::new(&written, DOMAIN).object()?;
    hash(domain, &Types::read(&fields)?)
}

fn hash(domain: &Object<'_>, types: &Types<'_>) -> Result<B256, Invalid> {
    let members = types.members(DOMAIN).unwrap_or_default();
    let stranger = domain
        .names()
        .find(|name| members.iter().all(|member| member.name != *name));
    match stranger {
        None => Hasher::new(types).structure(domain, DOMAIN),
        Some(name) => Err(domain.need(name)?.refuse("is not a member of EIP712Domain")),
    }
}

fn standard_type(domain: &Object<'_>) -> Value {
    let there = MEMBERS
        .iter()
        .filter(|(name, _)| domain.find(name).is_some());
    let members: Vec<_> = there
        .map(|(name, kind)| json!({ "name": name, "type": kind }))
        .collect();
    json!({ DOMAIN: members })
}
