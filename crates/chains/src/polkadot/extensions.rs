//! The data that each signed extension adds to a transaction: a part that is sent, one that is only signed, both or none.
//!
//! The names and their data are those of @polkadot/types 16.5.6 (`extrinsic/signedExtensions`), whose payloads the tests compare with, and
//! of polkadot-sdk for newer ones.

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

    /// Whether the value is part of the transaction (the extension's "extra"). Other values are signed but not sent (its "additional
    /// signed"), because the chain knows them.
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

/// The values that an extension adds, in order; `None` for an unknown extension.
pub(super) fn parts(extension: &str) -> Option<&'static [Part]> {
    let parts: &'static [Part] = match extension {
        "CheckMortality" | "CheckEra" => &[Part::Era, Part::BlockHash],
        "CheckNonce" => &[Part::Nonce],
        // The latter wraps the former and skips it for free calls.
        "ChargeTransactionPayment" | "SkipCheckIfFeeless" => &[Part::Tip],
        "ChargeAssetTxPayment" => &[Part::Tip, Part::AssetId],
        "CheckMetadataHash" => &[Part::Mode, Part::MetadataHash],
        // The latter is the former's old name.
        "CheckSpecVersion" | "CheckVersion" => &[Part::SpecVersion],
        "CheckTxVersion" => &[Part::TransactionVersion],
        "CheckGenesis" => &[Part::GenesisHash],
        // Checks that add no data of their own. polkadot.js does not know AuthorizeCall, EthSetOrigin and StorageWeightReclaim; chain
        // metadata shows that they are empty.
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
