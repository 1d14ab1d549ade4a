//! SS58: a public key and the chain it is meant for, in base58 with a checksum (docs.polkadot.com, "Address format").

use blake2::{Blake2b512, Digest};

/// Polkadot's relay chain in the registry of SS58 prefixes.
const POLKADOT: u8 = 0;
/// Hashed in front of everything that is checked.
const CHECKSUM_CONTEXT: &[u8] = b"SS58PRE";
/// A prefix of up to 2 bytes, 32 of the key, 2 of the checksum.
const LONGEST: usize = 36;

/// The address of a public key on Polkadot.
pub(super) fn encode(public_key: &[u8; 32]) -> String {
    let mut bytes = Vec::with_capacity(LONGEST);
    bytes.push(POLKADOT);
    bytes.extend_from_slice(public_key);
    let checksum = checksum(&bytes);
    bytes.extend_from_slice(&checksum);
    bs58::encode(bytes).into_string()
}

/// The 32 bytes that an address of any chain names; none for anything else, such as the index of an account or an address
/// with a wrong checksum.
pub(super) fn decode(text: &str) -> Option<[u8; 32]> {
    let mut buffer = [0; LONGEST];
    // Reads no more than the buffer holds.
    let length = bs58::decode(text).onto(&mut buffer).ok()?;
    let (named, sum) = buffer.get(..length)?.split_last_chunk::<2>()?;
    let key = match named {
        // Reserved by the registry.
        [46 | 47, ..] => None,
        [..64, key @ ..] => Some(key),
        [first @ 64..128, second, key @ ..] => {
            let low = (first << 2) | (second >> 6);
            let high = second & 0b11_1111;
            // Numbers that fit one byte have one byte, so that a prefix has one form.
            (high > 0 || low >= 64).then_some(key)
        }
        _ => None,
    }?;
    (*sum == checksum(named)).then_some(())?;
    key.try_into().ok()
}

fn checksum(named: &[u8]) -> [u8; 2] {
    let hash: [u8; 64] = Blake2b512::new()
        .chain_update(CHECKSUM_CONTEXT)
        .chain_update(named)
        .finalize()
        .into();
    let [first, second, ..] = hash;
    [first, second]
}
