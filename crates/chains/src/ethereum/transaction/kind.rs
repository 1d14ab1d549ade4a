//! Determines the type of a transaction.

use vestry_domain::Invalid;

use crate::ethereum::fields::{Field, Object};

/// The type of a transaction (EIP-2718).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// 0, with EIP-155.
    Legacy,
    /// 1, EIP-2930.
    AccessList,
    /// 2, EIP-1559.
    DynamicFee,
    /// 3, EIP-4844.
    Blob,
    /// 4, EIP-7702.
    SetCode,
}

/// The fields of every type. `gasLimit` and `input` are aliases of `gas` and `data`.
const COMMON: &[&str] = &[
    "type", "from", "to", "value", "nonce", "gas", "gasLimit", "data", "input", "chainId",
];

/// The fields that only some types have, with those types.
const FIELDS: &[(&str, &[Kind])] = {
    use Kind::{AccessList, Blob, DynamicFee, Legacy, SetCode};
    &[
        ("gasPrice", &[Legacy, AccessList]),
        ("accessList", &[AccessList, DynamicFee, Blob, SetCode]),
        ("maxFeePerGas", &[DynamicFee, Blob, SetCode]),
        ("maxPriorityFeePerGas", &[DynamicFee, Blob, SetCode]),
        ("maxFeePerBlobGas", &[Blob]),
        ("blobVersionedHashes", &[Blob]),
        ("sidecar", &[Blob]),
        ("blobs", &[Blob]),
        ("commitments", &[Blob]),
        ("proofs", &[Blob]),
        ("authorizationList", &[SetCode]),
    ]
};

impl Kind {
    /// The given type, or else the one implied by the fields.
    ///
    /// Fields of other types are rejected, because the caller expects something else than what would be signed.
    pub(super) fn of(object: &Object<'_>) -> Result<Self, Invalid> {
        let special = FIELDS.iter().map(|(name, _)| *name);
        let known: Vec<_> = COMMON.iter().copied().chain(special).collect();
        object.only(&known)?;
        let kind = match object.find("type") {
            Some(field) => Self::given(&field)?,
            None => Self::following(object).ok_or_else(|| {
                let path = object.path("type");
                let message = format!(
                    "{path} is required unless the fee fields imply it: set maxFeePerGas and maxPriorityFeePerGas, or gasPrice"
                );
                Invalid {
                    message: message.into(),
                    ..Invalid::missing(path)
                }
            })?,
        };
        let strangers = FIELDS.iter().filter(|(_, kinds)| !kinds.contains(&kind));
        match strangers.filter_map(|(name, _)| object.find(name)).next() {
            Some(stranger) => Err(stranger.refuse(&format!(
                "is not a field of a transaction of type {}",
                kind.number()
            ))),
            None => Ok(kind),
        }
    }

    fn given(field: &Field<'_>) -> Result<Self, Invalid> {
        match u8::try_from(field.quantity()?) {
            Ok(0) => Ok(Self::Legacy),
            Ok(1) => Ok(Self::AccessList),
            Ok(2) => Ok(Self::DynamicFee),
            Ok(3) => Ok(Self::Blob),
            Ok(4) => Ok(Self::SetCode),
            _ => Err(field.refuse("must be 0x0, 0x1, 0x2, 0x3 or 0x4")),
        }
    }

    /// The type implied by the fields. The order matters: a blob transaction also has the fee fields of EIP-1559.
    fn following(object: &Object<'_>) -> Option<Self> {
        let has = |name| object.find(name).is_some();
        if has("authorizationList") {
            Some(Self::SetCode)
        } else if has("maxFeePerBlobGas") || has("blobVersionedHashes") {
            Some(Self::Blob)
        } else if has("maxFeePerGas") || has("maxPriorityFeePerGas") {
            Some(Self::DynamicFee)
        } else if has("gasPrice") && has("accessList") {
            Some(Self::AccessList)
        } else if has("gasPrice") {
            Some(Self::Legacy)
        } else {
            None
        }
    }

    const fn number(self) -> u8 {
        match self {
            Self::Legacy => 0,
            Self::AccessList => 1,
            Self::DynamicFee => 2,
            Self::Blob => 3,
            Self::SetCode => 4,
        }
    }
}
