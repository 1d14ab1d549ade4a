//! The blobs of a blob transaction.
//!
//! The signature covers only the versioned hashes. If blobs are included, they are wrapped with the transaction in the form that nodes
//! accept since EIP-7594: `0x03 ‖ rlp([transaction, 0x01, blobs, commitments, cell proofs])`.
//!
//! Lengths and the hashes of the commitments are checked here. Checking that a blob and its proofs match their commitment needs the KZG
//! trusted setup, which this crate does not contain; every node checks it before accepting the transaction.

use alloy_consensus::{Blob, BlobTransactionSidecarEip7594, Bytes48};
use alloy_eips::eip4844::kzg_to_versioned_hash;
use alloy_eips::eip7594::CELLS_PER_EXT_BLOB;
use alloy_primitives::B256;
use vestry_domain::Invalid;

use crate::ethereum::fields::{Field, Object};

/// The first byte of a versioned hash (EIP-4844, `VERSIONED_HASH_VERSION_KZG`).
const VERSION_KZG: u8 = 1;
/// The maximum number of blobs in a transaction (EIP-7594).
const MAX_BLOBS: usize = 6;

/// The members of a sidecar.
const PARTS: &[&str] = &["blobs", "commitments", "proofs"];

/// The versioned hashes, of which there must be at least one (EIP-4844).
pub(super) fn versioned_hashes(object: &Object<'_>) -> Result<Vec<B256>, Invalid> {
    let field = object.need("blobVersionedHashes")?;
    let hashes = field.list(MAX_BLOBS)?;
    if hashes.is_empty() {
        return Err(field.refuse("must have at least one hash"));
    }
    hashes.iter().map(versioned_hash).collect()
}

fn versioned_hash(field: &Field<'_>) -> Result<B256, Invalid> {
    let hash: B256 = field.fixed()?;
    match hash.first() {
        Some(&VERSION_KZG) => Ok(hash),
        _ => Err(field.refuse("must begin with 0x01, the version of KZG commitment hashes")),
    }
}

/// `blobs`, `commitments` and `proofs`, either as fields of the transaction or in an object `sidecar`.
pub(super) fn sidecar(
    object: &Object<'_>,
    hashes: &[B256],
) -> Result<Option<BlobTransactionSidecarEip7594>, Invalid> {
    let loose = PARTS.iter().filter_map(|name| object.find(name)).next();
    match (object.find("sidecar"), loose) {
        (None, None) => Ok(None),
        (None, Some(_)) => read(object, hashes).map(Some),
        (Some(sidecar), None) => {
            let sidecar = sidecar.object()?;
            sidecar.only(PARTS)?;
            read(&sidecar, hashes).map(Some)
        }
        (Some(_), Some(loose)) => Err(loose.refuse("cannot be combined with sidecar")),
    }
}

fn read(object: &Object<'_>, hashes: &[B256]) -> Result<BlobTransactionSidecarEip7594, Invalid> {
    let commitments = commitments(object, hashes)?;
    let proofs = each(object, "proofs", hashes.len() * CELLS_PER_EXT_BLOB)?;
    let fields = each(object, "blobs", hashes.len())?;
    // Allocated on the heap: at 128 KiB each, blobs are too large for a worker's stack.
    let mut blobs = vec![Blob::ZERO; fields.len()];
    for (blob, field) in blobs.iter_mut().zip(&fields) {
        field.fill(blob.as_mut_slice())?;
    }
    Ok(BlobTransactionSidecarEip7594 {
        blobs,
        commitments,
        cell_proofs: proofs.iter().map(Field::fixed).collect::<Result<_, _>>()?,
    })
}

fn commitments(object: &Object<'_>, hashes: &[B256]) -> Result<Vec<Bytes48>, Invalid> {
    let fields = each(object, "commitments", hashes.len())?;
    let pairs = fields.iter().zip(hashes);
    let read = pairs.map(|(field, hash)| {
        let commitment: Bytes48 = field.fixed()?;
        if kzg_to_versioned_hash(commitment.as_slice()) == *hash {
            return Ok(commitment);
        }
        Err(field.refuse("does not have the hash in blobVersionedHashes"))
    });
    read.collect()
}

/// A list of exactly `count` elements.
fn each<'a>(object: &Object<'a>, name: &str, count: usize) -> Result<Vec<Field<'a>>, Invalid> {
    let field = object.need(name)?;
    let list = field.list(count)?;
    if list.len() == count {
        return Ok(list);
    }
    Err(field.refuse(&format!(
        "must have {count} elements: one commitment, one blob and {CELLS_PER_EXT_BLOB} cell proofs for each versioned hash"
    )))
}
