//! Taking an input apart.

use serde_json::{Map, Value};

/// The first byte, which chooses, and what is left.
pub fn choice(data: &[u8]) -> Option<(usize, &[u8])> {
    let (first, rest) = data.split_first()?;
    Some((usize::from(*first), rest))
}

/// One of some things, by a number.
pub fn pick<T>(things: &[T], number: usize) -> &T {
    &things[number % things.len()]
}

/// The input up to the first byte 0, and what comes after it.
pub fn part(data: &[u8]) -> (&[u8], &[u8]) {
    match data.iter().position(|byte| *byte == 0) {
        Some(end) => (&data[..end], &data[end + 1..]),
        None => (data, &[]),
    }
}

/// Changes bytes, by triples: a place (two bytes, modulo the length) and what is added to the byte there by XOR. Where that is 0,
/// the end is cut off at the place.
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

/// Changes the members of an object: names and values, divided by bytes 0. What is not JSON is a text; without a value the member
/// goes.
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
