//! ERC-4337 user operations: requests to a smart account, signed by its owner.
//!
//! The signed hash depends on the entry point, the contract that executes the operation:
//!
//! - v0.6 and v0.7: keccak256(abi.encode(hash of the packed operation, entry point, chain)), which accounts check as an EIP-191 message
//!   (`SimpleAccount`: `toEthSignedMessageHash(userOpHash)`).
//! - v0.8: an EIP-712 digest under the domain `ERC4337`, version `1`, signed as it is.

mod packed;
mod v06;

use alloy_primitives::utils::eip191_message;
use alloy_primitives::{Address, B256, Bytes, U256, address, keccak256};
use vestry_domain::Invalid;

use super::fields::{Field, Object};
use super::transaction;

/// Entry points have the same address on every chain (eth-infinitism/account-abstraction, release notes).
const V06: Address = address!("0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789");
const V07: Address = address!("0x0000000071727De22E5E9d8BAf0edAc6f37da032");
const V08: Address = address!("0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108");

/// The maximum length in bytes of one field of an operation. The operation is sent inside a transaction of at most 128 KiB.
const MAX_DATA: usize = 128 * 1024;

/// The payload that is hashed and signed by the account's owner.
///
/// # Errors
/// [`Invalid`] with the path of the field.
pub(super) fn payload(params: &Object<'_>) -> Result<Vec<u8>, Invalid> {
    let contract = params.need("contract")?;
    let entry_point = contract.address()?;
    let chain_id = params.need_aliased(&["chain_id", "chainId"], transaction::chain_id)?;
    let operation = params.need("user_operation")?.object()?;
    match entry_point {
        V06 => {
            let hash = v06::hash(&operation)?;
            Ok(wrapped(hash, entry_point, chain_id))
        }
        V07 => {
            let hash = packed::Operation::read(&operation, None)?.hash();
            Ok(wrapped(hash, entry_point, chain_id))
        }
        V08 => {
            let delegate = delegate(&operation)?;
            let operation = packed::Operation::read(&operation, delegate)?;
            Ok(operation.typed_payload(entry_point, chain_id))
        }
        _ => Err(contract.refuse(&format!(
            "must be an entry point: {V06} (v0.6), {V07} (v0.7) or {V08} (v0.8)"
        ))),
    }
}

/// The hash of an operation on one chain, as the message checked by accounts of v0.6 and v0.7.
fn wrapped(hash: B256, entry_point: Address, chain_id: u64) -> Vec<u8> {
    let on_chain = hash_words(&[
        hash,
        entry_point.into_word(),
        B256::from(U256::from(chain_id)),
    ]);
    eip191_message(on_chain)
}

/// keccak256(abi.encode(…)) of static values.
fn hash_words(words: &[B256]) -> B256 {
    keccak256(words.concat())
}

/// The contract that the sender delegates to with EIP-7702, which v0.8 hashes instead of the marker in `factory`.
fn delegate(operation: &Object<'_>) -> Result<Option<Address>, Invalid> {
    let Some(field) = operation.find("eip7702Auth") else {
        return Ok(None);
    };
    field.object()?.need("address")?.address().map(Some)
}

/// The fields that operations of all versions have, each with its alias.
struct Common {
    sender: Address,
    nonce: U256,
    call_data_hash: B256,
    pre_verification_gas: U256,
}

impl Common {
    fn read(operation: &Object<'_>) -> Result<Self, Invalid> {
        Ok(Self {
            sender: operation.need("sender")?.address()?,
            nonce: operation.need("nonce")?.quantity()?,
            call_data_hash: keccak256(operation.need_aliased(&["callData", "call_data"], data)?),
            pre_verification_gas: operation.need_aliased(
                &["preVerificationGas", "pre_verification_gas"],
                Field::quantity,
            )?,
        })
    }
}

fn data(field: &Field<'_>) -> Result<Bytes, Invalid> {
    field.bytes(MAX_DATA)
}

/// Rejects fields of other versions, which would be missing from what is signed.
fn refuse_strangers(operation: &Object<'_>, names: &[&str], version: &str) -> Result<(), Invalid> {
    match names.iter().filter_map(|name| operation.find(name)).next() {
        Some(stranger) => Err(stranger.refuse(&format!(
            "is not a field of an operation of entry point {version}"
        ))),
        None => Ok(()),
    }
}
