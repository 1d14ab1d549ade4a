//! Access lists (EIP-2930) and authorization lists (EIP-7702).

use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_eips::eip7702::{Authorization, SignedAuthorization};
use vestry_domain::Invalid;

use crate::ethereum::fields::{Field, Object};

/// Most elements of a list. A block has no gas for so many (1,900 for a storage key, EIP-2930).
const ELEMENTS_MAX: usize = 20_000;

/// Absent is empty.
pub(super) fn access(object: &Object<'_>) -> Result<AccessList, Invalid> {
    let Some(field) = object.find("accessList") else {
        return Ok(AccessList::default());
    };
    let items = field.list(ELEMENTS_MAX)?;
    let items = items.iter().map(access_item).collect::<Result<_, _>>()?;
    Ok(AccessList(items))
}

fn access_item(field: &Field<'_>) -> Result<AccessListItem, Invalid> {
    let item = field.object()?;
    let keys = item.need("storageKeys")?.list(ELEMENTS_MAX)?;
    Ok(AccessListItem {
        address: item.need("address")?.address()?,
        storage_keys: keys.iter().map(Field::fixed).collect::<Result<_, _>>()?,
    })
}

/// Signed ones, of whichever account; at least one (EIP-7702, "the transaction is also considered invalid when the length of
/// `authorization_list` is zero").
pub(super) fn authorizations(object: &Object<'_>) -> Result<Vec<SignedAuthorization>, Invalid> {
    let field = object.need("authorizationList")?;
    let items = field.list(ELEMENTS_MAX)?;
    if items.is_empty() {
        return Err(field.refuse("has at least one authorization"));
    }
    items.iter().map(authorization).collect()
}

fn authorization(field: &Field<'_>) -> Result<SignedAuthorization, Invalid> {
    let item = field.object()?;
    let inner = Authorization {
        chain_id: item.need("chainId")?.quantity()?,
        address: item.need("address")?.address()?,
        nonce: item.need("nonce")?.u64()?,
    };
    let parity = item.need("yParity")?;
    let y_parity = u8::try_from(parity.quantity()?)
        .ok()
        .filter(|parity| *parity < 2)
        .ok_or_else(|| parity.refuse("must be 0x0 or 0x1"))?;
    let r = item.need("r")?.quantity()?;
    let s = item.need("s")?.quantity()?;
    Ok(SignedAuthorization::new_unchecked(inner, y_parity, r, s))
}
