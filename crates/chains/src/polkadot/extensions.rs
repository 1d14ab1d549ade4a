//! What each signed extension adds to a transaction: a part that is sent along, one that is signed only, both or none.
//!
//! The names and what stands behind them are those of @polkadot/types 16.5.6 (`extrinsic/signedExtensions`), whose
//! payloads the tests compare with, and of polkadot-sdk for what it has got since.

/// One value that an extension adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Era,
    Nonce,
    Tip,
    AssetId,
    Mode,
    SpecVersion,
    TransactionVersion,
    GenesisHash,
    BlockHash,
    MetadataHash,
}

impl Part {
    pub(super) const ALL: [Self; 10] = [
        Self::Era,
        Self::Nonce,
        Self::Tip,
        Self::AssetId,
        Self::Mode,
        Self::SpecVersion,
        Self::TransactionVersion,
        Self::GenesisHash,
        Self::BlockHash,
        Self::MetadataHash,
    ];

    /// The field of the payload.
    pub(super) const fn field(self) -> &'static str {
        match self {
            Self::Era => "era",
            Self::Nonce => "nonce",
            Self::Tip => "tip",
            Self::AssetId => "assetId",
            Self::Mode => "mode",
            Self::SpecVersion => "specVersion",
            Self::TransactionVersion => "transactionVersion",
            Self::GenesisHash => "genesisHash",
            Self::BlockHash => "blockHash",
            Self::MetadataHash => "metadataHash",
        }
    }

    /// Whether it is part of the transaction (the "extra" of its extension). The others are signed and not sent (the
    /// "additional signed"): the chain knows them itself.
    pub(super) const fn is_sent(self) -> bool {
        match self {
            Self::Era | Self::Nonce | Self::Tip | Self::AssetId | Self::Mode => true,
            Self::SpecVersion
            | Self::TransactionVersion
            | Self::GenesisHash
            | Self::BlockHash
            | Self::MetadataHash => false,
        }
    }
}

/// What an extension adds, in its order; none when its name is unknown, and with it what it adds.
pub(super) fn parts(extension: &str) -> Option<&'static [Part]> {
    let parts: &'static [Part] = match extension {
        "CheckMortality" | "CheckEra" => &[Part::Era, Part::BlockHash],
        "CheckNonce" => &[Part::Nonce],
        // The latter wraps the former and skips it for calls that cost nothing.
        "ChargeTransactionPayment" | "SkipCheckIfFeeless" => &[Part::Tip],
        "ChargeAssetTxPayment" => &[Part::Tip, Part::AssetId],
        "CheckMetadataHash" => &[Part::Mode, Part::MetadataHash],
        // The latter is what the former was called once.
        "CheckSpecVersion" | "CheckVersion" => &[Part::SpecVersion],
        "CheckTxVersion" => &[Part::TransactionVersion],
        "CheckGenesis" => &[Part::GenesisHash],
        // Checks that need nothing but what the others add. polkadot.js does not know AuthorizeCall, EthSetOrigin and
        // StorageWeightReclaim, of which a chain's metadata says that they are empty.
        "AuthorizeCall"
        | "CheckBlockGasLimit"
        | "CheckNonZeroSender"
        | "CheckWeight"
        | "DisallowSigned"
        | "EthSetOrigin"
        | "LimitParathreadCommits"
        | "LockStakingStatus"
        | "OnlyStakingAndClaims"
        | "PrevalidateAttests"
        | "RestrictFunctionality"
        | "StorageWeightReclaim"
        | "TransactionCallFilter"
        | "ValidateDoubleVoteReports"
        | "ValidateEquivocationReport"
        | "WeightReclaim" => &[],
        _ => return None,
    };
    Some(parts)
}
