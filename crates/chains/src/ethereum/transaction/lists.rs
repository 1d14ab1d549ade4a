//! Access lists (EIP-2930) and authorization lists (EIP-7702).

use std::collections::BTreeMap;

use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_eips::eip7702::{Authorization, SignedAuthorization};
use alloy_primitives::{U256, uint};
use vestry_domain::Invalid;

use super::nonce;
use crate::ethereum::Ethereum;
use crate::ethereum::fields::{Field, Object};

/// The maximum number of elements in a list. No block has enough gas for that many (1,900 for a storage key, EIP-2930).
const MAX_ELEMENTS: usize = 20_000;

/// Half the order of secp256k1, rounded down: the largest `s` allowed by EIP-7702.
const HALF_ORDER: U256 =
    uint!(0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0_U256);

/// The access list; empty if absent.
pub(super) fn access(object: &Object<'_>) -> Result<AccessList, Invalid> {
    let Some(field) = object.find("accessList") else {
        return Ok(AccessList::default());
    };
    let items = field.list(MAX_ELEMENTS)?;
    let items = items.iter().map(access_item).collect::<Result<_, _>>()?;
    Ok(AccessList(items))
}

fn access_item(field: &Field<'_>) -> Result<AccessListItem, Invalid> {
    let item = field.object()?;
    item.only(&["address", "storageKeys"])?;
    let keys = item.need("storageKeys")?.list(MAX_ELEMENTS)?;
    Ok(AccessListItem {
        address: item.need("address")?.address()?,
        storage_keys: keys.iter().map(Field::fixed).collect::<Result<_, _>>()?,
    })
}

/// The transaction that carries the authorizations.
pub(super) struct Carrier<'a> {
    pub(super) chain: &'a Ethereum,
    pub(super) chain_id: u64,
    pub(super) nonce: u64,
    /// The address of the wallet.
    pub(super) sender: &'a str,
}

/// Signed authorizations of any account, at least one (EIP-7702, "the transaction is also considered invalid when the length of
/// `authorization_list` is zero").
///
/// A chain skips an invalid authorization and executes the transaction without it (EIP-7702, "Behavior"). An authorization that is certain
/// to be skipped is therefore rejected here.
pub(super) fn authorizations(
    object: &Object<'_>,
    carrier: &Carrier<'_>,
) -> Result<Vec<SignedAuthorization>, Invalid> {
    let field = object.need("authorizationList")?;
    let items = field.list(MAX_ELEMENTS)?;
    if items.is_empty() {
        return Err(field.refuse("must have at least one authorization"));
    }
    // The nonce that the next authorization of an account needs. Each valid one increments it, and the transaction itself does so before
    // any of them.
    let mut next = BTreeMap::from([(carrier.sender.to_owned(), carrier.nonce.saturating_add(1))]);
    let mut read = Vec::with_capacity(items.len());
    for item in &items {
        let (authorization, authority) = authorization(item, carrier)?;
        let nonce = authorization.inner().nonce;
        if let Some(expected) = next.insert(authority, nonce.saturating_add(1))
            && nonce != expected
        {
            let item = item.object()?;
            let rule = format!(
                "must be {expected:#x}, the nonce of this account at this point of the transaction"
            );
            return Err(item.need("nonce")?.refuse(&rule));
        }
        read.push(authorization);
    }
    Ok(read)
}

/// Reads an authorization and recovers its signer's address.
fn authorization(
    field: &Field<'_>,
    carrier: &Carrier<'_>,
) -> Result<(SignedAuthorization, String), Invalid> {
    let item = field.object()?;
    item.only(&["chainId", "address", "nonce", "yParity", "r", "s"])?;
    let chain_id = item.need("chainId")?;
    let inner = Authorization {
        chain_id: chain_id.quantity()?,
        address: item.need("address")?.address()?,
        nonce: nonce(&item.need("nonce")?)?,
    };
    if !inner.chain_id.is_zero() && inner.chain_id != U256::from(carrier.chain_id) {
        return Err(chain_id.refuse("must be 0x0 or the chainId of the transaction"));
    }
    let parity = item.need("yParity")?;
    let y_parity = u8::try_from(parity.quantity()?)
        .ok()
        .filter(|parity| *parity < 2)
        .ok_or_else(|| parity.refuse("must be 0x0 or 0x1"))?;
    let (r, s) = (item.need("r")?, item.need("s")?);
    let signed = SignedAuthorization::new_unchecked(inner, y_parity, r.quantity()?, s.quantity()?);
    if signed.s() > HALF_ORDER {
        return Err(s.refuse("must be in the lower half of the range (EIP-2)"));
    }
    let authority = carrier
        .chain
        .recovered(
            signed.inner().signature_hash(),
            y_parity,
            signed.r(),
            signed.s(),
        )
        .map_err(|_unrecoverable| r.refuse("and s are not a signature of any account"))?;
    Ok((signed, authority))
}
