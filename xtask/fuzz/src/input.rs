//! Helpers that split an input.

use serde_json::{Map, Value};

/// The first byte, which makes a choice, and the rest.
pub fn choice(data: &[u8]) -> Option<(usize, &[u8])> {
    let (first, rest) = data.split_first()?;
    Some((usize::from(*first), rest))
}

/// The item selected by a number.
pub fn pick<T>(things: &[T], number: usize) -> &T {
    &things[number % things.len()]
}

/// The input before the first zero byte, and after it.
pub fn part(data: &[u8]) -> (&[u8], &[u8]) {
    match data.iter().position(|byte| *byte == 0) {
        Some(end) => (&data[..end], &data[end + 1..]),
        None => (data, &[]),
    }
}

/// Applies changes, given as triples: a position (two bytes, modulo the length) and a byte that is XORed there. If that byte is 0, the rest
/// is cut off at the position.
pub fn altered(original: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for change in changes.chunks_exact(3) {
        if bytes.is_empty() {
            break;
        }
        let place = usize::from(u16::from_be_bytes([change[0], change[1]])) % bytes.len();
        match change[2] {
            0 => bytes.truncate(place),
            mask => bytes[place] ^= mask,
        }
    }
    bytes
}

/// Edits the members of an object: names and values, separated by zero bytes. A value that is not JSON becomes a string; a missing value
/// removes the member.
pub fn edited(original: &Map<String, Value>, mut edits: &[u8]) -> Map<String, Value> {
    let mut object = original.clone();
    while !edits.is_empty() {
        let (name, rest) = part(edits);
        let (value, rest) = part(rest);
        edits = rest;
        let name = String::from_utf8_lossy(name).into_owned();
        if value.is_empty() {
            object.shift_remove(&name);
            continue;
        }
        let text = || Value::from(String::from_utf8_lossy(value));
        let value = serde_json::from_slice(value).unwrap_or_else(|_text| text());
        object.insert(name, value);
    }
    object
}
