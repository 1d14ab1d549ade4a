//! The subset of CBOR (RFC 8949) that authenticators use: definite lengths, shortest numbers, no tags, no floats and no duplicate keys in a
//! map. Anything else does not come from an authenticator.

/// Maximum nesting of arrays and maps; CTAP2 allows 4.
const MAX_DEPTH: u8 = 8;

/// One item, borrowed from the input.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item<'a> {
    /// A signed 64-bit integer.
    Number(i64),
    Bytes(&'a [u8]),
    Text(&'a str),
    Array(Vec<Item<'a>>),
    /// In the order of the input.
    Map(Vec<(Item<'a>, Item<'a>)>),
    Bool(bool),
    Null,
}

/// Parses exactly one item, without trailing data.
pub(crate) fn whole(bytes: &[u8]) -> Option<Item<'_>> {
    let (item, rest) = first(bytes)?;
    rest.is_empty().then_some(item)
}

/// Parses the first item, and returns the rest of the input.
pub(crate) fn first(bytes: &[u8]) -> Option<(Item<'_>, &[u8])> {
    let mut reader = Reader(bytes);
    let item = reader.item(MAX_DEPTH)?;
    Some((item, reader.0))
}

impl<'a> Item<'a> {
    /// Returns the members of a map.
    pub(crate) fn map(&self) -> Option<&[(Item<'a>, Item<'a>)]> {
        match self {
            Self::Map(members) => Some(members),
            _ => None,
        }
    }

    pub(crate) const fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub(crate) const fn bytes(&self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub(crate) const fn text(&self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Returns the member of a map with a text key.
pub(crate) fn named<'m, 'a>(
    members: &'m [(Item<'a>, Item<'a>)],
    name: &str,
) -> Option<&'m Item<'a>> {
    let mut members = members.iter();
    members
        .find(|(key, _)| key.text() == Some(name))
        .map(|(_, value)| value)
}

/// Returns the member of a map with a numeric key.
pub(crate) fn numbered<'m, 'a>(
    members: &'m [(Item<'a>, Item<'a>)],
    label: i64,
) -> Option<&'m Item<'a>> {
    let mut members = members.iter();
    members
        .find(|(key, _)| key.number() == Some(label))
        .map(|(_, value)| value)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn item(&mut self, depth: u8) -> Option<Item<'a>> {
        let deeper = depth.checked_sub(1)?;
        let (major, argument) = self.head()?;
        match major {
            0 => i64::try_from(argument).ok().map(Item::Number),
            // -1 - n
            1 => i64::try_from(argument)
                .ok()
                .map(|number| Item::Number(!number)),
            2 => self.take(usize::try_from(argument).ok()?).map(Item::Bytes),
            3 => {
                let bytes = self.take(usize::try_from(argument).ok()?)?;
                std::str::from_utf8(bytes).ok().map(Item::Text)
            }
            4 => {
                // Nothing is allocated from a claimed length: a large one costs an attacker nothing.
                let mut items = Vec::new();
                for _ in 0..argument {
                    items.push(self.item(deeper)?);
                }
                Some(Item::Array(items))
            }
            5 => {
                let mut members: Vec<(Item<'a>, Item<'a>)> = Vec::new();
                for _ in 0..argument {
                    let key = self.item(deeper)?;
                    if members.iter().any(|(known, _)| *known == key) {
                        return None;
                    }
                    members.push((key, self.item(deeper)?));
                }
                Some(Item::Map(members))
            }
            7 => match argument {
                20 => Some(Item::Bool(false)),
                21 => Some(Item::Bool(true)),
                22 => Some(Item::Null),
                _ => None,
            },
            _ => None,
        }
    }

    /// Reads the major type and the argument of a head in its shortest form (RFC 8949, sections 3 and 4.2.1).
    fn head(&mut self) -> Option<(u8, u64)> {
        let [initial] = *self.take(1)?.first_chunk::<1>()?;
        let (major, low) = (initial >> 5, initial & 0x1f);
        // Authenticators use no floats and no longer simple values.
        if major == 7 && low > 23 {
            return None;
        }
        let (argument, least) = match low {
            0..=23 => return Some((major, low.into())),
            24 => (u64::from(self.take(1)?.first_chunk::<1>()?[0]), 24),
            25 => (
                u64::from(u16::from_be_bytes(*self.take(2)?.first_chunk()?)),
                1 << 8,
            ),
            26 => (
                u64::from(u32::from_be_bytes(*self.take(4)?.first_chunk()?)),
                1 << 16,
            ),
            27 => (u64::from_be_bytes(*self.take(8)?.first_chunk()?), 1 << 32),
            _ => return None,
        };
        (argument >= least).then_some((major, argument))
    }
}

#[cfg(test)]
mod tests;
