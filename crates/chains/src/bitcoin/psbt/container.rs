//! The PSBT container: maps of records, regardless of their meaning (BIP-174, section "Specification").
//!
//! The maps are kept as received, so that the result differs only by our records. Libraries that interpret the fields drop or rewrite some
//! of them.

use std::collections::BTreeSet;

use ::bitcoin::VarInt;
use ::bitcoin::consensus::encode;

const MAGIC: &[u8] = b"psbt\xff";

/// The maximum number of maps and records together.
///
/// A record can be three bytes long and takes fifty times as much memory once read. The largest transaction that nodes relay has some
/// 11,000 outputs or 2,400 inputs.
const MAX_PARTS: usize = 50_000;

/// One record. The first byte of the key is its type.
#[derive(Clone)]
pub(super) struct Record {
    pub(super) key: Vec<u8>,
    pub(super) value: Vec<u8>,
}

/// The records of the transaction, an input or an output, in the order received.
#[derive(Clone)]
pub(super) struct Map(Vec<Record>);

/// A PSBT.
#[derive(Clone)]
pub(super) struct Container {
    pub(super) global: Map,
    pub(super) inputs: Vec<Map>,
    pub(super) outputs: Vec<Map>,
}

/// The maps before they are divided into inputs and outputs.
pub(super) struct Maps {
    pub(super) global: Map,
    pub(super) rest: Vec<Map>,
}

impl Record {
    /// The type. A key has at least one byte.
    pub(super) fn kind(&self) -> u8 {
        self.key.first().copied().unwrap_or_default()
    }

    fn write(&self, out: &mut Vec<u8>) {
        for part in [&self.key, &self.value] {
            out.extend_from_slice(&encode::serialize(&VarInt::from(part.len())));
            out.extend_from_slice(part);
        }
    }
}

impl Map {
    /// The value of the key that consists of this type alone.
    pub(super) fn get(&self, kind: u8) -> Option<&[u8]> {
        self.0
            .iter()
            .find(|record| record.key == [kind])
            .map(|record| record.value.as_slice())
    }

    pub(super) fn records(&self) -> &[Record] {
        &self.0
    }

    /// Sets a record: replaces the one with the same key, or inserts it before the first with a greater key. This keeps sorted maps sorted,
    /// as those of most programs are.
    pub(super) fn set(&mut self, key: Vec<u8>, value: Vec<u8>) {
        let same = self.0.iter().position(|record| record.key == key);
        if let Some(record) = same.and_then(|place| self.0.get_mut(place)) {
            record.value = value;
            return;
        }
        let place = self.0.iter().position(|record| record.key > key);
        let record = Record { key, value };
        match place {
            Some(place) => self.0.insert(place, record),
            None => self.0.push(record),
        }
    }

    /// A copy without records of these types.
    pub(super) fn without(&self, kinds: &[u8]) -> Self {
        let kept = |record: &&Record| !kinds.contains(&record.kind());
        Self(self.0.iter().filter(kept).cloned().collect())
    }

    /// A copy with one more record at the front.
    pub(super) fn after(mut self, key: Vec<u8>, value: Vec<u8>) -> Self {
        self.0.insert(0, Record { key, value });
        self
    }

    fn write(&self, out: &mut Vec<u8>) {
        for record in &self.0 {
            record.write(out);
        }
        out.push(0);
    }
}

impl Maps {
    /// Reads all maps.
    ///
    /// Returns `None` unless they fill the bytes exactly, lengths are in their shortest form, keys are unique within each map, and there
    /// are at most [`MAX_PARTS`] maps and records.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader {
            rest: bytes.strip_prefix(MAGIC)?,
            parts_left: MAX_PARTS,
        };
        let global = reader.map()?;
        let mut rest = Vec::new();
        while !reader.rest.is_empty() {
            rest.push(reader.map()?);
        }
        Some(Self { global, rest })
    }

    /// Divides the maps into inputs and outputs; `None` unless there is exactly one map for each.
    pub(super) fn split(self, inputs: usize, outputs: usize) -> Option<Container> {
        let Self { global, mut rest } = self;
        if inputs.checked_add(outputs)? != rest.len() {
            return None;
        }
        let outputs = rest.split_off(inputs);
        Some(Container {
            global,
            inputs: rest,
            outputs,
        })
    }
}

impl Container {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        self.global.write(&mut out);
        for map in self.inputs.iter().chain(&self.outputs) {
            map.write(&mut out);
        }
        out
    }
}

/// The remaining bytes, and the number of maps and records still allowed.
struct Reader<'a> {
    rest: &'a [u8],
    parts_left: usize,
}

impl<'a> Reader<'a> {
    fn map(&mut self) -> Option<Map> {
        let mut records = Vec::new();
        let mut keys = BTreeSet::new();
        loop {
            self.parts_left = self.parts_left.checked_sub(1)?;
            let key = self.bytes()?;
            if key.is_empty() {
                return Some(Map(records));
            }
            if !keys.insert(key) {
                return None;
            }
            records.push(Record {
                key: key.to_vec(),
                value: self.bytes()?.to_vec(),
            });
        }
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.compact_size()?).ok()?;
        let (head, tail) = self.rest.split_at_checked(length)?;
        self.rest = tail;
        Some(head)
    }

    fn compact_size(&mut self) -> Option<u64> {
        let [first] = self.array()?;
        let (number, least) = match first {
            0xfd => (u16::from_le_bytes(self.array()?).into(), 0xfd),
            0xfe => (u32::from_le_bytes(self.array()?).into(), 0x1_0000),
            0xff => (u64::from_le_bytes(self.array()?), 0x1_0000_0000),
            small => return Some(small.into()),
        };
        (number >= least).then_some(number)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.rest.split_first_chunk()?;
        self.rest = tail;
        Some(*head)
    }
}
