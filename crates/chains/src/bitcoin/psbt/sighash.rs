//! Signature hash types: the parts of a transaction that a signature covers (BIP-143, BIP-341).

use ::bitcoin::sighash::{EcdsaSighashType, TapSighashType};
use serde_json::Value;
use vestry_domain::number;

/// A type defined by consensus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sighash(u8);

/// The names used by nodes.
const NAMES: [(&str, Sighash); 7] = [
    ("DEFAULT", Sighash::DEFAULT),
    ("ALL", Sighash::ALL),
    ("NONE", Sighash(0x02)),
    ("SINGLE", Sighash(0x03)),
    ("ALL|ANYONECANPAY", Sighash(0x81)),
    ("NONE|ANYONECANPAY", Sighash(0x82)),
    ("SINGLE|ANYONECANPAY", Sighash(0x83)),
];

impl Sighash {
    /// Everything, in taproot's shorter form.
    pub(super) const DEFAULT: Self = Self(0x00);
    /// Everything.
    pub(super) const ALL: Self = Self(0x01);

    /// Parses a request value: the name, or the number used in PSBTs.
    pub(super) fn of_json(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => NAMES
                .iter()
                .find(|(name, _)| name == text)
                .map(|(_, sighash)| *sighash),
            _ => Self::of_number(u32::try_from(number::natural(value)?).ok()?),
        }
    }

    /// Parses the field of an input.
    pub(super) fn of_number(number: u32) -> Option<Self> {
        let byte = u8::try_from(number).ok()?;
        NAMES
            .iter()
            .map(|(_, sighash)| *sighash)
            .find(|sighash| sighash.0 == byte)
    }

    pub(super) fn name(self) -> &'static str {
        NAMES
            .iter()
            .find(|(_, sighash)| *sighash == self)
            .map_or("unknown", |(name, _)| name)
    }

    /// Whether the signature is valid for this transaction only.
    pub(super) fn covers_everything(self) -> bool {
        self == Self::DEFAULT || self == Self::ALL
    }

    /// Whether others can add inputs afterwards.
    pub(super) const fn lets_others_pay(self) -> bool {
        self.0 & 0x80 != 0
    }

    /// Whether the signature covers no output.
    pub(super) const fn is_none(self) -> bool {
        self.0 & 0x7f == 0x02
    }

    /// Whether the signature covers only the output with the input's index.
    pub(super) const fn is_single(self) -> bool {
        self.0 & 0x7f == 0x03
    }

    /// The type for pre-taproot signatures, which have no DEFAULT.
    pub(super) fn ecdsa(self) -> Option<EcdsaSighashType> {
        EcdsaSighashType::from_standard(self.0.into()).ok()
    }

    pub(super) fn taproot(self) -> Option<TapSighashType> {
        TapSighashType::from_consensus_u8(self.0).ok()
    }
}
