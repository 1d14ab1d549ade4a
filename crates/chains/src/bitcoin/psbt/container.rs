//! The form of a PSBT: maps of records, whatever the records mean (BIP-174, section "Specification").
//!
//! The maps are kept as they came, so that what goes back differs from it by our records only. Libraries that know the
//! fields lose or rewrite some on the way.

use std::collections::BTreeSet;

use ::bitcoin::VarInt;
use ::bitcoin::consensus::encode;

const MAGIC: &[u8] = b"psbt\xff";

/// Most maps and records together: a record can be three bytes long and takes fifty times as much memory once it is read.
/// The largest transaction that nodes pass on has some 11,000 outputs or 2,400 inputs.
const PARTS_MAX: usize = 50_000;

/// One record: the key's first byte is its type.
#[derive(Clone)]
pub(super) struct Record {
    pub(super) key: Vec<u8>,
    pub(super) value: Vec<u8>,
}

/// The records of the transaction, of an input or of an output, in the order in which they came.
#[derive(Clone)]
pub(super) struct Map(Vec<Record>);

/// A PSBT.
#[derive(Clone)]
pub(super) struct Container {
    pub(super) global: Map,
    pub(super) inputs: Vec<Map>,
    pub(super) outputs: Vec<Map>,
}

/// The maps before anybody knows which are inputs.
pub(super) struct Maps {
    pub(super) global: Map,
    pub(super) rest: Vec<Map>,
}

impl Record {
    /// The type; a key has one byte at least.
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
    /// The value under a key that is a type and nothing else.
    pub(super) fn get(&self, kind: u8) -> Option<&[u8]> {
        self.0
            .iter()
            .find(|record| record.key == [kind])
            .map(|record| record.value.as_slice())
    }

    pub(super) fn records(&self) -> &[Record] {
        &self.0
    }

    /// Puts a record in: in the place of the one with the same key, or else in front of the first with a later key, which
    /// keeps maps in order that are, as those of most programs.
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

    /// The same without records of some types.
    pub(super) fn without(&self, kinds: &[u8]) -> Self {
        let kept = |record: &&Record| !kinds.contains(&record.kind());
        Self(self.0.iter().filter(kept).cloned().collect())
    }

    /// The same with one more record, in front.
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
    /// Reads all maps. None unless they fill the bytes exactly, lengths are in their shortest form, no map has a key twice
    /// and there are at most [`PARTS_MAX`] of them and their records.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader {
            rest: bytes.strip_prefix(MAGIC)?,
            parts_left: PARTS_MAX,
        };
        let global = reader.map()?;
        let mut rest = Vec::new();
        while !reader.rest.is_empty() {
            rest.push(reader.map()?);
        }
        Some(Self { global, rest })
    }

    /// Tells inputs from outputs. None unless there is a map for each and no more.
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

/// The bytes that are left, and how many maps and records may be in them.
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
