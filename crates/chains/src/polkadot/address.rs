//! SS58: a public key and its chain in base58 with a checksum (docs.polkadot.com, "Address format").

use blake2::{Blake2b512, Digest};

/// The SS58 registry prefix of Polkadot's relay chain.
const POLKADOT: u8 = 0;
/// The prefix of the checksummed bytes when hashing.
const CHECKSUM_CONTEXT: &[u8] = b"SS58PRE";
/// The maximum length: a prefix of up to 2 bytes, 32 of the key, 2 of the checksum.
const MAX_LENGTH: usize = 36;

/// The address of a public key on Polkadot.
pub(super) fn encode(public_key: &[u8; 32]) -> String {
    let mut bytes = Vec::with_capacity(MAX_LENGTH);
    bytes.push(POLKADOT);
    bytes.extend_from_slice(public_key);
    let checksum = checksum(&bytes);
    bytes.extend_from_slice(&checksum);
    bs58::encode(bytes).into_string()
}

/// The 32-byte key in an address of any chain; `None` for anything else, such as an account index or an address with a wrong checksum.
pub(super) fn decode(text: &str) -> Option<[u8; 32]> {
    let mut buffer = [0; MAX_LENGTH];
    // Decodes no more than fits into the buffer.
    let length = bs58::decode(text).onto(&mut buffer).ok()?;
    let (named, sum) = buffer.get(..length)?.split_last_chunk::<2>()?;
    let key = match named {
        // Reserved by the registry.
        [46 | 47, ..] => None,
        [0..64, key @ ..] => Some(key),
        [first @ 64..128, second, key @ ..] => {
            let low = (first << 2) | (second >> 6);
            let high = second & 0b11_1111;
            // Numbers that fit into one byte must be encoded in one byte, so that each prefix has one form.
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
