//! The content of a PSBT: the unsigned transaction and the fields of its inputs.
//!
//! The library reads only version 0, so a PSBT of version 2 is converted first, which BIP-370 ("Backwards Compatibility") allows. The
//! converted PSBT is not returned to the caller.

use ::bitcoin::absolute::{LOCK_TIME_THRESHOLD, LockTime};
use ::bitcoin::consensus::encode;
use ::bitcoin::hashes::Hash;
use ::bitcoin::transaction::Version;
use ::bitcoin::{
    Amount, OutPoint, Psbt, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Txid, VarInt, Witness,
};

use super::container::{Container, Map, Maps};

const GLOBAL_UNSIGNED_TX: u8 = 0x00;
const GLOBAL_TX_VERSION: u8 = 0x02;
const GLOBAL_FALLBACK_LOCKTIME: u8 = 0x03;
const GLOBAL_INPUT_COUNT: u8 = 0x04;
const GLOBAL_OUTPUT_COUNT: u8 = 0x05;
pub(super) const GLOBAL_TX_MODIFIABLE: u8 = 0x06;
const GLOBAL_VERSION: u8 = 0xfb;
const IN_PREVIOUS_TXID: u8 = 0x0e;
const IN_OUTPUT_INDEX: u8 = 0x0f;
const IN_SEQUENCE: u8 = 0x10;
const IN_REQUIRED_TIME: u8 = 0x11;
const IN_REQUIRED_HEIGHT: u8 = 0x12;
const OUT_AMOUNT: u8 = 0x03;
const OUT_SCRIPT: u8 = 0x04;

/// Fields that version 2 has and version 0 must not have; their keys consist of the type alone.
const V2_GLOBAL: &[u8] = &[
    GLOBAL_TX_VERSION,
    GLOBAL_FALLBACK_LOCKTIME,
    GLOBAL_INPUT_COUNT,
    GLOBAL_OUTPUT_COUNT,
    GLOBAL_TX_MODIFIABLE,
];
const V2_INPUT: &[u8] = &[
    IN_PREVIOUS_TXID,
    IN_OUTPUT_INDEX,
    IN_SEQUENCE,
    IN_REQUIRED_TIME,
    IN_REQUIRED_HEIGHT,
];
const V2_OUTPUT: &[u8] = &[OUT_AMOUNT, OUT_SCRIPT];

/// What is wrong with a PSBT, as the end of a sentence that starts with the field name.
pub(super) type Malformed = &'static str;

const SHAPE: Malformed = "is not a PSBT: the bytes are not the maps that BIP-174 describes";

/// A parsed PSBT. For both versions, `view` holds the transaction and the fields of the inputs.
#[derive(Clone)]
pub(super) struct Unsigned {
    pub(super) container: Container,
    pub(super) view: Psbt,
    /// Whether it is of version 2.
    pub(super) is_v2: bool,
}

impl Unsigned {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let maps = Maps::read(bytes).ok_or(SHAPE)?;
        match version(&maps.global)? {
            0 => read_v0(bytes, maps),
            2 => read_v2(maps),
            _ => Err("has an unsupported version; supported: 0 and 2"),
        }
    }
}

fn version(global: &Map) -> Result<u32, Malformed> {
    global.get(GLOBAL_VERSION).map_or(Ok(0), |value| {
        number(value).ok_or("has a version that is not four bytes long")
    })
}

fn read_v0(bytes: &[u8], maps: Maps) -> Result<Unsigned, Malformed> {
    let view = parse(bytes)?;
    let container = maps
        .split(view.inputs.len(), view.outputs.len())
        .ok_or("has a different number of maps than its transaction has inputs and outputs")?;
    let foreign =
        |map: &Map, kinds: &[u8]| map.without(kinds).records().len() != map.records().len();
    if foreign(&container.global, V2_GLOBAL)
        || container.inputs.iter().any(|map| foreign(map, V2_INPUT))
        || container.outputs.iter().any(|map| foreign(map, V2_OUTPUT))
    {
        return Err("has version 0 but contains fields of version 2 (BIP-370)");
    }
    Ok(Unsigned {
        container,
        view,
        is_v2: false,
    })
}

fn read_v2(maps: Maps) -> Result<Unsigned, Malformed> {
    if maps
        .global
        .records()
        .iter()
        .any(|record| record.kind() == GLOBAL_UNSIGNED_TX)
    {
        return Err("has version 2 but contains the unsigned transaction of version 0 (BIP-370)");
    }
    let count = |kind| maps.global.get(kind).and_then(size);
    let counts = count(GLOBAL_INPUT_COUNT).zip(count(GLOBAL_OUTPUT_COUNT));
    let (inputs, outputs) = counts.ok_or("lacks the counts of inputs and outputs (BIP-370)")?;
    let container = maps
        .split(inputs, outputs)
        .ok_or("has a number of maps that does not match its input and output counts")?;
    keys_are_bare(&container)?;
    let view = parse(&as_v0(&container, &transaction(&container)?))?;
    Ok(Unsigned {
        container,
        view,
        is_v2: true,
    })
}

/// The library parses the fields, whose types it knows. It ignores trailing bytes after the last map, so [`Maps`] has checked that before.
fn parse(bytes: &[u8]) -> Result<Psbt, Malformed> {
    Psbt::deserialize(bytes).map_err(
        |_malformed| "is not a PSBT: a field is missing, malformed or out of place (BIP-174)",
    )
}

fn keys_are_bare(container: &Container) -> Result<(), Malformed> {
    let bare = |map: &Map, kinds: &[u8]| {
        map.records()
            .iter()
            .all(|record| !kinds.contains(&record.kind()) || record.key.len() == 1)
    };
    let all = bare(&container.global, V2_GLOBAL)
        && container.inputs.iter().all(|map| bare(map, V2_INPUT))
        && container.outputs.iter().all(|map| bare(map, V2_OUTPUT));
    all.then_some(())
        .ok_or("has a version 2 field with extra key data (BIP-370)")
}

/// The transaction described by the version 2 fields.
fn transaction(container: &Container) -> Result<Transaction, Malformed> {
    let version = container
        .global
        .get(GLOBAL_TX_VERSION)
        .and_then(|value| value.try_into().ok())
        .map(i32::from_le_bytes)
        .ok_or("lacks the transaction version (BIP-370)")?;
    if let Some(flags) = container.global.get(GLOBAL_TX_MODIFIABLE)
        && flags.len() != 1
    {
        return Err("has modifiable flags that are not one byte long (BIP-370)");
    }
    Ok(Transaction {
        version: Version(version),
        lock_time: lock_time(container)?,
        input: container
            .inputs
            .iter()
            .map(input)
            .collect::<Result<_, _>>()?,
        output: container
            .outputs
            .iter()
            .map(output)
            .collect::<Result<_, _>>()?,
    })
}

fn input(map: &Map) -> Result<TxIn, Malformed> {
    let txid = map
        .get(IN_PREVIOUS_TXID)
        .and_then(|value| value.try_into().ok())
        .map(Txid::from_byte_array);
    let index = map.get(IN_OUTPUT_INDEX).and_then(number);
    let (txid, index) = txid
        .zip(index)
        .ok_or("has an input that does not name the output it spends (BIP-370)")?;
    let sequence = optional(map, IN_SEQUENCE)?.map_or(Sequence::MAX, Sequence);
    Ok(TxIn {
        previous_output: OutPoint::new(txid, index),
        script_sig: ScriptBuf::new(),
        sequence,
        witness: Witness::new(),
    })
}

fn output(map: &Map) -> Result<TxOut, Malformed> {
    let amount = map
        .get(OUT_AMOUNT)
        .and_then(|value| value.try_into().ok())
        .map(u64::from_le_bytes);
    let (amount, script) = amount
        .zip(map.get(OUT_SCRIPT))
        .ok_or("has an output without amount or script (BIP-370)")?;
    Ok(TxOut {
        value: Amount::from_sat(amount),
        script_pubkey: ScriptBuf::from_bytes(script.to_vec()),
    })
}

/// The lock time (BIP-370, section "Determining Lock Time"): of a kind that all inputs with a requirement accept, heights before times, and
/// the latest value of that kind.
fn lock_time(container: &Container) -> Result<LockTime, Malformed> {
    let mut asking = 0_usize;
    let mut times = Vec::new();
    let mut heights = Vec::new();
    for map in &container.inputs {
        let time = optional(map, IN_REQUIRED_TIME)?;
        let height = optional(map, IN_REQUIRED_HEIGHT)?;
        if time.is_some_and(|time| time < LOCK_TIME_THRESHOLD)
            || height.is_some_and(|height| height == 0 || height >= LOCK_TIME_THRESHOLD)
        {
            return Err("has an input with a lock time out of range (BIP-370)");
        }
        asking = asking.saturating_add(usize::from(time.is_some() || height.is_some()));
        times.extend(time);
        heights.extend(height);
    }
    let chosen = if asking == 0 {
        optional(&container.global, GLOBAL_FALLBACK_LOCKTIME)?.unwrap_or_default()
    } else if heights.len() == asking {
        heights.into_iter().max().unwrap_or_default()
    } else if times.len() == asking {
        times.into_iter().max().unwrap_or_default()
    } else {
        return Err("has inputs with incompatible lock times (BIP-370)");
    };
    Ok(LockTime::from_consensus(chosen))
}

/// Converts the PSBT to version 0, for the library.
fn as_v0(container: &Container, transaction: &Transaction) -> Vec<u8> {
    // Serialized by hand, because the library writes a transaction without inputs in the witness form.
    let unsigned = [
        encode::serialize(&transaction.version),
        encode::serialize(&transaction.input),
        encode::serialize(&transaction.output),
        encode::serialize(&transaction.lock_time),
    ];
    let dropped = [V2_GLOBAL, &[GLOBAL_VERSION]].concat();
    let global = container
        .global
        .without(&dropped)
        .after(vec![GLOBAL_UNSIGNED_TX], unsigned.concat());
    let plain = |maps: &[Map], kinds| maps.iter().map(|map| map.without(kinds)).collect();
    Container {
        global,
        inputs: plain(&container.inputs, V2_INPUT),
        outputs: plain(&container.outputs, V2_OUTPUT),
    }
    .to_bytes()
}

fn optional(map: &Map, kind: u8) -> Result<Option<u32>, Malformed> {
    map.get(kind)
        .map(|value| number(value).ok_or("has a field that is not four bytes long (BIP-370)"))
        .transpose()
}

fn number(value: &[u8]) -> Option<u32> {
    value.try_into().ok().map(u32::from_le_bytes)
}

/// A count. The library rejects numbers that are not in their shortest form, and trailing bytes.
fn size(value: &[u8]) -> Option<usize> {
    let VarInt(count) = encode::deserialize(value).ok()?;
    usize::try_from(count).ok()
}
